import Synchronization

/// One end of a connection between two hubs of one process.
///
/// A sender waits while its peer has ``maxWaitingByteCount`` bytes to read, as with a socket.
public final class MemoryConnection: ChannelConnection {
  private let incoming: MemoryPipe
  private let outgoing: MemoryPipe

  /// The number of bytes that wait for a peer before a sender waits.
  public static let maxWaitingByteCount = 64 << 10

  private init(incoming: MemoryPipe, outgoing: MemoryPipe) {
    self.incoming = incoming
    self.outgoing = outgoing
  }

  /// The two ends of a new connection.
  public static func pair() -> (MemoryConnection, MemoryConnection) {
    let first = MemoryPipe()
    let second = MemoryPipe()
    return (
      MemoryConnection(incoming: first, outgoing: second),
      MemoryConnection(incoming: second, outgoing: first)
    )
  }

  /// Sends all of the bytes; waits while ``maxWaitingByteCount`` bytes or more wait for the peer.
  public func send(_ bytes: [UInt8]) async throws {
    guard await outgoing.write(bytes) else {
      throw ChannelLinkError(.connection, "the connection is closed")
    }
  }

  /// Waits for bytes; returns `nil` once the connection is closed and nothing is left.
  public func receive() async throws -> [UInt8]? { await incoming.read() }

  /// Ends the connection, for both ends.
  public func close() {
    incoming.close()
    outgoing.close()
  }
}

/// Bytes on their way from one task to another.
private final class MemoryPipe: Sendable {
  private struct State {
    var bytes: [UInt8] = []
    var isClosed = false
    var reader: CheckedContinuation<Void, Never>?
    var writer: CheckedContinuation<Void, Never>?

    mutating func takeWaiting() -> [CheckedContinuation<Void, Never>] {
      defer { (reader, writer) = (nil, nil) }
      return [reader, writer].compactMap { $0 }
    }
  }

  private let state = Mutex(State())

  /// Adds bytes once there is room; returns false if the pipe is closed.
  func write(_ bytes: [UInt8]) async -> Bool {
    // A reader that wakes up without bytes takes this for the end.
    if bytes.isEmpty { return state.withLock { !$0.isClosed } }
    await wait(while: { $0.bytes.count >= MemoryConnection.maxWaitingByteCount }, as: \.writer)
    let (isOpen, waiting) = state.withLock { state in
      if !state.isClosed { state.bytes += bytes }
      return (!state.isClosed, state.takeWaiting())
    }
    for task in waiting { task.resume() }
    return isOpen
  }

  /// The waiting bytes, once there are any; `nil` if there will be none.
  func read() async -> [UInt8]? {
    await wait(while: \.bytes.isEmpty, as: \.reader)
    let (bytes, waiting) = state.withLock { state in
      defer { state.bytes = [] }
      return (state.bytes, state.takeWaiting())
    }
    for task in waiting { task.resume() }
    return bytes.isEmpty ? nil : bytes
  }

  func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      return state.takeWaiting()
    }
    for task in waiting { task.resume() }
  }

  private func wait(
    while isBlocked: @Sendable (State) -> Bool,
    as place: any WritableKeyPath<State, CheckedContinuation<Void, Never>?> & Sendable
  ) async {
    await withCheckedContinuation { continuation in
      let goesOn = state.withLock { state in
        if state.isClosed || !isBlocked(state) { return true }
        state[keyPath: place] = continuation
        return false
      }
      if goesOn { continuation.resume() }
    }
  }
}
