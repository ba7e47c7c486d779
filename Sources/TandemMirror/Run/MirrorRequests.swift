/// The queue of requests for runs: at most one run is in progress, and at most one waits.
///
/// A state machine without tasks, in which callers are numbers. The first run that starts after a
/// request answers it. All requests during a run therefore share the next one.
struct MirrorRequests: Hashable, Sendable {
  /// An event of the queue.
  enum Event: Hashable, Sendable {
    /// A caller requested a run and waits for it.
    case requested(caller: Int)
    /// A run was requested by a caller that does not wait.
    case requestedUnattended
    /// A caller that waits was cancelled.
    case callerCancelled(Int)
    /// The run in progress, if there is one, is to be cancelled.
    case runCancelled
  }

  /// A task of the mirror.
  enum Action: Hashable, Sendable {
    case startRun
    case cancelRun
    /// Wait for the end of the run before the cancelled caller returns: nobody else wants the run.
    case awaitRun
  }

  private struct Round: Hashable, Sendable {
    var callers: [Int] = []
    var isUnattended = false
    var isCancelled = false

    /// True if a caller or a request without a caller is left.
    var isWanted: Bool { isUnattended || !callers.isEmpty }
  }

  private var current: Round?
  private var pending: Round?

  /// True if a run is in progress.
  var isRunning: Bool { current != nil }

  /// The actions that follow from an event, in order.
  mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .requested(let caller): return request { $0.callers.append(caller) }
    case .requestedUnattended: return request { $0.isUnattended = true }
    case .callerCancelled(let caller): return forget(caller)
    case .runCancelled: return cancel()
    }
  }

  private mutating func request(_ join: (inout Round) -> Void) -> [Action] {
    var round = (current == nil ? nil : pending) ?? Round()
    join(&round)
    guard current == nil else {
      pending = round
      return []
    }
    current = round
    return [.startRun]
  }

  private mutating func forget(_ caller: Int) -> [Action] {
    if let index = pending?.callers.firstIndex(of: caller) {
      pending?.callers.remove(at: index)
      if pending?.isWanted == false { pending = nil }
    } else if let index = current?.callers.firstIndex(of: caller) {
      current?.callers.remove(at: index)
      if current?.isWanted == false { return cancel() + [.awaitRun] }
    }
    return []  // The caller has just been answered.
  }

  private mutating func cancel() -> [Action] {
    guard current?.isCancelled == false else { return [] }
    current?.isCancelled = true
    return [.cancelRun]
  }

  /// Takes the end of the run in progress. Returns the callers that it answers, in the order of
  /// their requests.
  mutating func endRun() -> (answered: [Int], actions: [Action]) {
    guard let ended = current else { preconditionFailure("A run ends only if it was started") }
    current = pending
    pending = nil
    return (ended.callers, current == nil ? [] : [.startRun])
  }
}
