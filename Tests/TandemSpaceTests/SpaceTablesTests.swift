import TandemRecords
import TandemSQLite
import TandemSpace
import TandemSync
import TestFolder
import TestRandom
import Testing

@Suite(.onBothStores) struct SpaceCommitTests {
  @Test(
    "A repeated commit gets its stored outcome and is applied once, whatever has changed [order]")
  func repetition() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    var other = TestReplica(seed: 2)
    let insert = replica.commit(try space.head, [change(1, .insert(["a": 5]))])
    let revision = try space.commit(insert).accepted()
    let count = replica.commit(revision, [change(1, .add(["a": 1]))])
    let outcome = try space.commit(count)
    _ = try space.commit(other.commit(try space.head, [change(1, .add(["a": 10]))])).accepted()
    try space.run { space, _ in try space.forget(before: 3) }
    #expect(try space.commit(count) == outcome)
    // The account and the epoch have changed, too.
    #expect(try space.commit(count, account: "someone else") == outcome)
    try space.run { try $0.startNewHistory(using: &$1) }
    #expect(try space.commit(count) == outcome)
    #expect(
      try space.run { space, _ in try space.record(count.changes[0].key) }?.fields?["a"] == 16)
  }

  @Test("A conflict and a refusal are stored, consume their sequence and change nothing")
  func storedObjections() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let base = try space.head
    let empty = try space.state
    for verb in [SyncChange.Verb.delete, .insert(["unknown": 1])] {
      let commit = replica.commit(base, [change(9, .insert(["a": 1])), change(1, verb)])
      let outcome = try space.commit(commit)
      switch outcome {
      case .conflict(let objections): #expect(objections.map(\.reason) == [.missing])
      case .refused(let objections): #expect(objections.map(\.reason) == [.unknownColumn])
      default: Issue.record("\(outcome)")
      }
      #expect(try space.commit(commit) == outcome)
      #expect(try space.state == empty)
    }
    _ = try space.commit(replica.commit(base, [change(1, .insert(["a": 1]))])).accepted()
  }

  @Test("The highest number is not given again after its record was deleted [auto]")
  func deletedNumber() throws {
    let table = SpaceTable(
      name: "t", columns: ["a"], keyColumns: ["id"], granularity: .field, isNumbered: true)
    let space = try TestSpace(tables: [table])
    var replica = TestReplica(seed: 1)
    for verb in [SyncChange.Verb.insert(["a": 1]), .delete] {
      _ = try space.commit(replica.commit(try space.head, [change(7, verb)])).accepted()
    }
    // A program that chose the number itself, although it knows that it was given.
    let again = change(7, .insert(["a": 2]))
    #expect(
      try space.commit(replica.commit(try space.head, [again]))
        == .conflict([SyncObjection(key: again.key, reason: .taken)]))
    _ = try space.commit(
      replica.commit(try space.head, [change(8, .insert(["a": 2]))])
    ).accepted()
  }

  @Test("A commit that does not continue its replica's is answered with the fate of its id [fate]")
  func sequence() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let first = replica.commit(try space.head, [change(1, .insert(["a": 1]))])
    let revision = try space.commit(first).accepted()
    let second = replica.commit(revision, [change(2, .insert(["a": 1]))])
    let secondRevision = try space.commit(second).accepted()
    // An older commit of the replica, which the history contains.
    #expect(try space.commit(first) == .sequence(last: 2, fate: revision))
    // A restored file uses a sequence again, for other changes.
    replica.sequence = 1
    let reused = replica.commit(revision, [change(3, .insert(["a": 1]))])
    #expect(try space.commit(reused) == .sequence(last: 2, fate: nil))
    replica.sequence = 3
    let gap = replica.commit(secondRevision, [change(4, .insert(["a": 1]))])
    #expect(try space.commit(gap) == .sequence(last: 2, fate: nil))
    var stranger = TestReplica(seed: 9)
    stranger.sequence = 4
    let unknown = stranger.commit(secondRevision, [])
    #expect(try space.commit(unknown) == .sequence(last: 0, fate: nil))
    // Nothing of this was stored.
    #expect(try space.head == secondRevision)
    replica.sequence = 2
    _ = try space.commit(replica.commit(secondRevision, [])).accepted()
    // The space never forgets that it has had a commit [memory].
    try space.run { space, _ in try space.forget(before: 3) }
    #expect(try space.commit(first) == .sequence(last: 3, fate: revision))
  }

  @Test(
    "A base of another epoch, of a history that was lost, or below the horizon is gone [unconsumed] [mark]"
  )
  func gone() throws {
    // Two spaces of one seed have the same history, as a space and its backup.
    let space = try TestSpace(seed: 7)
    let backup = try TestSpace(seed: 7)
    var replica = TestReplica(seed: 1)
    let first = replica.commit(try space.head, [change(1, .insert(["a": 1]))])
    let shared = try space.commit(first).accepted()
    #expect(try backup.commit(first).accepted() == shared)
    let lost = try space.commit(replica.commit(shared, [change(2, .insert(["a": 1]))])).accepted()

    // The backup has not reached the version, and then makes another one of the same number.
    var other = TestReplica(seed: 2)
    #expect(try backup.commit(other.commit(lost, [])) == .gone(.history))
    backup.generator = SplitMix64(seed: 99)
    other.sequence = 0
    let parted = try backup.commit(other.commit(shared, [change(3, .insert(["a": 1]))])).accepted()
    #expect(parted.version == lost.version && parted.epoch == lost.epoch && parted != lost)
    #expect(try backup.commit(other.commit(lost, [])) == .gone(.history))
    #expect(try backup.page(SyncPull(replica: nil, since: lost)) == .gone(.history))
    // So it is for a reader that knows it although it wants all records.
    #expect(try backup.page(SyncPull(replica: nil, since: nil, known: lost)) == .gone(.history))

    // A commit whose base is gone consumes no sequence.
    other.sequence = 1
    let third = try backup.commit(other.commit(parted, [])).accepted()
    try backup.run { space, _ in try space.forget(before: 3) }
    #expect(try backup.commit(other.commit(parted, [])) == .gone(.horizon))
    #expect(try backup.page(SyncPull(replica: nil, since: parted)) == .gone(.horizon))
    guard case .page = try backup.page(SyncPull(replica: nil, since: nil, known: parted)) else {
      Issue.record("all records need no history above the horizon")
      return
    }
    // The lost history is known as such for ever [memory].
    other.sequence = 2
    #expect(try backup.commit(other.commit(lost, [])) == .gone(.history))
    #expect(try backup.page(SyncPull(replica: nil, since: lost)) == .gone(.history))
    #expect(try backup.changes(since: third).changes.isEmpty)
    try backup.run { try $0.startNewHistory(using: &$1) }
    other.sequence = 2
    #expect(try backup.commit(other.commit(third, [])) == .gone(.epoch))
    #expect(try backup.page(SyncPull(replica: nil, since: third)) == .gone(.epoch))
    #expect(try backup.changes(since: nil).changes.count == 2)
  }

  @Test(
    "A replica belongs to the account that used it first, and a commit has at most so many changes")
  func refusals() throws {
    let space = try TestSpace(limits: SyncLimits(maxCommitChangeCount: 2))
    var replica = TestReplica(seed: 1)
    let revision = try space.commit(replica.commit(try space.head, []), account: "ann").accepted()
    let next = replica.commit(revision, [])
    for account in ["bob", nil] {
      let refusal = #expect(throws: SyncRequestError.self) {
        try space.commit(next, account: account)
      }
      #expect(refusal?.code == .unauthorized)
    }
    // Another account does not learn the sequence either.
    replica.sequence = 7
    let late = replica.commit(revision, [])
    let refusalOfLate = #expect(throws: SyncRequestError.self) {
      try space.commit(late, account: "bob")
    }
    #expect(refusalOfLate?.code == .unauthorized)
    #expect(try space.commit(late, account: "ann") == .sequence(last: 1, fate: nil))
    replica.sequence = 2
    let head = try space.commit(next, account: "ann").accepted()
    let changes = (0..<3).map { change(.integer($0), .insert(["a": 1])) }
    let many = replica.commit(head, changes)
    let refusal = #expect(throws: SyncRequestError.self) { try space.commit(many, account: "ann") }
    #expect(refusal?.code == .overLimit)
    // The refused request has consumed no sequence.
    replica.sequence -= 1
    let fewer = replica.commit(head, Array(changes.prefix(2)))
    _ = try space.commit(fewer, account: "ann").accepted()
  }

  @Test("A commit with the identity of another one is refused, and nothing is written")
  func usedIdentity() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let first = replica.commit(try space.head, [change(1, .insert(["a": 1]))])
    let head = try space.commit(first).accepted()
    let second = replica.commit(head, [change(2, .insert(["a": 2]))])
    let reused = SyncCommit(
      replica: second.replica, sequence: second.sequence, id: first.id, base: head,
      changes: second.changes)
    let refusal = #expect(throws: SyncRequestError.self) { try space.commit(reused) }
    #expect(refusal?.code == .malformed)
    #expect(try space.head == head)
    _ = try space.commit(second).accepted()
  }

  @Test(
    "Values keep their types and bits, and overruled versions are kept with their commit [overruled]"
  )
  func values() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let values: [FieldValue] = [
      1, 1.0, .real(-0.0), .integer(.max), .integer(.min), .real(.leastNonzeroMagnitude),
      .real(.infinity),
      .real(-.infinity), "", "a\0\"b\u{301}", .blob([]), .blob([0, 255]), 9_007_199_254_740_993,
    ]
    let changes = values.enumerated().map { change(.integer(Int64($0)), .insert(["a": $1])) }
    let ids: [FieldValue] = ["text", .blob([1, 2]), 2.5, .integer(-4)]
    let commit = replica.commit(
      try space.head, changes + ids.map { change($0, .insert(["b": $0])) })
    let overruled = SyncRecordState(
      key: SyncKey(table: "t", id: ["text"]), version: 0, fields: ["a": 2.0])
    _ = try space.commit(
      SyncCommit(
        replica: commit.replica, sequence: 1, id: commit.id, base: commit.base,
        changes: commit.changes, overruled: [overruled])
    ).accepted()
    let (states, page) = try space.changes(since: nil)
    var digest = RecordDigest.empty
    for state in states {
      let fields = try #require(state.fields)
      digest.add(state.key, fields)
      let change = try #require(commit.changes.first { $0.key == state.key })
      guard case .insert(let inserted) = change.verb else { continue }
      #expect(fields.hasSameStorage(as: inserted), "\(fields)")
    }
    #expect(states.count == commit.changes.count)
    #expect(page.digest == digest)
    let kept = try space.rows("version, id, fields", of: "overruled")
    #expect(kept == [[1, "[\"text\"]", "{\"a\":2.0}"]])
  }

  @Test(
    "Overruled versions of tables that the space does not have are refused, and nothing is kept")
  func overruledOfUnknownTables() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let head = try space.head
    let commit = replica.commit(head, [change(.integer(1), .insert(["a": 1]))])
    func with(_ table: String) -> SyncCommit {
      SyncCommit(
        replica: commit.replica, sequence: 1, id: commit.id, base: head, changes: commit.changes,
        overruled: [
          SyncRecordState(key: SyncKey(table: table, id: [1]), version: 0, fields: ["a": 2])
        ])
    }
    let refusal = #expect(throws: SyncRequestError.self) { try space.commit(with("other")) }
    #expect(refusal?.code == .malformed && refusal?.message.contains("overruled versions") == true)
    #expect(try space.head == head && space.rows("id", of: "overruled").isEmpty)
    _ = try space.commit(with("t")).accepted()
  }

  @Test("A row that another program has spoilt is an error that names it", .onlyOnSQLite)
  func damage() throws {
    let spoiling = [
      "UPDATE space SET epoch = 'x'", "UPDATE space SET head = -1", "UPDATE space SET head = 7",
      "UPDATE space SET head = 9223372036854775807", "UPDATE space SET horizon = 5",
      "UPDATE space SET tables = '{'", "DELETE FROM space", "DELETE FROM history",
      "UPDATE history SET digest = 'x'", "UPDATE history SET mark = 'x'",
      "UPDATE record SET fields = '[]'", "UPDATE record SET fields = 7",
      "UPDATE record SET field_versions = '{\"a\":\"x\"}'", "UPDATE record SET version = 'x'",
      "UPDATE record SET id = '7'", "UPDATE record SET key = 'text'",
      "UPDATE replica SET outcome = '{}'", "UPDATE replica SET sequence = 'x'",
      "UPDATE replica SET outcome = '{\"outcome\":\"rejected\",\"code\":\"x\",\"message\":\"\"}'",
      "UPDATE replica SET commit_id = ''",
    ]
    for statement in spoiling {
      let space = try TestSpace()
      var replica = TestReplica(seed: 1)
      let first = replica.commit(try space.head, [change(1, .insert(["a": 1]))])
      let head = try space.commit(first).accepted()
      try space.connection.execute(statement)
      let commit = replica.commit(head, [change(1, .update(["a": 2]))])
      let errors = [
        failure { _ = try space.commit(first) }, failure { _ = try space.commit(commit) },
        failure { _ = try space.page(SyncPull(replica: replica.id, since: nil)) },
      ]
      #expect(errors.contains { $0 is SpaceError }, "\(statement): \(errors)")
    }
  }

  private func failure(_ body: () throws -> Void) -> (any Error)? {
    do {
      try body()
      return nil
    } catch {
      return error
    }
  }
}

