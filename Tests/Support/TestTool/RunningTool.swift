internal import Foundation
internal import TandemHTTP
package import TestFolder
internal import Testing

/// The executable `tandem`, or another, while it runs: what it writes arrives line by line.
package final class RunningTool {
  private let program: TestProgram
  private var outputLines: AsyncStream<String>.Iterator
  private var errorLines: AsyncStream<String>.Iterator

  /// Starts it with the given arguments.
  ///
  /// - Parameter terminal: Gets what the program writes to standard error, instead of ``errorLine()``.
  package init(
    _ arguments: [String], executable: String = Tool.path, terminal: TestTerminal? = nil
  ) throws {
    let (output, error) = (Pipe(), Pipe())
    program = try TestProgram(
      [executable] + arguments, output: .pipe(output),
      error: terminal.map { .file($0.programSide) } ?? .pipe(error),
      environment: terminal.map { _ in
        ProcessInfo.processInfo.environment.merging(["TERM": "xterm"]) { $1 }
      })
    if terminal != nil { try error.fileHandleForWriting.close() }
    outputLines = Self.lines(of: output).makeAsyncIterator()
    errorLines = Self.lines(of: error).makeAsyncIterator()
  }

  private static func lines(of pipe: Pipe) -> AsyncStream<String> {
    let (lines, continuation) = AsyncStream<String>.makeStream()
    let reading = pipe.fileHandleForReading
    Thread.detachNewThread {
      var bytes: [UInt8] = []
      while let data = try? reading.read(upToCount: 1), let byte = data.first {
        guard byte == UInt8(ascii: "\n") else {
          bytes.append(byte)
          continue
        }
        continuation.yield(String(decoding: bytes, as: UTF8.self))
        bytes = []
      }
      if !bytes.isEmpty { continuation.yield(String(decoding: bytes, as: UTF8.self)) }
      continuation.finish()
    }
    return lines
  }

  /// The next line of standard output; `nil` at its end.
  package func line() async -> String? { await outputLines.next() }

  /// The address that the next line of standard output has, as of a server that has started.
  package func servedURL() async throws -> String {
    let words = try #require(await line()).split { "\" ".contains($0) }
    return String(try #require(words.first { $0.hasPrefix("http") }))
  }

  /// The next line of standard error; `nil` at its end.
  package func errorLine() async -> String? { await errorLines.next() }

  /// Sends a signal to it.
  package func signal(_ number: Int32) { program.send(number) }

  /// Waits for its end; returns the exit status, or minus the signal that ended it.
  package func end() async -> Int32 { await program.end() }
}

/// Sends a request to a server that runs: unless specified otherwise, a POST if it has a body.
package func answer(
  _ url: String, method: String? = nil, secret: String? = nil, body: String? = nil,
  fields: [String: String] = [:]
) async throws -> (status: Int, text: String) {
  var request = HTTPRequest(
    HTTPRequest.Method(rawValue: method ?? (body == nil ? "GET" : "POST")), url: url)
  request.body = body.map { Array($0.utf8) }
  if body != nil { request.fields["Content-Type"] = "application/json" }
  if let secret { request.fields["Authorization"] = "Bearer \(secret)" }
  for (name, value) in fields { request.fields[name] = value }
  let patience = HTTPTimeouts(connect: .seconds(3_600), idle: .seconds(3_600))
  let response = try await SystemHTTPClient(options: HTTPClientOptions(timeouts: patience))
    .response(to: request, maxBodyByteCount: 1 << 20)
  return (response.head.status, String(decoding: response.body, as: UTF8.self))
}
