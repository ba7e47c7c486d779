import TandemPostgreSQL
import TandemRecords
import TandemSpace
import TandemSync
import TestFolder
import Testing

@Suite("The replica that goes first [fair]")
final class CommitPriorityTests {
  private var priority = CommitPriority()
  private var now = ContinuousClock.now
  private var replicas = (0..<3).map { TestReplica(seed: $0) }
  private let base = SpaceRevision(epoch: SyncToken(bits: 1), version: 0, mark: 0)

  private func commit(_ ids: FieldValue..., by replica: Int) -> SyncCommit {
    replicas[replica].commit(base, ids.map { change($0, .update(["a": 1])) })
  }

  private func conflict(_ id: FieldValue, by replica: Int) {
    let objection = SyncObjection(key: SyncKey(table: "t", id: [id]), reason: .changed)
    priority.note(.conflict([objection]), of: commit(id, by: replica), at: now)
  }

  private func delays(_ ids: FieldValue, by replica: Int) -> Bool {
    priority.delays(commit(ids, by: replica), at: now)
  }

  private var accepted: SyncOutcome { .accepted(base, .empty) }

  @Test("After three conflicts in a row, others wait that change the record, until an outcome")
  func turn() {
    conflict(1, by: 0)
    conflict(1, by: 0)
    priority.note(accepted, of: commit(2, by: 0), at: now)
    conflict(1, by: 0)
    conflict(1, by: 0)
    #expect(!delays(1, by: 1))
    conflict(1, by: 0)
    #expect(delays(1, by: 1))
    let both = priority.delays(commit(3, 1, by: 1), at: now)
    #expect(both)
    #expect(!delays(2, by: 1) && !delays(1, by: 0))
    // The outcome of another one changes nothing, and neither does a part.
    priority.note(accepted, of: commit(2, by: 1), at: now)
    priority.note(.parts(missing: [2]), of: commit(1, by: 0), at: now)
    #expect(delays(1, by: 1))
    priority.note(accepted, of: commit(1, by: 0), at: now)
    #expect(!delays(1, by: 1))
  }

  @Test("A commit that is sent again, because its answer was lost, is one conflict")
  func repeatedCommit() {
    let objection = SyncObjection(key: SyncKey(table: "t", id: [1]), reason: .changed)
    let same = commit(1, by: 0)
    for _ in 0..<5 { priority.note(.conflict([objection]), of: same, at: now) }
    conflict(1, by: 0)
    #expect(!delays(1, by: 1))
    conflict(1, by: 0)
    #expect(delays(1, by: 1))
  }

  @Test("The turn ends after a moment, and a conflict during it does not extend it")
  func end() {
    for _ in 0..<3 { conflict(1, by: 0) }
    now += CommitPriority.duration - .milliseconds(1)
    for _ in 0..<3 { conflict(1, by: 0) }
    #expect(delays(1, by: 1))
    now += .milliseconds(1)
    #expect(!delays(1, by: 1))
    conflict(1, by: 0)
    conflict(1, by: 0)
    #expect(!delays(1, by: 1))
    conflict(1, by: 0)
    #expect(delays(1, by: 1))
  }

  @Test("Two replicas whose turn it is do not wait for each other")
  func both() {
    for _ in 0..<3 { for replica in 0..<2 { conflict(1, by: replica) } }
    #expect(!delays(1, by: 0) && !delays(1, by: 1) && delays(1, by: 2))
  }

  @Test("The numbers of turns and of counted replicas are bounded")
  func bounds() {
    replicas = (0..<CommitPriority.maxTurnCount + 1).map { TestReplica(seed: $0) }
    for replica in replicas.indices {
      for _ in 0..<3 { conflict(.integer(Int64(replica)), by: replica) }
    }
    let last = CommitPriority.maxTurnCount
    #expect(delays(.integer(Int64(last - 1)), by: 0) == false)
    replicas.append(TestReplica(seed: -1))
    #expect(delays(.integer(Int64(last - 1)), by: last + 1))
    #expect(!delays(.integer(Int64(last)), by: last + 1))
  }

  @Test("A store answers others that they wait, stores nothing of it, and accepts it afterwards")
  func store() async throws {
    let folder = try TemporaryFolder()
    let filed = try await SQLiteSpaceStore.open(path: folder.path(of: "s.space"), creates: true)
    try await takeTurns(filed)
    await filed.close()
    let database = try await PostgreSQLDatabase.open(
      address: try TestStore.address.get(), creates: false)
    let stored = try await PostgreSQLSpaceStore.open(database, name: "turns", creates: true)
    try await takeTurns(try #require(stored))
    await database.close()
  }

  private func takeTurns(_ store: some SpaceStore) async throws {
    let table = SpaceTable(name: "t", columns: ["a"], keyColumns: ["id"], granularity: .field)
    _ = try await store.declare([table])
    var (first, other) = (TestReplica(seed: 0), TestReplica(seed: 1))
    var head = try await store.state().head
    let insertion = other.commit(head, [change(1, .insert(["a": 0]))])
    head = try await store.commit(insertion).accepted()
    for value in 1...3 {
      let update = other.commit(head, [change(1, .update(["a": .integer(Int64(value))]))])
      let late = first.commit(head, [change(1, .update(["a": 9]))])
      head = try await store.commit(update).accepted()
      let outcome = try await store.commit(late)
      guard case .conflict = outcome else { throw NotAccepted(outcome: outcome) }
    }
    let waiting = other.commit(head, [change(1, .update(["a": 4]))])
    var refusal: SyncRequestError?
    do { _ = try await store.commit(waiting) } catch let error as SyncRequestError {
      refusal = error
    }
    #expect(refusal?.code == .tooManyRequests)
    #expect(refusal?.retryAfter == CommitPriority.pause)
    _ = try await store.commit(first.commit(head, [change(1, .update(["a": 9]))])).accepted()
    // The same bytes are judged now.
    let outcome = try await store.commit(waiting)
    guard case .conflict = outcome else { throw NotAccepted(outcome: outcome) }
  }
}