@Suite(.onBothStores) struct SpacePageTests {
  @Test("Pages lead to the state at the last page's revision, whatever is committed between them")
  func pages() throws {
    for seed in 0..<(TestStore.current == .sqlite ? 60 : 12) {
      var random = SplitMix64(seed: seed)
      let space = try TestSpace(seed: seed)
      var replica = TestReplica(seed: seed)
      func commit() throws {
        let head = try space.head
        let changes = try randomChanges(space, &random)
        _ = try space.commit(replica.commit(head, changes)).accepted()
      }
      var checkpoints: [(SpaceRevision, [SyncKey: Record])] = [(try space.head, [:])]
      for _ in 0..<12 {
        try commit()
        checkpoints.append((try space.head, try contents(space)))
      }
      for (revision, contents) in checkpoints.shuffled(using: &random).prefix(4) {
        for since in [revision, nil] {
          let (changes, last) = try space.changes(
            since: since, pageSize: Int.random(in: 1...5, using: &random)
          ) { if Bool.random(using: &random) { try commit() } }
          var result = since == nil ? [:] : contents
          for change in changes { result[change.key] = change.fields }
          let expected = try self.contents(space)
          #expect(result == expected, "seed \(seed)")
          #expect(last.revision == (try space.head), "seed \(seed)")
          var digest = RecordDigest.empty
          for (key, fields) in expected { digest.add(key, fields) }
          #expect(last.digest == digest, "seed \(seed)")
          #expect(zip(changes, changes.dropFirst()).allSatisfy { $0.version <= $1.version })
        }
      }
    }
  }

