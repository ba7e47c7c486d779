internal import Foundation
internal import Synchronization

#if canImport(Darwin)
  private let (streamType, sendFlags) = (SOCK_STREAM, Int32(0))
#else
  private let (streamType, sendFlags) = (Int32(SOCK_STREAM.rawValue), Int32(MSG_NOSIGNAL))
#endif

/// A way to a server that breaks when a test says so: a Unix socket in a folder of its own.
package final class TestProxy: Sendable {
  /// Where the way breaks.
  package enum Cut: Sendable, CaseIterable {
    /// The server does not get the bytes.
    case beforeServer
    /// The server gets the bytes, and its answer does not arrive.
    case afterServer
  }

  private struct State {
    /// The number of messages of the client until the cut.
    var cut: (kind: Cut, count: Int)?
    var isStalled = false
    var clients: [Int32] = []
    var stalledCount = 0
    var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    var isClosed = false
  }

  /// The folder of the socket.
  package let folder: String
  private let target: String
  private let isPooler: Bool
  private let listener: Int32
  private let state = Mutex(State())

  /// A way to the server with a socket.
  ///
  /// - Parameter isPooler: True if clients get other numbers of their processes than the server gives, as by a pooler.
  package init(to target: String, isPooler: Bool = false) throws {
    self.target = target
    self.isPooler = isPooler
    folder = "/tmp/tandem-px-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    listener = socket(AF_UNIX, streamType, 0)
    let path = "\(folder)/.s.PGSQL.5432"
    guard Self.with(path, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
      throw TestCluster.Failure(description: "cannot listen on \(path)")
    }
    Thread.detachNewThread { [self] in
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0, !state.withLock({ $0.isClosed }) else { return }
        Thread.detachNewThread { self.serve(client) }
      }
    }
  }

  /// Cuts a connection at the given message of a client, once.
  package func cut(_ kind: Cut, atMessage count: Int) { state.withLock { $0.cut = (kind, count) } }

  /// Ends all connections; from now on, new ones get no byte from the server.
  package func stall() {
    state.withLock { state in
      state.isStalled = true
      for client in state.clients { shutdown(client, Int32(SHUT_RDWR)) }
    }
  }

  /// Waits until so many clients have waited for a byte that they do not get.
  package func waitForStalledClients(_ count: Int) async {
    await withCheckedContinuation { continuation in
      state.withLock { $0.waiting.append((count, continuation)) }
      noteStalledClients(0)
    }
  }

  private func noteStalledClients(_ count: Int) {
    let reached = state.withLock { state in
      state.stalledCount += count
      let stalledCount = state.stalledCount
      defer { state.waiting.removeAll { $0.count <= stalledCount } }
      return state.waiting.filter { $0.count <= stalledCount }
    }
    for wait in reached { wait.continuation.resume() }
  }

  /// Ends listening.
  package func close() {
    state.withLock { $0.isClosed = true }
    shutdown(listener, Int32(SHUT_RDWR))
    Foundation.close(listener)
    try? FileManager.default.removeItem(atPath: folder)
  }

  private static func with(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  private func serve(_ client: Int32) {
    let server = socket(AF_UNIX, streamType, 0)
    defer {
      Foundation.close(client)
      Foundation.close(server)
    }
    let isStalled = state.withLock { state in
      state.clients.append(client)
      return state.isStalled
    }
    defer { state.withLock { state in state.clients.removeAll { $0 == client } } }
    guard !isStalled else { return stall(client) }
    guard Self.with(target, { connect(server, $0, $1) }) == 0 else { return }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      var files = [
        pollfd(fd: client, events: Int16(POLLIN), revents: 0),
        pollfd(fd: server, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&files, 2, -1) > 0 else { return }
      for (from, to) in [(0, server), (1, client)] where files[from].revents != 0 {
        let count = read(files[from].fd, &bytes, bytes.count)
        guard count > 0 else { return }
        if isPooler, from == 1 { Self.changeNumber(in: &bytes[..<count]) }
        let kind = from == 0 ? nextCut() : nil
        if kind == .beforeServer { return }
        guard send(to, bytes, count) else { return }
        if kind == .afterServer {
          // The server has answered, so that what the client sent is done.
          _ = read(server, &bytes, bytes.count)
          return
        }
      }
    }
  }

  /// Changes the number of the process that serves a client, if the server sends it just now.
  private static func changeNumber(in bytes: inout ArraySlice<UInt8>) {
    // BackendKeyData has a kind, a length, the number and a key.
    guard let place = bytes.firstRange(of: [UInt8(ascii: "K"), 0, 0, 0, 12])?.upperBound else {
      return
    }
    if place < bytes.endIndex { bytes[place] ^= 1 }
  }

  /// Reads from a client until it goes.
  private func stall(_ client: Int32) {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    guard read(client, &bytes, bytes.count) > 0 else { return }
    noteStalledClients(1)
    while read(client, &bytes, bytes.count) > 0 {}
  }

  private func nextCut() -> Cut? {
    state.withLock { state in
      guard let cut = state.cut else { return nil }
      state.cut = cut.count > 1 ? (cut.kind, cut.count - 1) : nil
      return cut.count > 1 ? nil : cut.kind
    }
  }

  private func send(_ file: Int32, _ bytes: [UInt8], _ count: Int) -> Bool {
    var sent = 0
    while sent < count {
      let part = bytes.withUnsafeBytes { buffer in
        Foundation.send(file, buffer.baseAddress! + sent, count - sent, sendFlags)
      }
      guard part > 0 else { return false }
      sent += part
    }
    return true
  }
}
