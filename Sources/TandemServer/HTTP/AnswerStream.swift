internal import Synchronization

/// The body of an answer that is sent as it arises.
///
/// Bytes wait in a bounded queue. A client that reads too slowly is cut off instead of slowing down
/// the sender or filling the memory.
public final class AnswerStream: Sendable {
  /// The part that fits into the buffer of a server, or its absence.
  enum Reading {
    /// So many bytes were written.
    case bytes(Int)
    /// No bytes wait; the server is called when some do.
    case waiting
    /// There are no more bytes.
    case end
  }

  private struct State {
    /// The bytes that wait, and how many of the first ones have been sent.
    var pieces: [[UInt8]] = []
    var sentByteCount = 0
    var waitingByteCount = 0
    /// True if no more bytes are taken. Those that wait are sent.
    var isEnded = false
    /// Called once, when the bytes that the server waits for arrive.
    var resume: (@Sendable () -> Void)?
  }

  /// The maximum number of bytes that wait.
  private let maxBacklogByteCount: Int
  private let state = Mutex(State())

  /// A stream whose client may be so many bytes behind.
  public init(maxBacklogByteCount: Int) {
    self.maxBacklogByteCount = maxBacklogByteCount
  }

  /// True until the stream ends, its client leaves, or it was cut off.
  public var isOpen: Bool { state.withLock { !$0.isEnded } }

  /// Sends bytes.
  ///
  /// - Returns: False if the client has left, or was cut off because these bytes would exceed the
  ///   backlog.
  @discardableResult
  public func send(_ bytes: [UInt8]) -> Bool {
    state.withLock { state in
      guard !state.isEnded else { return false }
      guard state.waitingByteCount + bytes.count <= maxBacklogByteCount else {
        finish(&state)
        return false
      }
      guard !bytes.isEmpty else { return true }
      state.pieces.append(bytes)
      state.waitingByteCount += bytes.count
      resume(&state)
      return true
    }
  }

  /// Ends the stream. Bytes that wait are not sent.
  public func end() { state.withLock { finish(&$0) } }

  /// Ends the stream with last bytes. Of those that wait, only a piece that was sent in part is completed.
  func end(saying bytes: [UInt8]) {
    state.withLock { state in
      guard !state.isEnded else { return }
      let begun = state.sentByteCount > 0 ? Array(state.pieces.prefix(1)) : []
      finish(&state)
      state.pieces = begun + [bytes]
      state.waitingByteCount = state.pieces.reduce(0) { $0 + $1.count } - state.sentByteCount
    }
  }

  private func finish(_ state: inout State) {
    state.isEnded = true
    state.pieces = []
    state.waitingByteCount = 0
    resume(&state)
  }

  /// Under the lock, so that the server is never called for a connection that it has closed.
  private func resume(_ state: inout State) {
    state.resume?()
    state.resume = nil
  }

  /// The bytes that wait, for a reader that is no server; `nil` after the end.
  package func takeBytes() -> [UInt8]? {
    state.withLock { state in
      defer { (state.pieces, state.waitingByteCount) = ([], 0) }
      return state.isEnded && state.pieces.isEmpty ? nil : state.pieces.flatMap { $0 }
    }
  }

  /// Moves bytes that wait into a buffer. If none do, calls `wait`, and `resume` once when some
  /// arrive; both under the lock.
  func read(
    into buffer: UnsafeMutableRawBufferPointer, wait: () -> Void,
    resume: @escaping @Sendable () -> Void
  ) -> Reading {
    state.withLock { state in
      if state.isEnded, state.pieces.isEmpty { return .end }
      guard !state.pieces.isEmpty else {
        wait()
        state.resume = resume
        return .waiting
      }
      var count = 0
      var sentPieceCount = 0
      while sentPieceCount < state.pieces.count, count < buffer.count {
        let piece = state.pieces[sentPieceCount]
        let part = min(piece.count - state.sentByteCount, buffer.count - count)
        piece.withUnsafeBytes { bytes in
          let source = UnsafeRawBufferPointer(rebasing: bytes[state.sentByteCount...].prefix(part))
          buffer.baseAddress?.advanced(by: count)
            .copyMemory(from: source.baseAddress!, byteCount: part)
        }
        count += part
        state.sentByteCount += part
        if state.sentByteCount == piece.count {
          sentPieceCount += 1
          state.sentByteCount = 0
        }
      }
      state.pieces.removeFirst(sentPieceCount)
      state.waitingByteCount -= count
      return .bytes(count)
    }
  }
}