  @Test("A page ends at the limit of bytes, with the record that reaches it")
  func byteLimit() throws {
    let space = try TestSpace(limits: SyncLimits(maxPageByteCount: 200))
    var replica = TestReplica(seed: 1)
    let text = FieldValue.text(String(repeating: "x", count: 100))
    let changes = (0..<5).map { change(.integer($0), .insert(["a": text])) }
    _ = try space.commit(replica.commit(try space.head, changes)).accepted()
    guard case .page(let page) = try space.page(SyncPull(replica: replica.id, since: nil)) else {
      throw GoneInTest()
    }
    #expect(page.changes.count == 2 && page.next != nil)
    #expect(page.replica?.sequence == 1)
    #expect(try space.changes(since: nil).changes.count == 5)
  }

  /// A space with two records, the replica that sent them, and their revision.
  private func twoRecords() throws -> (TestSpace, TestReplica, SpaceRevision) {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let first = try space.commit(
      replica.commit(
        try space.head, [change(1, .insert(["a": 1])), change(2, .insert(["a": 2]))])
    ).accepted()
    return (space, replica, first)
  }

  @Test(
    "Deletions are reported since a revision, not at the first sync, and forgotten with the horizon"
  )
  func deletions() throws {
    let (space, firstReplica, first) = try twoRecords()
    var replica = firstReplica
    let second = try space.commit(replica.commit(first, [change(1, .delete)])).accepted()
    let deleted = SyncRecordState(key: SyncKey(table: "t", id: [1]), version: 2, fields: nil)
    #expect(try space.changes(since: first).changes == [deleted])
    #expect(try space.changes(since: nil).changes.map(\.fields) == [["a": 2]])
    try space.run { space, _ in try space.forget(before: 2) }
    #expect(try space.run { space, _ in try space.record(deleted.key) } == nil)
    #expect(try space.page(SyncPull(replica: nil, since: first)) == .gone(.horizon))
    #expect(try space.changes(since: second).changes.isEmpty)
    // Forgetting less than before, or more than there is, is harmless.
    try space.run { space, _ in try space.forget(before: 1) }
    #expect(try space.state.horizon == 2)
    try space.run { space, _ in try space.forget(before: 100) }
    #expect(try space.state.horizon == 2)
    #expect(try space.state.head == second)
  }

