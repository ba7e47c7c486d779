internal import Synchronization

/// Publishes the phases of a mirror to its observers.
///
/// Any thread may publish and read without waiting for the mirror: switching to its actor for each
/// transfer would cost more than a small transfer does.
final class MirrorPhasePublisher: Sendable {
  private struct State {
    var phase = MirrorPhase.idle
    var observers: [Int: AsyncStream<MirrorPhase>.Continuation] = [:]
    var lastObserver = 0
  }

  private let state = Mutex(State())
  private let published: @Sendable (MirrorPhase) -> Void

  /// A publisher that calls `published` with each phase, in order, before it yields it to the
  /// observers.
  init(published: @escaping @Sendable (MirrorPhase) -> Void = { _ in }) {
    self.published = published
  }

  deinit {
    state.withLock { for observer in $0.observers.values { observer.finish() } }
  }

  /// The latest phase.
  var phase: MirrorPhase { state.withLock { $0.phase } }

  /// Publishes a phase, unless it equals the latest one.
  func publish(_ phase: MirrorPhase) {
    state.withLock { state in
      guard phase != state.phase else { return }
      state.phase = phase
      published(phase)
      for (number, observer) in state.observers {
        if case .terminated = observer.yield(phase) { state.observers[number] = nil }
      }
    }
  }

  /// The phases from the latest one on. A slow reader misses phases, but never the latest one.
  func phases() -> AsyncStream<MirrorPhase> {
    let (phases, continuation) = AsyncStream<MirrorPhase>.makeStream(
      bufferingPolicy: .bufferingNewest(1))
    state.withLock { state in
      continuation.yield(state.phase)
      state.lastObserver += 1
      state.observers[state.lastObserver] = continuation
    }
    return phases
  }
}
