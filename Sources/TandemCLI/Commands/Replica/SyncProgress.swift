import Synchronization
import Tandem

/// The line on a terminal that shows how far a long synchronization is.
final class SyncProgress: Sendable {
  private struct State {
    let bar: ProgressBar
    /// The number of rows that waited to be sent at the start.
    var expectedCount = 0
    var stage: ReplicaProgress.Stage?
    /// The time when the stage began.
    var start = ContinuousClock.now
    /// The time of the last event.
    var last = ContinuousClock.now

    mutating func enter(_ stage: ReplicaProgress.Stage) {
      if stage != self.stage { start = last }
      self.stage = stage
      last = .now
    }

    /// The time that the rest of a stage takes, if it takes as long as the part before.
    func remaining(after share: Double?) -> Duration? {
      // Less says nothing yet, and the rest would be longer than a duration can be.
      guard let share, share > 0.001, share < 1 else { return nil }
      return (last - start) * ((1 - share) / share)
    }
  }

  private let state: Mutex<State>

  init(isShown: Bool) {
    state = Mutex(State(bar: ProgressBar("sync", isQuiet: !isShown)))
  }

  /// Takes the number of rows that wait to be sent.
  func expect(_ count: Int) { state.withLock { $0.expectedCount = count } }

  func note(_ status: SyncStatus) {
    state.withLock { state in
      state.last = .now
      switch status {
      case .pushing:
        guard state.stage != .sending else { return }
        state.enter(.sending)
        let count = state.expectedCount
        if count > 0 {
          state.bar.update(share: 0, detail: "sending \(Quantity.count(count, "row"))")
        } else {
          state.bar.update(share: nil, detail: "sending")
        }
      case .pulling:
        guard state.stage != .receiving, state.stage != .applying else { return }
        state.enter(.receiving)
        state.bar.update(share: nil, detail: "receiving")
      case .verifying: state.bar.update(share: nil, detail: "comparing")
      case .connecting, .offline, .upToDate, .blocked: break
      }
    }
  }

  /// Shows the progress. Returns the share that is done, and the time that the rest takes.
  func note(_ progress: ReplicaProgress) -> (share: Double?, remaining: Duration?) {
    state.withLock { state in
      state.enter(progress.stage)
      var share = progress.share
      var rows = Quantity.count(progress.rowCount, "row")
      if progress.stage == .sending, state.expectedCount >= progress.rowCount {
        share = Double(progress.rowCount) / Double(max(1, state.expectedCount))
        rows = "\(progress.rowCount) of \(Quantity.count(state.expectedCount, "row"))"
      }
      let remaining = state.remaining(after: share)
      let parts = [
        "\(rows) \(progress.stage.participle)", Quantity.bytes(Double(progress.byteCount)),
      ]
      let rest = remaining.map { ["\(Quantity.duration($0)) left"] } ?? []
      state.bar.update(share: share, detail: (parts + rest).joined(separator: ", "))
      return (share, remaining)
    }
  }

  /// Removes the line.
  func finish() { state.withLock { $0.bar.finish() } }
}

extension ReplicaProgress.Stage {
  fileprivate var participle: String {
    switch self {
    case .sending: "sent"
    case .receiving: "received"
    case .applying: "applied"
    }
  }
}