  @Test("A deletion above the horizon is still reported")
  func keptDeletions() throws {
    let (space, firstReplica, first) = try twoRecords()
    var replica = firstReplica
    let second = try space.commit(replica.commit(first, [change(1, .delete)])).accepted()
    _ = try space.commit(replica.commit(second, [change(2, .delete)])).accepted()
    try space.run { space, _ in try space.forget(before: 2) }
    let deleted = SyncRecordState(key: SyncKey(table: "t", id: [2]), version: 3, fields: nil)
    #expect(try space.changes(since: second).changes == [deleted])
  }

  @Test("A first sync starts again when the horizon passes its anchor between two pages [anchor]")
  func anchor() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let changes = (0..<4).map { change(.integer($0), .insert(["a": 1])) }
    let first = try space.commit(replica.commit(try space.head, changes)).accepted()
    #expect(throws: GoneInTest.self) {
      try space.changes(since: nil, pageSize: 2) {
        _ = try space.commit(replica.commit(first, [change(0, .delete)])).accepted()
        try space.run { space, _ in try space.forget(before: 2) }
      }
    }
  }

  @Test("A cursor of another request is refused")
  func cursors() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let changes = (0..<4).map { change(.integer($0), .insert(["a": 1])) }
    let start = try space.head
    _ = try space.commit(replica.commit(start, changes)).accepted()
    guard
      case .page(let page) = try space.page(
        SyncPull(replica: nil, since: start, maxChangeCount: 1)),
      let cursor = page.next
    else { throw GoneInTest() }
    let otherBase = try space.head
    for (since, text) in [
      (otherBase, cursor), (start, ""), (start, "~~~"), (start, cursor + "~"),
      (start, String(cursor.dropLast())), (start, cursor.replacing("~", with: ".")),
    ] {
      let refusal = #expect(throws: SyncRequestError.self) {
        try space.page(SyncPull(replica: nil, since: since, cursor: text))
      }
      #expect(refusal?.code == .malformed, "\(text)")
    }
  }

  /// Changes of at most four of six records, each possible at the head.
  private func randomChanges(
    _ space: TestSpace, _ random: inout SplitMix64
  ) throws -> [SyncChange] {
    let contents = try contents(space)
    return (0..<6).shuffled(using: &random).prefix(Int.random(in: 0...4, using: &random)).map {
      id in
      let key = SyncKey(table: "t", id: [.integer(Int64(id))])
      let number = FieldValue.integer(Int64.random(in: 0..<3, using: &random))
      let record: Record = ["a": number]
      guard contents[key] != nil else { return SyncChange(key: key, verb: .insert(record)) }
      switch Int.random(in: 0..<3, using: &random) {
      case 0: return SyncChange(key: key, verb: .delete)
      case 1: return SyncChange(key: key, verb: .add(record))
      default: return SyncChange(key: key, verb: .update(["b": number]))
      }
    }
  }

  /// The live records, read without pages.
  private func contents(_ space: TestSpace) throws -> [SyncKey: Record] {
    var contents: [SyncKey: Record] = [:]
    for id in 0..<6 {
      let key = SyncKey(table: "t", id: [.integer(Int64(id))])
      contents[key] = try space.run { space, _ in try space.record(key) }?.fields
    }
    return contents
  }
}

