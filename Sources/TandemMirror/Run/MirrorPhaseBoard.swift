internal import Synchronization

/// What a mirror is doing, for whoever asks or watches.
///
/// Any thread may publish and read, without waiting for the mirror: a change of actors for each
/// transfer would cost more than a small transfer does.
final class MirrorPhaseBoard: Sendable {
  private struct State {
    var phase = MirrorPhase.idle
    var observers: [Int: AsyncStream<MirrorPhase>.Continuation] = [:]
    var lastObserver = 0
  }

  private let state = Mutex(State())
  private let published: @Sendable (MirrorPhase) -> Void

  /// A board that hands each phase to `published` before anybody else, in order.
  init(published: @escaping @Sendable (MirrorPhase) -> Void = { _ in }) {
    self.published = published
  }

  deinit {
    state.withLock { for observer in $0.observers.values { observer.finish() } }
  }

  /// The phase that was published last.
  var phase: MirrorPhase { state.withLock { $0.phase } }

  /// Shows a phase, unless it is the one that is shown.
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

  /// The phases from the present one on, of which a slow reader gets the latest.
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
