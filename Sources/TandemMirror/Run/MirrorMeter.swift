internal import Synchronization

/// Adds to the phases of a run what its machine does not know: bytes and time.
///
/// Transfers add bytes from any thread; each addition is published at once, without a task of its own.
final class MirrorMeter: Sendable {
  private struct State {
    var byteCount = 0
    /// How many of them were there when the stage began.
    var earlierByteCount = 0
    /// The progress published last, while there are transfers.
    var progress: MirrorProgress?
    var stopwatch: MirrorStopwatch
  }

  private let state: Mutex<State>
  private let clock: any Clock<Duration>
  private let publish: @Sendable (MirrorPhase) -> Void

  init(clock: any Clock<Duration>, publish: @escaping @Sendable (MirrorPhase) -> Void) {
    state = Mutex(State(stopwatch: MirrorStopwatch(clock)))
    self.clock = clock
    self.publish = publish
  }

  /// Publishes a phase, with its figures.
  func report(_ phase: MirrorPhase) {
    state.withLock { state in
      guard case .transferring(let progress) = phase else {
        state.progress = nil
        return publish(phase)
      }
      if state.progress == nil || state.progress?.stage != progress.stage {
        state.stopwatch = MirrorStopwatch(clock)
        state.earlierByteCount = state.byteCount
      }
      publish(progress, in: &state)
    }
  }

  /// Counts further bytes.
  func add(_ byteCount: Int) {
    state.withLock { state in
      state.byteCount &+= byteCount
      if let progress = state.progress { publish(progress, in: &state) }
    }
  }

  private func publish(_ progress: MirrorProgress, in state: inout State) {
    var progress = progress
    progress.byteCount = state.byteCount
    progress.stageByteCount = state.byteCount &- state.earlierByteCount
    progress.elapsed = state.stopwatch.elapsed
    state.progress = progress
    publish(.transferring(progress))
  }
}
