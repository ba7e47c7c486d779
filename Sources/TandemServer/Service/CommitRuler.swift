internal import Synchronization
internal import TandemSpace
internal import TandemSync

/// Asks rules, and makes commits by their decisions.
final class CommitRuler: Sendable {
  /// The number of times that rules are asked about a commit whose records others change in the meantime. Then the
  /// replica sends it again later.
  static let maxAttemptCount = 8

  private let rules: CommitRules
  private let maxTime: Duration
  private let clock: any Clock<Duration>
  private let executor: (any TaskExecutor)?
  private let log: @Sendable (ServerEvent) -> Void
  private let maxCount: Int
  /// The number of decisions under way. A rule may go on after it was cancelled.
  private let count = Mutex(0)

  init(
    _ rules: @escaping CommitRules, _ limits: SyncService.Limits, _ clock: any Clock<Duration>,
    _ executor: (any TaskExecutor)?, _ log: @escaping @Sendable (ServerEvent) -> Void
  ) {
    self.rules = rules
    self.clock = clock
    self.executor = executor
    self.log = log
    maxTime = limits.maxRuleTime
    maxCount = limits.maxRuleCount
  }

  /// Answers a commit.
  ///
  /// - Throws: ``TandemSync/SyncRequestError`` with code `unavailable` if the rules do not decide; the errors of the store.
  func outcome(
    of commit: SyncCommit, in space: String, _ store: any SpaceStore, account: String?
  ) async throws -> SyncOutcome {
    for _ in 0..<Self.maxAttemptCount {
      let edits = try await store.proposal(of: commit, account: account)
      var decision = CommitDecision()
      if !edits.isEmpty {
        decision = try await self.decision(
          on: ProposedCommit(
            space: space, account: account, changes: edits.map { ProposedChange($0) }))
      }
      do {
        let outcome = try await store.commit(
          commit, account: account, ruling: decision.ruling(on: edits))
        noteMistakes(of: decision, outcome, in: space)
        return outcome
      } catch is StaleRuling {
        continue
      }
    }
    throw SyncRequestError(
      .unavailable,
      "others change the records of the commit faster than the rules of the application decide; try again",
      retryAfter: .seconds(1))
  }

  /// The decision of the rules, in bounded time.
  private func decision(on commit: ProposedCommit) async throws -> CommitDecision {
    let hasRoom = count.withLock { count in
      guard count < maxCount else { return false }
      count += 1
      return true
    }
    guard hasRoom else {
      throw trouble("are deciding on as many commits as they may", commit)
    }
    let (results, result) = AsyncStream<Result<CommitDecision, any Error>>.makeStream()
    // Not children of this task, which does not wait for a rule that goes on after it was cancelled.
    let decision = Task(executorPreference: executor) {
      do { result.yield(.success(try await self.rules(commit))) } catch {
        result.yield(.failure(error))
      }
      self.count.withLock { $0 -= 1 }
    }
    let timer = Task(executorPreference: executor) { [clock, maxTime] in
      try? await clock.sleep(for: maxTime)
      result.finish()
    }
    defer {
      decision.cancel()
      timer.cancel()
    }
    for await result in results {
      switch result {
      case .success(let decision): return decision
      case .failure(let error):
        try Task.checkCancellation()
        throw trouble("have failed: \(error)", commit)
      }
    }
    try Task.checkCancellation()
    throw trouble("have not decided within \(maxTime)", commit)
  }

  private func trouble(_ what: String, _ commit: ProposedCommit) -> SyncRequestError {
    log(ServerEvent(.error, "the rules of the application \(what)", space: commit.space))
    return SyncRequestError(
      .unavailable,
      "the rules of the application cannot decide now; the log of the server has the reason",
      retryAfter: .seconds(1))
  }

  /// Logs that the space could not store what the rules set.
  private func noteMistakes(
    of decision: CommitDecision, _ outcome: SyncOutcome, in space: String
  ) {
    guard case .refused(let objections) = outcome else { return }
    let mistake = objections.first { objection in
      decision.refusals[objection.key] == nil && decision.amendments[objection.key] != nil
        && objection.reason.ruleMessage != nil
    }
    guard let mistake, let message = mistake.reason.ruleMessage else { return }
    log(ServerEvent(.error, "a commit is refused: \(message)", space: space))
  }
}

extension ProposedChange {
  fileprivate init(_ edit: SpaceLedger.Edit) {
    self.init(
      table: edit.key.table, primaryKey: edit.key.id, old: edit.old?.fields, new: edit.new.fields)
  }
}
