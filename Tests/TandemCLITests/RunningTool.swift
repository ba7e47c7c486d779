import Foundation

/// `tandem`, or another program, while it runs, with what it says as it says it.
final class RunningTool {
  private let process = Process()
  private let output = Pipe()
  private let error = Pipe()
  private let (ends, ended) = AsyncStream.makeStream(of: Void.self)

  init(_ arguments: [String], executable: String = Tool.path) throws {
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = error
    process.terminationHandler = { [ended] _ in ended.finish() }
    try process.run()
  }

  /// A test that fails leaves nothing running.
  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  private func text(of pipe: Pipe) async -> String {
    let file = pipe.fileHandleForReading.fileDescriptor
    let bytes = await Task.detached {
      FileHandle(fileDescriptor: file, closeOnDealloc: false).availableData
    }.value
    return String(decoding: bytes, as: UTF8.self)
  }

  func nextOutput() async -> String { await text(of: output) }
  func nextError() async -> String { await text(of: error) }

  func send(_ signalNumber: Int32) { kill(process.processIdentifier, signalNumber) }

  /// Waits for the end; the exit status, or minus the signal.
  func status() async -> Int32 {
    for await _ in ends {}
    process.waitUntilExit()
    return process.terminationReason == .exit
      ? process.terminationStatus : -process.terminationStatus
  }
}
