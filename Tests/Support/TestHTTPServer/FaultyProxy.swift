internal import Foundation
internal import Synchronization

/// A proxy on loopback between clients and a server, which cuts, delays, truncates and repeats what passes.
///
/// It knows bytes and connections, no requests. Which accident happens to a connection depends on the
/// random numbers and on the number of the connection.
package final class FaultyProxy: Sendable {
  /// An accident of one connection.
  fileprivate enum Fault {
    case none
    /// The connection is reset after so many bytes from the client.
    case cutRequest(Int)
    /// The connection is reset after so many bytes from the server.
    case cutAnswer(Int)
    /// The connection is closed in good order after so many bytes from the server.
    case truncatedAnswer(Int)
    /// Each piece of bytes waits for so many microseconds.
    case delay(UInt32)
    /// All bytes from the client are sent again on a connection of their own, after this one has ended.
    case repetition
  }

  fileprivate struct State {
    var generator: any RandomNumberGenerator & Sendable
    var isFaulty = true
    var isStopped = false
    var descriptors: Set<CInt> = []
    var faultCount = 0
  }

  /// The most bytes of one connection that are kept to be repeated.
  private static let maxRepeatedByteCount = 1 << 20
  private static let chunkByteCount = 16 << 10

  package let port: UInt16
  private let serverPort: UInt16
  private let listener: CInt
  private let state: Mutex<State>

  /// Starts a proxy to a port of loopback, where a server need not listen yet.
  package init(
    to serverPort: UInt16, using generator: some RandomNumberGenerator & Sendable
  ) throws {
    self.serverPort = serverPort
    state = Mutex(State(generator: generator))
    (listener, port) = try listeningSocket(backlog: 128)
    Thread.detachNewThread { self.acceptConnections() }
  }

  package var url: String { "http://127.0.0.1:\(port)" }

  /// The number of accidents so far.
  package var faultCount: Int { state.withLock { $0.faultCount } }

  /// Ends the accidents, and all connections that may have one.
  package func heal() {
    state.withLock { state in
      state.isFaulty = false
      for descriptor in state.descriptors { shutdown(descriptor, CInt(SHUT_RDWR)) }
    }
  }

  package func stop() {
    state.withLock { state in
      state.isStopped = true
      for descriptor in state.descriptors { shutdown(descriptor, CInt(SHUT_RDWR)) }
    }
    shutdown(listener, CInt(SHUT_RDWR))
  }

  private func acceptConnections() {
    while true {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { break }
      let fault = state.withLock { state -> Fault? in
        guard !state.isStopped else { return nil }
        return state.nextFault()
      }
      guard let fault else {
        close(client)
        continue
      }
      Thread.detachNewThread { self.serve(client, fault) }
    }
    close(listener)
  }

  /// Passes the bytes of one connection in both directions until it ends.
  private func serve(_ client: CInt, _ fault: Fault) {
    guard let server = connect() else {
      close(client)
      return
    }
    state.withLock { $0.descriptors.formUnion([client, server]) }
    let answers = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      _ = self.pump(from: server, to: client, fault, isAnswer: true)
      answers.signal()
    }
    let request = pump(from: client, to: server, fault, isAnswer: false)
    answers.wait()
    state.withLock { $0.descriptors.subtract([client, server]) }
    close(client)
    close(server)
    if case .repetition = fault { resend(request) }
  }

  /// Passes bytes until one side ends, or the accident ends both. Returns what it passed from a client.
  private func pump(from source: CInt, to target: CInt, _ fault: Fault, isAnswer: Bool) -> [UInt8] {
    var kept: [UInt8] = []
    var left = Int.max
    var isReset = true
    switch fault {
    case .cutRequest(let count) where !isAnswer: left = count
    case .cutAnswer(let count) where isAnswer: left = count
    case .truncatedAnswer(let count) where isAnswer: (left, isReset) = (count, false)
    default: break
    }
    var bytes = [UInt8](repeating: 0, count: Self.chunkByteCount)
    while left > 0 {
      let count = recv(source, &bytes, min(bytes.count, left), 0)
      guard count > 0 else { break }
      left -= count
      if case .delay(let pause) = fault { usleep(pause) }
      if !isAnswer, kept.count < Self.maxRepeatedByteCount { kept += bytes[..<count] }
      guard Self.send(bytes[..<count], to: target) else { break }
    }
    if left == 0, isReset {
      for descriptor in [source, target] { Self.makeAbortive(descriptor) }
    }
    for descriptor in [source, target] { shutdown(descriptor, CInt(SHUT_RDWR)) }
    return kept
  }

  /// Sends a former request again, and reads a part of the answer.
  private func resend(_ bytes: [UInt8]) {
    guard let server = connect() else { return }
    var time = timeval(tv_sec: 0, tv_usec: 200_000)
    setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    if Self.send(bytes[...], to: server) {
      var answer = [UInt8](repeating: 0, count: Self.chunkByteCount)
      while recv(server, &answer, answer.count, 0) > 0 {}
    }
    close(server)
  }

  private static func send(_ bytes: ArraySlice<UInt8>, to descriptor: CInt) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Foundation.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private static func makeAbortive(_ descriptor: CInt) {
    var abortive = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &abortive, socklen_t(MemoryLayout<linger>.size))
  }

  private func connect() -> CInt? {
    #if canImport(Darwin)
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #else
      let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = serverPort.bigEndian
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isConnected else {
      close(descriptor)
      return nil
    }
    return descriptor
  }
}

extension FaultyProxy.State {
  fileprivate mutating func nextFault() -> FaultyProxy.Fault {
    guard isFaulty, Int.random(in: 0..<10, using: &generator) < 6 else { return .none }
    faultCount += 1
    // Short ones hit the header of the first request or answer, long ones later messages.
    let count = Int.random(
      in: 1...(Bool.random(using: &generator) ? 400 : 8_000), using: &generator)
    switch Int.random(in: 0..<5, using: &generator) {
    case 0: return .cutRequest(count)
    case 1: return .cutAnswer(count)
    case 2: return .truncatedAnswer(count)
    case 3: return .delay(UInt32.random(in: 1_000...100_000, using: &generator))
    default: return .repetition
    }
  }
}
