internal import Synchronization

/// A connection of a client.
final class ServerConnection: Sendable {
  /// The phases of a connection.
  enum Phase {
    /// Nothing of a request, or a part of its header has arrived.
    case idle
    /// The body of a request arrives.
    case receiving
    /// The server prepares the answer.
    case waiting
    case sending
    case streaming(AnswerStream)
    /// The library itself has refused the last request, and closes the connection.
    case refused
    /// The stream has ended. The client reads its end, or sends another request.
    case ending
  }

  let descriptor: Int32
  /// The number of the client's address.
  let address: String?
  /// The library's server that has accepted the connection; only compared.
  nonisolated(unsafe) let daemon: OpaquePointer?
  private let state = Mutex((phase: Phase.idle, start: ContinuousClock.now))

  init(descriptor: Int32, daemon: OpaquePointer?) {
    self.descriptor = descriptor
    address = peerAddress(of: descriptor)
    self.daemon = daemon
  }

  /// Called on the library's thread.
  func enter(_ phase: Phase) { state.withLock { $0 = (phase, .now) } }

  /// The stream that is being sent.
  var stream: AnswerStream? {
    state.withLock { state in if case .streaming(let stream) = state.phase { stream } else { nil } }
  }

  /// True if the library may have refused a request before its line was complete.
  var mayBeRefused: Bool {
    state.withLock { state in
      switch state.phase {
      case .idle, .ending: true
      case .receiving, .waiting, .sending, .streaming, .refused: false
      }
    }
  }

  /// True if the client takes longer than it may.
  func isOverdue(_ now: ContinuousClock.Instant, _ limits: HTTPServerLimits) -> Bool {
    state.withLock { state in
      let (phase, start) = state
      switch phase {
      case .idle, .refused: return start + limits.maxIdleTime < now
      case .receiving: return start + limits.maxBodyTime < now
      case .sending: return start + limits.maxSendTime < now
      case .ending: return start + limits.maxStreamEndTime < now
      case .streaming(let stream):
        // The library notices the end of a stream only when the client reads.
        if !stream.isOpen { state = (.ending, now) }
        return false
      case .waiting: return false
      }
    }
  }
}
