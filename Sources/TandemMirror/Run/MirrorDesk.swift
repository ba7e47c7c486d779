internal import Synchronization

/// What a run's own task shares with those of its transfers: the machine, the ledger, and the meter.
///
/// Whoever reports an event gets what it is to do; phases are published and failures entered on the
/// spot, so that all see them in the order of the events.
final class MirrorDesk<Item: Identifiable & Sendable>: Sendable where Item.ID: Sendable {
  typealias Transfer = MirrorTransferQueue.Transfer

  private struct State: Sendable {
    var machine: MirrorRun
    var ledger: MirrorLedger<Item>
    var isCancelled = false

    /// Tells the machine of an event, and before it of a cancellation that may be its cause.
    mutating func handle(_ event: MirrorRun.Event, isCancelled: Bool) -> [MirrorRun.Action] {
      guard isCancelled, !self.isCancelled else { return machine.handle(event) }
      self.isCancelled = true
      return machine.handle(.cancelled) + machine.handle(event)
    }
  }

  let meter: MirrorMeter
  let stages: [MirrorStageOptions]
  private let state: Mutex<State>

  init(_ options: MirrorOptions, meter: MirrorMeter) {
    self.meter = meter
    stages = options.distinctStages
    state = Mutex(State(machine: MirrorRun(options), ledger: MirrorLedger(stages: stages)))
  }

  /// Whether nothing follows any more.
  var isEnded: Bool { state.withLock { $0.machine.isEnded } }

  /// Reads or changes the ledger.
  func withLedger<Result: Sendable>(
    _ body: (inout MirrorLedger<Item>) throws -> Result
  ) rethrows -> Result {
    try state.withLock { try body(&$0.ledger) }
  }

  /// Takes an event; returns what is to be done.
  ///
  /// - Parameter isCancelled: Whether the run is.
  func handle(_ event: MirrorRun.Event, isCancelled: Bool) -> [MirrorRun.Action] {
    state.withLock { perform($0.handle(event, isCancelled: isCancelled), in: &$0) }
  }

  /// Takes an attempt at a transfer, and what the machine is told of it; returns what is to be done.
  func take(
    _ transfer: Transfer, byteCount: Int, error: (any Error)? = nil, as event: MirrorRun.Event,
    isCancelled: Bool
  ) -> [MirrorRun.Action] {
    state.withLock { state in
      state.ledger.record(transfer, byteCount: byteCount, error: error)
      return perform(state.handle(event, isCancelled: isCancelled), in: &state)
    }
  }

  /// Performs what needs no waiting, and returns the rest.
  private func perform(
    _ actions: [MirrorRun.Action], in state: inout State
  ) -> [MirrorRun.Action] {
    actions.filter { action in
      switch action {
      case .report(let phase):
        meter.report(phase)
        return false
      case .recordFailure(let transfer, let stopsRun):
        state.ledger.recordFailure(transfer, stopsRun: stopsRun)
        return false
      case .begin, .compare, .prepare, .transfer, .retry, .cancelTransfers, .remove, .end:
        return true
      }
    }
  }
}
