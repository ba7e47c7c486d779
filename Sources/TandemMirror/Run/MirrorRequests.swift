/// The queue of requests for runs: at most one run is in progress, and at most one waits.
///
/// A value without tasks, in which callers are numbers. The first run that starts after a request
/// answers it. All requests during a run therefore share the next one.
struct MirrorRequests: Hashable, Sendable {
  private struct Round: Hashable, Sendable {
    /// The callers that wait for the run, in the order of their requests.
    var callers: [Int] = []
    /// True if the run was also requested without waiting for it.
    var isUnattended = false

    /// Forgets a caller. Returns `nil` if it does not wait for this run, otherwise whether nobody
    /// wants the run any more.
    mutating func forget(_ caller: Int) -> Bool? {
      guard let index = callers.firstIndex(of: caller) else { return nil }
      callers.remove(at: index)
      return callers.isEmpty && !isUnattended
    }
  }

  private var current: Round?
  private var pending: Round?

  /// True if a run is in progress.
  var isRunning: Bool { current != nil }

  /// Adds the request of a caller that waits, or of nobody. Returns true if a run starts now.
  mutating func request(by caller: Int?) -> Bool {
    var round = pending ?? Round()
    if let caller { round.callers.append(caller) } else { round.isUnattended = true }
    if isRunning { pending = round } else { current = round }
    return pending == nil
  }

  /// Forgets a caller. Returns true if it was the last one who wanted the run in progress.
  mutating func forget(_ caller: Int) -> Bool {
    if let isUnwanted = pending?.forget(caller) {
      if isUnwanted { pending = nil }
      return false
    }
    return current?.forget(caller) ?? false
  }

  /// Takes the end of the run in progress. Returns the callers that it answers. If a run ``isRunning``
  /// then, it starts now.
  mutating func endRun() -> [Int] {
    guard let ended = current else { preconditionFailure("A run ends only if it was started") }
    (current, pending) = (pending, nil)
    return ended.callers
  }
}
