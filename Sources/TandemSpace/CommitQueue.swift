internal import Synchronization
package import TandemSync

/// Groups the commits that wait at the same time, so that they share one transaction and the time that
/// the disk takes for it.
///
/// The first task that waits writes its own commit and those behind it. Then the next task has its turn. A commit that
/// has to wait for another replica (``CommitPriority``) is refused before.
package final class CommitQueue: Sendable {
  /// A commit, and the account that sends it.
  package struct Entry: Sendable {
    package let commit: SyncCommit
    /// The account; `nil` where there are no accounts.
    package let account: String?
    /// The decision of the application's rules; `nil` where there are none.
    package var ruling: SpaceRuling?

    package init(commit: SyncCommit, account: String?, ruling: SpaceRuling? = nil) {
      self.commit = commit
      self.account = account
      self.ruling = ruling
    }
  }

  /// The maximum number of commits in one transaction.
  package static let maxGroupedCommitCount = 128

  /// A commit that waits for the transaction that writes it.
  private struct Request: Sendable {
    let id: Int
    let entry: Entry
    /// Called once, with the next step of the task that waits; `nil` for a task that writes.
    var resume: (@Sendable (Step) -> Void)?
  }

  private enum Step: Sendable {
    /// The commit was answered.
    case end(Result<SyncOutcome, any Error>)
    /// The task writes the commits that wait.
    case write
  }

  private struct State {
    var waiting: [Request] = []
    /// True while a task writes, or is about to.
    var isWriting = false
    var lastID = 0
  }

  private let state = Mutex(State())
  /// In the memory of this program: another one that uses the same space has its own.
  private let priority = Mutex(CommitPriority())

  private let givesTurns: Bool

  /// A queue without commits.
  ///
  /// - Parameter givesTurns: False if no replica goes first, as where the clock is not the real one.
  package init(givesTurns: Bool = true) { self.givesTurns = givesTurns }

  /// Writes a commit, alone or in a group of those that wait.
  ///
  /// - Parameter write: Writes a group in one transaction; returns the result of each commit. If it
  ///   throws, no commit was written. It may be the `write` of another caller that writes this commit.
  /// - Throws: The error of the commit, or of its group; ``TandemSync/SyncRequestError`` with code `tooManyRequests` if
  ///   another replica goes first.
  package func commit(
    _ entry: Entry, _ write: ([Entry]) async throws -> [Result<SyncOutcome, any Error>]
  ) async throws -> SyncOutcome {
    guard givesTurns else { return try await answer(entry, write) }
    guard !priority.withLock({ $0.delays(entry.commit, at: .now) }) else {
      throw SyncRequestError(
        .tooManyRequests,
        "another copy goes first, which has conflicted several times on a record of this commit; send it again "
          + "later", retryAfter: CommitPriority.pause)
    }
    let outcome = try await answer(entry, write)
    priority.withLock { $0.note(outcome, of: entry.commit, at: .now) }
    return outcome
  }

  private func answer(
    _ entry: Entry, _ write: ([Entry]) async throws -> [Result<SyncOutcome, any Error>]
  ) async throws -> SyncOutcome {
    switch await enqueue(entry) {
    case (_, .end(let result)): return try result.get()
    case (let id, .write): return try await writeGroup(for: id, write)
    }
  }

  /// Waits until the commit is answered, or until it is this task's turn to write.
  private func enqueue(_ entry: Entry) async -> (Int, Step) {
    await withCheckedContinuation { continuation in
      let turn = state.withLock { state -> Int? in
        state.lastID += 1
        let id = state.lastID
        var request = Request(id: id, entry: entry)
        let writes = !state.isWriting
        if !writes { request.resume = { continuation.resume(returning: (id, $0)) } }
        state.isWriting = true
        state.waiting.append(request)
        return writes ? id : nil
      }
      if let turn { continuation.resume(returning: (turn, .write)) }
    }
  }

  /// Writes the commits that wait, that of this task among them, and passes the turn on.
  private func writeGroup(
    for id: Int, _ write: ([Entry]) async throws -> [Result<SyncOutcome, any Error>]
  ) async throws -> SyncOutcome {
    let group = state.withLock { state in
      // This task's commit may be behind others, if a cancelled task has passed the turn on.
      let own = state.waiting.firstIndex { $0.id == id }
      guard let own else { preconditionFailure("a task that writes has a commit that waits") }
      var group = [state.waiting.remove(at: own)]
      let count = min(state.waiting.count, Self.maxGroupedCommitCount - 1)
      group += state.waiting.prefix(count)
      state.waiting.removeFirst(count)
      return group
    }
    let results: [Result<SyncOutcome, any Error>]
    do {
      results = try await write(group.map(\.entry))
    } catch is CancellationError {
      // Nothing was written. The other commits are none of this task's business.
      passTurn(returning: Array(group.dropFirst()))
      throw CancellationError()
    } catch {
      results = group.map { _ in .failure(error) }
    }
    passTurn(returning: [])
    for (request, result) in zip(group, results) { request.resume?(.end(result)) }
    return try results[0].get()
  }

  /// Lets the next task write, if a commit waits.
  private func passTurn(returning requests: [Request]) {
    let next = state.withLock { state -> (@Sendable (Step) -> Void)? in
      state.waiting = requests + state.waiting
      guard !state.waiting.isEmpty else {
        state.isWriting = false
        return nil
      }
      defer { state.waiting[0].resume = nil }
      return state.waiting[0].resume
    }
    next?(.write)
  }
}
