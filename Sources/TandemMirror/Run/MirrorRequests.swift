/// The queue of requests for runs: at most one run is in progress, and at most one waits.
///
/// A value without tasks, in which callers are ascending numbers. The first run that starts after a
/// request answers it. All requests during a run therefore share the next one.
struct MirrorRequests: Hashable, Sendable {
  /// The callers that wait for the run in progress, and `nil` if it was also requested without
  /// waiting for it.
  private var current: Set<Int?>?
  /// The same for the run that waits. Empty if there is none.
  private var pending: Set<Int?> = []

  /// True if a run is in progress.
  var isRunning: Bool { current != nil }

  /// Adds the request of a caller that waits, or of nobody. Returns true if a run starts now.
  mutating func request(by caller: Int?) -> Bool {
    if isRunning { pending.insert(caller) } else { current = [caller] }
    return pending.isEmpty
  }

  /// Forgets a caller. Returns true if it was the last one who wanted the run in progress.
  mutating func forget(_ caller: Int) -> Bool {
    if pending.remove(caller) != nil { return false }
    return current?.remove(caller) != nil && current == []
  }

  /// Takes the end of the run in progress. Returns the callers that it answers, in the order of their
  /// requests. If a run ``isRunning`` then, it starts now.
  mutating func endRun() -> [Int] {
    guard let ended = current else { preconditionFailure("A run ends only if it was started") }
    (current, pending) = (pending.isEmpty ? nil : pending, [])
    return ended.compactMap { $0 }.sorted()
  }
}
