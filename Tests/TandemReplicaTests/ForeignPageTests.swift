import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import Testing

@Suite("Pages that no space makes")
struct ForeignPageTests {
  let space: TestSpace
  let replica: TestReplica

  init() throws {
    space = try TestSpace()
    replica = try TestReplica(
      seed: 1, ["CREATE TABLE t (id TEXT PRIMARY KEY, x)"], tables: [AttachedTable("t")],
      space: space)
    try replica.execute("INSERT INTO t VALUES ('r', 0)")
    try converge([replica], space)
  }

  enum Flaw: CaseIterable {
    case twice, null, tooMany, tooFew
  }

  private func changes(_ flaw: Flaw) throws -> [SyncRecordState] {
    let version = try space.state.head.version + 1
    let ids: [[FieldValue]] =
      switch flaw {
      case .twice: [["r"], ["r"]]
      case .null: [[.null]]
      case .tooMany: [["r", "s"]]
      case .tooFew: [[]]
      }
    return ids.enumerated().map { offset, id in
      SyncRecordState(
        key: SyncKey(table: "t", id: id), version: version,
        fields: ["x": .integer(Int64(7 + offset))])
    }
  }

  private func page(_ changes: [SyncRecordState], next: String? = nil) throws -> SyncPage {
    let head = try space.state.head
    return SyncPage(
      revision: SpaceRevision(epoch: head.epoch, version: head.version + 1, mark: 5),
      digest: .empty, replica: nil, changes: changes, next: next)
  }

  private func perform(_ step: SyncStep) throws -> SyncSummary {
    try replica.write {
      try $0.perform(step, replica.merging, decision: replica.decision, using: &replica.random)
    }
  }

  /// The request that the file waits for an answer to.
  private func request() throws -> SyncPull {
    guard case .page(let pull) = try perform(.requirePull).pull else {
      Issue.record("no page is missing")
      return SyncPull(replica: nil, since: nil)
    }
    return pull
  }

  /// Expects that the file has what the space has, and goes on with it.
  private func expectUnharmed() throws {
    #expect(try replica.rows("SELECT * FROM t") == [["r", 0]])
    #expect(try replica.rows("SELECT * FROM tandem_staged").isEmpty)
    #expect(try replica.rows("SELECT * FROM tandem_parked").isEmpty)
    try converge([replica], space)
    #expect(try replica.read { try $0.status() }.state == .upToDate)
    #expect(try replica.conflicts().isEmpty)
  }

  @Test(
    "A page with an impossible key is refused, and nothing of it is written or staged",
    arguments: Flaw.allCases, [nil, "more"])
  func refused(flaw: Flaw, next: String?) throws {
    let pull = try request()
    let page = try page(changes(flaw), next: next)
    let error = #expect(throws: ForeignPage.self) { try perform(.stage(page, for: pull)) }
    #expect(error?.description.contains("not that of a Tandem server") == true)
    try expectUnharmed()
  }

  @Test("An event with an impossible key leads to a pull", arguments: Flaw.allCases)
  func event(flaw: Flaw) throws {
    let head = try space.state.head
    let summary = try perform(.receive(try page(changes(flaw)), after: head))
    #expect(summary.revision == head && summary.pull != .none)
    try expectUnharmed()
  }

  @Test("Events that were joined, and later pages of a pull, name a record again")
  func again() throws {
    let other = try TestReplica(
      seed: 2, ["CREATE TABLE t (id TEXT PRIMARY KEY, x)"], tables: [AttachedTable("t")],
      space: space)
    try converge([other, replica], space)
    for isPull in [false, true] {
      let head = try space.state.head
      let pull = try request()
      let pages = try [1, 2].map { _ in
        let since = try space.state.head
        try other.execute("UPDATE t SET x = x + 1")
        try other.sync(space)
        let request = SyncPull(replica: pull.replica, since: since)
        guard case .page(let page) = try space.pull(request) else { fatalError("gone") }
        return page
      }
      func page(_ changes: [SyncRecordState], next: String?) -> SyncPage {
        SyncPage(
          revision: pages[1].revision, digest: pages[1].digest, replica: pages[1].replica,
          changes: changes, next: next)
      }
      if isPull {
        _ = try perform(.stage(page(pages[0].changes, next: "more"), for: pull))
        let more = SyncPull(
          replica: pull.replica, since: pull.since, cursor: "more",
          knownSequence: pull.knownSequence)
        _ = try perform(.stage(page(pages[1].changes, next: nil), for: more))
      } else {
        let both = page(pages[0].changes + pages[1].changes, next: nil)
        _ = try perform(.receive(both, after: head))
      }
      #expect(try replica.rows("SELECT x FROM t") == (isPull ? [[4]] : [[2]]))
      try converge([replica, other], space)
    }
  }

  @Test("A pull has a limited number of pages")
  func endless() throws {
    let pull = try request()
    let key = SyncKey(table: "t", id: ["s"])
    let change = SyncRecordState(
      key: key, version: try space.state.head.version + 1, fields: ["x": 1])
    _ = try perform(.stage(page([change], next: "2"), for: pull))
    try replica.execute(
      "UPDATE tandem_staged SET position = position - \(SyncLimits.maxPullPageCount - 1)")
    _ = try perform(.look)
    try replica.execute(
      """
      INSERT INTO tandem_staged (since, next, page)
      SELECT since, '3', page FROM tandem_staged
      """)
    try replica.execute("UPDATE tandem_staged SET position = 1 WHERE next = '3'")
    let more = SyncPull(
      replica: pull.replica, since: pull.since, cursor: "3", knownSequence: pull.knownSequence)
    let error = #expect(throws: ForeignPage.self) {
      try perform(.stage(page([change], next: "4"), for: more))
    }
    #expect(error?.reason.contains("\(SyncLimits.maxPullPageCount) pages") == true)
    _ = try perform(.discardStaged)
    try expectUnharmed()
  }

  @Test("Pages and versions with impossible keys, which a file has already, do not wedge it")
  func wedged() throws {
    let pull = try request()
    let key = SyncKey(table: "t", id: ["s"])
    let change = SyncRecordState(
      key: key, version: try space.state.head.version + 1, fields: ["x": 1])
    _ = try perform(.stage(page([change], next: "2"), for: pull))
    guard case .page(let right) = try space.pull(pull) else {
      Issue.record("there is no page")
      return
    }
    let bytes = SyncMessageWriter.bytes(
      SyncPage(
        revision: right.revision, digest: right.digest, replica: right.replica,
        changes: try changes(.tooMany), next: nil))
    try replica.database.write {
      try $0.connection.prepare("UPDATE tandem_staged SET next = NULL, page = ?")
        .run([.blob(bytes)])
    }
    #expect(throws: ForeignPage.self) { try perform(.apply) }
    _ = try perform(.discardStaged)
    // The right server has another history.
    var wrong: [UInt8] = []
    RecordEncoding.append(id: ["r", "s"], to: &wrong)
    try replica.database.write { [wrong] in
      try $0.connection.prepare(
        """
        INSERT INTO tandem_parked ("table", "key", id, fields, is_whole, reason)
        VALUES ('t', ?, '["r","s"]', '{}', 1, 'wrong')
        """
      ).run([.blob(wrong)])
    }
    try space.startNewHistory()
    replica.decision = .union
    try converge([replica], space)
    #expect(try replica.rows("SELECT * FROM tandem_parked").isEmpty)
  }
}
