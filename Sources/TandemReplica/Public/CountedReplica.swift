internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// A file that counts the rows that are written for others.
struct CountedReplica: SyncReplica {
  let replica: DatabaseReplica
  let log: RunLog
  /// True if a file that another program keeps locked, or whose disk is full, is tried again without end.
  let waits: Bool

  private static let lockPause = Duration.milliseconds(100)

  func perform(_ step: SyncStep) async throws -> SyncSummary {
    let (summary, applied) = try await waiting {
      try await replica.performAndReport(step, inSpaceNamed: log.spaceName, log.progress)
    }
    if let applied { log.note(applied: applied) }
    return summary
  }

  func requireAttachment(toSpaceNamed name: String) async throws -> String {
    try await waiting { try await replica.requireAttachment(toSpaceNamed: name) }
  }

  func outbox(part number: Int) async throws -> SyncCommit? {
    try await waiting { try await replica.outbox(part: number) }
  }
  func waitForChange() async throws { try await replica.waitForChange() }

  private func waiting<Value: Sendable>(
    _ body: () async throws -> Value
  ) async throws -> Value {
    var failureCount = 0
    while true {
      do {
        return try await body()
      } catch let error as DatabaseError where waits && error.code.primary == .busy {
        try await Task.sleep(for: CountedReplica.lockPause)
      } catch let error as DatabaseError where waits && error.code.primary == .full {
        if failureCount == 0 { log.note(.offline, error) }
        failureCount += 1
        try await Task.sleep(
          for: Backoff().delay(afterFailure: failureCount, chance: .random(in: 0...1)))
      }
    }
  }
}