@Suite(.onBothStores) struct SpaceFileTests {
  @Test("The first replica declares a table, later ones add columns, and others are refused")
  func declaration() throws {
    let space = try TestSpace(tables: [])
    func table(
      _ name: String = "note", _ columns: [String] = ["title"], key: [String] = ["id"],
      _ granularity: ConflictGranularity = .field
    ) -> SpaceTable {
      SpaceTable(name: name, columns: columns, keyColumns: key, granularity: granularity)
    }
    func declare(_ tables: SpaceTable...) throws -> [SpaceTable] {
      try space.run { space, _ in try space.declare(tables) }
    }
    func code(_ tables: SpaceTable...) -> SyncRequestError.Code? {
      let refusal = #expect(throws: SyncRequestError.self) {
        try space.run { space, _ in try space.declare(tables) }
      }
      return refusal?.code
    }
    #expect(try declare(table()) == [table()])
    #expect(try declare(table("note", [])) == [table()])
    let wider = table("note", ["title", "body"])
    #expect(try declare(table("note", ["body"]), table("part")) == [wider, table("part")])
    #expect(try space.state.tables == [wider, table("part")])
    #expect(code(table("Note")) == .differentTables)
    #expect(code(table("note", ["Title"])) == .differentTables)
    #expect(code(table("note", key: ["id", "part"])) == .differentTables)
    #expect(code(table("note", key: ["title"])) == .differentTables)
    #expect(code(table("note", ["id"])) == .differentTables)
    #expect(code(table("note", ["title"], key: ["id"], .record)) == .differentTables)
    #expect(code(table("other", ["a", "A"])) == .differentTables)
    #expect(code(table("other", key: [])) == .differentTables)
    #expect(code(table("", ["a"])) == .differentTables)
    #expect(code(table("other", (0..<1_990).map { "c\($0)" })) == .overLimit)
    // A declaration that is refused changes nothing, not even the tables before the refused one.
    #expect(code(table("third"), table("note", ["x"], key: ["x"])) == .differentTables)
    #expect(try space.state.tables == [wider, table("part")])
  }

  @Test(
    "Only an empty file becomes a space, and a file of a newer format is refused", .onlyOnSQLite)
  func files() throws {
    var generator = SplitMix64(seed: 1)
    let connection = try DatabaseConnection(path: ":memory:")
    func code(_ body: (SpaceTables) throws -> Void) -> SpaceError.Code? {
      let error = #expect(throws: SpaceError.self) { try body(SpaceTables(connection)) }
      return error?.code
    }
    #expect(code { try $0.check() } == .empty)
    #expect(try SpaceTables(connection).create(using: &generator))
    let state = try SpaceTables(connection).state()
    #expect(try !SpaceTables(connection).create(using: &generator))
    #expect(try SpaceTables(connection).state() == state)
    try SpaceTables(connection).check()
    for (type, rest) in [
      ("TRIGGER", "AFTER INSERT ON record BEGIN SELECT 1; END"), ("VIEW", "AS SELECT 1"),
    ] {
      try connection.execute("CREATE \(type) x \(rest)")
      #expect(code { try $0.check() } == .notASpace)
      #expect(code { try $0.create(using: &generator) } == .notASpace)
      try connection.execute("DROP \(type) x")
    }
    try SpaceTables(connection).check()
    try connection.execute("PRAGMA user_version=5")
    #expect(code { try $0.check() } == .newerFormat)
    #expect(code { try $0.create(using: &generator) } == .newerFormat)
    let other = try DatabaseConnection(path: ":memory:")
    try other.execute("CREATE TABLE t (a)")
    #expect(throws: SpaceError.self) { try SpaceTables(other).create(using: &generator) }
  }
}
