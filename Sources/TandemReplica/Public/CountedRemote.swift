internal import TandemSync

/// A space that counts the changes that it accepts, and knows the tables of the file before it gets
/// changes: it may have been replaced since the file was attached.
struct CountedRemote<Remote: SyncRemote>: SyncRemote {
  let remote: Remote
  let log: RunLog
  let replica: DatabaseReplica

  func push(_ commit: SyncCommit) async throws -> SyncOutcome {
    // A table may have got a column since the last commit.
    try await declare(try await replica.sentDeclarations().adding(columnsOf: commit), ifNews: true)
    let outcome = try await remote.push(commit)
    log.count(commit, answeredBy: outcome)
    switch outcome {
    // Another copy may have declared a rule.
    case .conflict, .refused: log.noteDeclared(nil)
    case .accepted, .parts, .sequence, .gone: break
    }
    return outcome
  }

  /// Declares tables, unless they are those that were declared last, and takes note of the rules of the space.
  private func declare(_ tables: [SpaceTable], ifNews: Bool) async throws {
    if ifNews, log.declaredTables == tables { return }
    let answer = try await remote.declare(tables)
    try await replica.note(spaceTables: answer)
    // While an index of this file is pending, each commit states values in it, and then asks whether it holds.
    let isPending = tables.contains { table in
      answer.table(named: table.name)?.pending.contains {
        $0.constraint.index != nil && table.constraints?.contains($0.constraint) == true
      } ?? false
    }
    log.noteDeclared(isPending ? [] : tables)
  }

  func declare(_ tables: [SpaceTable]) async throws -> [SpaceTable] {
    try await remote.declare(tables)
  }
  func pull(_ pull: SyncPull) async throws -> SyncPullAnswer {
    // What comes is merged by the rules of the space.
    if log.declaredTables == nil {
      do {
        try await declare(try await replica.sentDeclarations(), ifNews: false)
      } catch is SyncRequestError {
        // One that may only read, or has other tables, can pull all the same.
        log.noteDeclared([])
      }
    }
    let answer = try await remote.pull(pull)
    if case .page(let page) = answer { log.count(received: page, for: pull) }
    return answer
  }
  func follow(after revision: SpaceRevision) async throws -> any SyncAnnouncements {
    try await remote.follow(after: revision)
  }
}
