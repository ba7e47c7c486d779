package import Foundation
internal import Synchronization
package import TandemHTTP

/// A real HTTP server on loopback that does to each request what a test tells it to.
///
/// Each connection has a thread, on which `answer` may block. It counts what clients do.
package final class MisbehavingServer: Sendable {
  package struct Request: Sendable {
    package var method: String
    package var path: String
    package var fields: HTTPFields
    package var body: [UInt8]
  }

  private struct State {
    var requests: [Request] = []
    var connectionCount = 0
    var openDescriptors: Set<CInt> = []
    var isStopped = false
  }

  package let port: UInt16
  private let listener: CInt
  private let state = Mutex(State())

  /// Starts a server that calls `answer` for each request, and closes the connection once that
  /// returns `false`.
  package init(_ answer: @escaping @Sendable (Request, Connection) -> Bool) throws {
    (listener, port) = try listeningSocket(backlog: 512)
    Thread.detachNewThread { self.acceptConnections(answer) }
  }

  package var url: String { "http://127.0.0.1:\(port)" }
  package var requests: [Request] { state.withLock { $0.requests } }
  package var connectionCount: Int { state.withLock { $0.connectionCount } }

  /// Closes all connections; blocked answers see their client gone.
  package func stop() {
    state.withLock { state in
      state.isStopped = true
      for descriptor in state.openDescriptors { shutdown(descriptor, CInt(SHUT_RDWR)) }
    }
    shutdown(listener, CInt(SHUT_RDWR))
  }

  private func acceptConnections(_ answer: @escaping @Sendable (Request, Connection) -> Bool) {
    while true {
      let descriptor = accept(listener, nil, nil)
      guard descriptor >= 0 else { break }
      let isWelcome = state.withLock { state in
        if !state.isStopped { state.openDescriptors.insert(descriptor) }
        state.connectionCount += 1
        return !state.isStopped
      }
      guard isWelcome else {
        close(descriptor)
        continue
      }
      Thread.detachNewThread {
        let connection = Connection(descriptor: descriptor)
        while let request = connection.receiveRequest() {
          self.state.withLock { $0.requests.append(request) }
          if !answer(request, connection) { break }
        }
        _ = self.state.withLock { $0.openDescriptors.remove(descriptor) }
        close(descriptor)
      }
    }
    close(listener)
  }
}

/// The server's end of one connection.
package final class Connection: Sendable {
  private let descriptor: CInt
  private let unread = Mutex<[UInt8]>([])

  fileprivate init(descriptor: CInt) { self.descriptor = descriptor }

  /// Sends a whole response, and asks for the next request.
  package func respond(
    _ status: Int = 200, _ fields: HTTPFields = [:], _ body: [UInt8] = []
  ) -> Bool {
    var fields = fields
    if status != 304 && status != 204 { fields["Content-Length"] = "\(body.count)" }
    return send(status, fields, body)
  }

  /// Sends a head as it is, and whatever of the body is given.
  @discardableResult
  package func send(_ status: Int, _ fields: HTTPFields, _ body: [UInt8] = []) -> Bool {
    let lines = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    return send(Array("HTTP/1.1 \(status) Any\r\n\(lines)\r\n".utf8) + body)
  }

  /// Sends a chunk of a chunked body; an empty one ends it.
  @discardableResult
  package func send(chunk: [UInt8]) -> Bool {
    send(Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Array("\r\n".utf8))
  }

  /// Sends bytes; returns `false` if the client is gone.
  @discardableResult
  package func send(_ bytes: [UInt8]) -> Bool {
    sendCounting(bytes, until: .greatestFiniteMagnitude) == nil
  }

  /// Sends bytes until the client has taken none for `patience`, for ever if that is a second or
  /// more; returns how many were left then, or
  /// `nil` if all were sent.
  package func sendCounting(_ bytes: [UInt8], until patience: TimeInterval) -> Int? {
    // Zero is for ever: an earlier call may have set less.
    var time = timeval(tv_sec: 0, tv_usec: patience < 1 ? .init(patience * 1_000_000) : 0)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Foundation.send(
          descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent, CInt(MSG_NOSIGNAL))
      }
      if count <= 0 { return bytes.count - sent }
      sent += count
    }
    return nil
  }

  /// Blocks until the client closes or resets the connection.
  package func waitForClose() {
    while let bytes = receive() { unread.withLock { $0 += bytes } }
  }

  /// Breaks the connection so that the client sees a reset, not an end.
  package func reset() {
    var abortive = linger(l_onoff: 1, l_linger: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_LINGER, &abortive, socklen_t(MemoryLayout<linger>.size))
  }

  /// The next request, or `nil` if the client is gone.
  fileprivate func receiveRequest() -> MisbehavingServer.Request? {
    while true {
      if let request = unread.withLock({ takeRequest(from: &$0) }) { return request }
      guard let bytes = receive() else { return nil }
      unread.withLock { $0 += bytes }
    }
  }

  private func receive() -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return count > 0 ? Array(bytes[..<count]) : nil
  }
}

/// Takes one whole request off the front of `bytes`, if there is one.
private func takeRequest(from bytes: inout [UInt8]) -> MisbehavingServer.Request? {
  guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
  let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
    .components(separatedBy: "\r\n")
  let words = lines[0].split(separator: " ").map(String.init)
  var fields = HTTPFields()
  for line in lines.dropFirst() {
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    fields.append(String(parts[0]), parts[1].trimmingCharacters(in: .whitespaces))
  }
  let length = fields["Content-Length"].flatMap(Int.init) ?? 0
  guard bytes.count - end.upperBound >= length else { return nil }
  let body = Array(bytes[end.upperBound..<(end.upperBound + length)])
  bytes.removeFirst(end.upperBound + length)
  return .init(method: words[0], path: words[1], fields: fields, body: body)
}

/// A socket that listens on a free port of loopback.
package func listeningSocket(backlog: CInt) throws -> (descriptor: CInt, port: UInt16) {
  #if canImport(Darwin)
    let descriptor = socket(AF_INET, SOCK_STREAM, 0)
  #else
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
  #endif
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let isListening = withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(descriptor, $0, length) == 0 && listen(descriptor, backlog) == 0
        && getsockname(descriptor, $0, &length) == 0
    }
  }
  guard isListening else { throw CocoaError(.fileReadUnknown) }
  return (descriptor, UInt16(bigEndian: address.sin_port))
}

/// Something that happens once, for which tasks and threads can wait.
package final class Signal: Sendable {
  private let state = Mutex<(isFired: Bool, waiters: [CheckedContinuation<Void, Never>])>(
    (false, []))
  private let semaphore = DispatchSemaphore(value: 0)

  package init() {}

  package func fire() {
    let waiters = state.withLock { state in
      defer { state = (true, []) }
      return state.waiters
    }
    waiters.forEach { $0.resume() }
    semaphore.signal()
  }

  package func wait() async {
    await withCheckedContinuation { continuation in
      let isFired = state.withLock {
        if !$0.isFired { $0.waiters.append(continuation) }
        return $0.isFired
      }
      if isFired { continuation.resume() }
    }
  }

  package func waitBlockingThread() {
    semaphore.wait()
    semaphore.signal()
  }
}

/// Runs `test` with a server that is stopped afterwards.
package func withServer<Result>(
  _ answer: @escaping @Sendable (MisbehavingServer.Request, Connection) -> Bool,
  test: (MisbehavingServer) async throws -> Result
) async throws -> Result {
  let server = try MisbehavingServer(answer)
  defer { server.stop() }
  return try await test(server)
}
