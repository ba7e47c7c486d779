/// Who asked for a run, and which run answers them: at most one is under way, and at most one waits.
///
/// A state machine without tasks: callers are numbers. Whoever asks is answered by the first run that
/// starts after that, so a request during a run makes the next one wait, however many there are.
struct MirrorRequests: Hashable, Sendable {
  /// What has happened.
  enum Event: Hashable, Sendable {
    /// A caller asked for a run, and waits for it.
    case requested(caller: Int)
    /// Somebody asked for a run, and does not wait.
    case requestedUnattended
    /// A caller waits no longer.
    case callerCancelled(Int)
    /// The run under way, if there is one, is no longer wanted by anybody.
    case runCancelled
  }

  /// What to do.
  enum Action: Hashable, Sendable {
    case startRun
    case cancelRun
    /// Let the caller that was cancelled return when the run under way, which only it still wanted,
    /// has ended.
    case awaitRun
  }

  private struct Round: Hashable, Sendable {
    var callers: [Int] = []
    var isUnattended = false
    var isCancelled = false

    /// Whether anybody is left who wants it.
    var isWanted: Bool { isUnattended || !callers.isEmpty }
  }

  private var current: Round?
  private var pending: Round?

  /// Whether a run is under way.
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
    return []  // Otherwise it has just been answered.
  }

  private mutating func cancel() -> [Action] {
    guard current?.isCancelled == false else { return [] }
    current?.isCancelled = true
    return [.cancelRun]
  }

  /// Takes the end of the run under way; returns whom it answers, in the order they asked.
  mutating func endRun() -> (answered: [Int], actions: [Action]) {
    guard let ended = current else { preconditionFailure("A run ends only if it was started") }
    current = pending
    pending = nil
    return (ended.callers, current == nil ? [] : [.startRun])
  }
}
