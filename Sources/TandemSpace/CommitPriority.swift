package import TandemSync

/// Lets a replica go first that others have overtaken several times [fair].
///
/// After a conflict, a replica pulls, merges, and sends its changes again. If others change the same records in the
/// meantime, it conflicts again, and may never come to an end. So after some conflicts in a row, the records that it
/// conflicted on are its own for a moment: commits of others that change one of them are sent again later. A replica
/// whose turn it is does not wait for another one.
///
/// It is pure: the caller has the clock.
package struct CommitPriority: Sendable {
  /// The number of conflicts in a row after which a replica goes first.
  package static let minConflictCount = 3
  /// The time that it has to pull, to merge, and to send its changes again. Then it is a replica without conflicts.
  package static let duration = Duration.seconds(2)
  /// The time after which others send their commits again.
  package static let pause = Duration.seconds(1)
  /// The maximum number of replicas that go first at the same time, each before others on its own records.
  package static let maxTurnCount = 100
  /// The maximum number of replicas whose conflicts are counted. With one more, counting starts again.
  package static let maxReplicaCount = 10_000

  private struct Turn {
    let keys: Set<SyncKey>
    let end: ContinuousClock.Instant
  }

  /// The number of conflicts in a row of a replica, and the sequence of the last one. The same commit may be sent again.
  private var conflicts: [SyncToken: (count: Int, sequence: Int)] = [:]
  private var turns: [SyncToken: Turn] = [:]

  /// Nobody goes first.
  package init() {}

  /// True if a commit has to wait for another replica. It is not to be stored then.
  package mutating func delays(_ commit: SyncCommit, at now: ContinuousClock.Instant) -> Bool {
    guard !turns.isEmpty else { return false }
    turns = turns.filter { $0.value.end > now }
    return turns[commit.replica] == nil
      && turns.values.contains { turn in commit.changes.contains { turn.keys.contains($0.key) } }
  }

  /// Takes note of the outcome of a commit.
  package mutating func note(
    _ outcome: SyncOutcome, of commit: SyncCommit, at now: ContinuousClock.Instant
  ) {
    switch outcome {
    case .parts: return
    case .accepted, .refused, .sequence, .gone:
      conflicts[commit.replica] = nil
      turns[commit.replica] = nil
    case .conflict(let objections):
      // A turn is not extended: a replica that never gets through must not keep others away.
      if let turn = turns[commit.replica], turn.end > now { return }
      let former = conflicts[commit.replica]
      guard former?.sequence != commit.sequence else { return }
      let count = (former?.count ?? 0) + 1
      if conflicts.count >= Self.maxReplicaCount { conflicts = [:] }
      conflicts[commit.replica] = (count, commit.sequence)
      guard count >= Self.minConflictCount else { return }
      conflicts[commit.replica] = nil
      turns = turns.filter { $0.value.end > now }
      guard turns.count < Self.maxTurnCount else { return }
      turns[commit.replica] = Turn(keys: Set(objections.map(\.key)), end: now + Self.duration)
    }
  }
}
