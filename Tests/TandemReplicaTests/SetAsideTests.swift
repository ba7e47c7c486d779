import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import Testing

@Suite("Changes that are set aside")
struct SetAsideTests {
  let space: TestSpace

  init() throws { space = try TestSpace() }

  private func pair(
    _ schema: [String], _ tables: [AttachedTable], second: [String]? = nil
  ) throws -> [TestReplica] {
    try [schema, second ?? schema].enumerated().map { offset, schema in
      try TestReplica(seed: UInt64(offset) + 1, schema, tables: tables, space: space)
    }
  }

  private func retry(_ replica: TestReplica, _ id: Int64) throws {
    try replica.write { try $0.retry(.one(id)) }
  }

  private func resolve(_ replica: TestReplica, _ id: Int64, by choice: KeptEdit.Choice) throws {
    try replica.write { try $0.resolve(.one(id), by: choice) }
  }

  // MARK: - Records that a table does not accept

  @Test("A record that the table does not accept is noted until it has a row")
  func parked() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT)"], [AttachedTable("t")],
      second: ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT CHECK (n < 100))"])
    try replicas[0].execute("INSERT INTO t VALUES ('r', 1)")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET n = 200")
    try converge(replicas, space)
    let note = try #require(try replicas[1].rejected().first)
    #expect(note.kind == .record && note.content?["n"] == 200 && note.reason.contains("CHECK"))
    #expect(try replicas[1].read { try $0.status() }.state == .rejected)
    // It cannot be placed yet. Without the note, the file would seem to be in step.
    #expect(throws: ReplicaError.self) { try retry(replicas[1], note.id) }
    #expect(throws: ReplicaError.self) {
      try replicas[1].write { try $0.discard(.one(note.id)) }
    }
    try converge(replicas, space)
    #expect(try replicas[1].read { try $0.status() }.state == .rejected)
    #expect(try replicas[1].rows("SELECT * FROM t") == [["r", 1]])
    // A newer version is noted, and the note ends when the row has it.
    try replicas[0].execute("UPDATE t SET n = 300")
    try converge(replicas, space)
    #expect(try replicas[1].rejected().map(\.content?["n"]) == [300])
    try replicas[0].execute("UPDATE t SET n = 5")
    try converge(replicas, space)
    #expect(try replicas[1].rejected().isEmpty)
    try expectEqualRows(replicas, "SELECT * FROM t", [["r", 5]])
  }

  @Test("A record whose key the table would alter is noted")
  func alteredKey() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, n)"], [AttachedTable("t")],
      second: ["CREATE TABLE t (id INT PRIMARY KEY, n)"])
    try replicas[0].execute("INSERT INTO t VALUES ('007', 1)")
    try converge(replicas, space)
    let note = try #require(try replicas[1].rejected().first)
    #expect(note.kind == .record && note.reason.contains("primary key"))
    #expect(throws: ReplicaError.self) { try retry(replicas[1], note.id) }
  }

  @Test("A record that has no row gets one when the table accepts it")
  func placedByRetry() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT, extra)"], [AttachedTable("t")],
      second: ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT CHECK (n < 100))"])
    try replicas[0].execute("INSERT INTO t VALUES ('r', 200, 'more')")
    try converge(replicas, space)
    let note = try #require(try replicas[1].rejected().first)
    try replicas[1].write { try $0.beginSchemaChange() }
    for statement in [
      "CREATE TABLE u (id TEXT PRIMARY KEY, n INT)", "INSERT INTO u SELECT * FROM t",
      "DROP TABLE t",
      "ALTER TABLE u RENAME TO t",
    ] {
      try replicas[1].execute(statement)
    }
    try replicas[1].write { try $0.endSchemaChange() }
    try retry(replicas[1], note.id)
    #expect(try replicas[1].rows("SELECT * FROM t") == [["r", 200]])
    #expect(try replicas[1].rejected().isEmpty)
    try converge(replicas, space)
    try expectEqualRows([replicas[0]], "SELECT * FROM t", [["r", 200, "more"]])
  }

  @Test(
    "A row that is written anew does not replace a version that was never shown without a record")
  func writtenAnew() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT, note TEXT)"], [AttachedTable("t")],
      second: ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT CHECK (n < 100), note TEXT)"])
    try replicas[0].execute("INSERT INTO t VALUES ('r', 200, 'precious')")
    try converge(replicas, space)
    #expect(try replicas[1].rows("SELECT * FROM t").isEmpty)
    try replicas[1].execute("INSERT INTO t VALUES ('r', 3, 'new')")
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM t", [["r", 3, "new"]])
    let conflict = try #require(try replicas[1].conflicts().first)
    #expect(conflict.kind == .addAdd && conflict.resolution == .local)
    #expect(conflict.remote?["note"] == "precious" && conflict.local?["note"] == "new")
    #expect(
      try space.database.read {
        try $0.connection.rows("SELECT count(*) FROM overruled")
      } == [[1]])
    #expect(try replicas[1].rejected().isEmpty)
  }

  @Test("A row that is written anew is merged with a newer record as an addition")
  func writtenAnewAndChanged() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT, note TEXT)"], [AttachedTable("t")],
      second: ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT CHECK (n < 100), note TEXT)"])
    try replicas[0].execute("INSERT INTO t VALUES ('r', 200, 'precious')")
    try converge(replicas, space)
    try replicas[1].execute("INSERT INTO t VALUES ('r', 3, 'new')")
    try replicas[0].execute("UPDATE t SET n = 50")
    try replicas[0].sync(space)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM t", [["r", 50, "precious"]])
    let conflict = try #require(try replicas[1].conflicts(includingResolved: false).first)
    #expect(conflict.kind == .addAdd && conflict.local?["note"] == "new")
  }

  @Test("A row stays as it was while its table does not accept the space's version")
  func otherColumns() throws {
    let choice = [AttachedTable("t", columns: ["n"])]
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT, secret TEXT)"], choice,
      second: ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT CHECK (n < 100), secret TEXT)"])
    try replicas[0].execute("INSERT INTO t VALUES ('r', 1, NULL)")
    try converge(replicas, space)
    try replicas[1].execute("UPDATE t SET secret = 'only here'")
    for n in [200, 300] {
      try replicas[0].execute("UPDATE t SET n = \(n)")
      try converge(replicas, space)
      #expect(try replicas[1].rows("SELECT * FROM t") == [["r", 1, "only here"]])
      #expect(try replicas[1].rejected().map { $0.content?["n"] } == [.integer(Int64(n))])
    }
    try replicas[0].execute("UPDATE t SET n = 5")
    try converge(replicas, space)
    #expect(try replicas[1].rows("SELECT * FROM t") == [["r", 5, "only here"]])
  }

  @Test("Columns that are not synchronized come back with a change that is made again")
  func otherColumnsOfEdit() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, slug TEXT UNIQUE, secret TEXT)"],
      [AttachedTable("t", columns: ["slug"])])
    try converge(replicas, space)
    try replicas[0].execute("INSERT INTO t VALUES ('1', 's', NULL)")
    try replicas[0].sync(space)
    try replicas[1].execute("INSERT INTO t VALUES ('2', 's', 'only here')")
    try converge(replicas, space)
    let note = try #require(try replicas[1].rejected().first)
    try replicas[1].execute("UPDATE t SET slug = 'other'")
    try retry(replicas[1], note.id)
    try converge(replicas, space)
    #expect(
      try replicas[1].rows("SELECT * FROM t WHERE id = '2'") == [["2", "s", "only here"]])
  }

  // MARK: - Rejected changes

  @Test(
    "A rejected change that is made again leaves later edits of other fields as they are",
    arguments: [ConflictGranularity.field, .record])
  func retryMerges(granularity: ConflictGranularity) throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, slug TEXT UNIQUE, note TEXT)"],
      [AttachedTable("t", granularity: granularity)])
    try replicas[0].execute("INSERT INTO t VALUES ('r', 'r', 'n'), ('q', 'q', 'n')")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET slug = 'x' WHERE id = 'q'")
    try replicas[0].sync(space)
    try replicas[1].execute("UPDATE t SET slug = 'x' WHERE id = 'r'")
    try converge(replicas, space)
    let note = try #require(try replicas[1].rejected().first)
    #expect(note.kind == .edit && note.base?["slug"] == "r" && note.content?["slug"] == "x")
    let error = #expect(throws: ReplicaError.self) { try retry(replicas[1], note.id) }
    #expect(error?.code == .constraint && error?.message.contains("has") == true)
    try replicas[0].execute("UPDATE t SET note = 'later' WHERE id = 'r'")
    try replicas[0].execute("UPDATE t SET slug = 'y' WHERE id = 'q'")
    try converge(replicas, space)
    try retry(replicas[1], note.id)
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM t ORDER BY id", [["q", "y", "n"], ["r", "x", "later"]])
    #expect(try replicas[1].conflicts().isEmpty)
  }

  @Test("A rejected change that is made again over another edit of the field records that one")
  func retryRecords() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, slug TEXT UNIQUE)"], [AttachedTable("t")])
    try replicas[0].execute("INSERT INTO t VALUES ('r', 'r'), ('q', 'q')")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET slug = 'x' WHERE id = 'q'")
    try replicas[0].sync(space)
    try replicas[1].execute("UPDATE t SET slug = 'x' WHERE id = 'r'")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET slug = 'y' WHERE id = 'q'")
    try replicas[0].execute("UPDATE t SET slug = 'newer' WHERE id = 'r'")
    try converge(replicas, space)
    try retry(replicas[1], try #require(try replicas[1].rejected().first).id)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT slug FROM t WHERE id = 'r'", [["x"]])
    let conflict = try #require(try replicas[1].conflicts().last)
    #expect(conflict.resolution == .local && conflict.remote?["slug"] == "newer")
  }

  @Test("While a commit waits, no rejected change is made again: its base must stay as it is")
  func retryDuringCommit() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, slug TEXT UNIQUE, y)"], [AttachedTable("t")],
      second: ["CREATE TABLE t (id TEXT PRIMARY KEY, slug TEXT UNIQUE)"])
    try replicas[0].execute("INSERT INTO t VALUES ('r', 'r', 1), ('q', 'q', 1)")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET slug = 'x' WHERE id = 'q'")
    try replicas[0].sync(space)
    try replicas[1].execute("UPDATE t SET slug = 'x' WHERE id = 'r'")
    try converge(replicas, space)
    let note = try #require(try replicas[1].rejected().first)
    #expect(note.content?["y"] == 1)
    try replicas[0].execute("UPDATE t SET y = NULL, slug = iif(id = 'q', 'z', slug)")
    try converge(replicas, space)
    try replicas[1].execute("DELETE FROM t WHERE id = 'r'")
    let bytes = try #require(try replicas[1].freeze())
    let outcome = try space.push(bytes)
    for isOne in [true, false] {
      let error = #expect(throws: ReplicaError.self) {
        if isOne {
          try retry(replicas[1], note.id)
        } else {
          try replicas[1].write { _ = try $0.retry(.rejected) }
        }
      }
      #expect(error?.code == .waitingCommit)
    }
    try replicas[1].settle(outcome, bytes)
    // Otherwise everything would be fetched again.
    #expect(try replicas[1].state.pullNeed == .none)
    try retry(replicas[1], note.id)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT id, slug FROM t ORDER BY id", [["q", "z"], ["r", "x"]])
  }

  // MARK: - Conflicts

  /// Two files with an open conflict of the second one, after which the first has changed the field
  /// again.
  private func conflict() throws -> [TestReplica] {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, x TEXT, y TEXT)"], [AttachedTable("t")])
    try replicas[0].execute("INSERT INTO t VALUES ('r', '0', '0')")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET x = 'A1'")
    try replicas[1].execute("UPDATE t SET x = 'B1'")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET x = 'A2', y = 'A2'")
    try converge(replicas, space)
    return replicas
  }

  @Test("The remote version leaves a row that has changed since as it is")
  func takeRemote() throws {
    let replicas = try conflict()
    try resolve(replicas[1], 1, by: .remote)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT x FROM t", [["A2"]])
    #expect(try replicas[1].conflicts().map(\.resolution) == [.remote])
  }

  @Test(
    "Another version records the one that it replaces",
    arguments: [
      (.local, [["B1", "A2"]]), (.base, [["0", "A2"]]), (.fields(["x": "mine"]), [["mine", "A2"]]),
      (.record(nil), []), (.record(["x": "mine", "y": "mine"]), [["mine", "mine"]]),
    ] as [(KeptEdit.Choice, [[FieldValue]])])
  func takeOther(choice: KeptEdit.Choice, rows: [[FieldValue]]) throws {
    let replicas = try conflict()
    try resolve(replicas[1], 1, by: choice)
    try converge(replicas, space)
    let conflicts = try replicas[1].conflicts()
    #expect(conflicts.count == 2 && conflicts[1].resolution == .local)
    #expect(conflicts[1].remote?["x"] == "A2" && conflicts[1].base?["x"] == "A1")
    try expectEqualRows(replicas, "SELECT x, y FROM t", rows)
  }

  @Test("A deletion that resolves a conflict records later edits of other fields")
  func deletedLaterEdit() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, u, v)"], [AttachedTable("t")])
    try replicas[0].execute("INSERT INTO t VALUES ('n', 'same', 'A')")
    try replicas[1].execute("INSERT INTO t VALUES ('n', 'same', 'B')")
    try converge(replicas, space)
    try replicas[1].execute("UPDATE t SET u = 'later'")
    // Both added the record, so its base is that there is none.
    try resolve(replicas[1], 1, by: .base)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM t", [])
    #expect(try replicas[1].conflicts().contains { $0.remote?["u"] == "later" })
  }

  @Test("A resolution closes older conflicts of the row in the same fields")
  func olderConflicts() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, x, y)"], [AttachedTable("t")])
    try replicas[0].execute("INSERT INTO t VALUES ('r', 0, 0)")
    try converge(replicas, space)
    for (number, column) in [(1, "x"), (2, "y"), (3, "x")] {
      try replicas[0].execute("UPDATE t SET \(column) = 'A\(number)'")
      try replicas[1].execute("UPDATE t SET \(column) = 'B\(number)'")
      try converge(replicas, space)
    }
    try resolve(replicas[1], 3, by: .local)
    #expect(try replicas[1].conflicts(includingResolved: false).map(\.id) == [2])
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT x, y FROM t", [["B3", "A2"]])
  }

  @Test("A version of a column that was dropped is refused with the column's name")
  func droppedColumn() throws {
    let replicas = try conflict()
    try replicas[1].changeSchema("ALTER TABLE t DROP COLUMN x")
    let error = #expect(throws: ReplicaError.self) { try resolve(replicas[1], 1, by: .local) }
    #expect(error?.code == .unsuitable && error?.message.contains("column x") == true)
    #expect(try replicas[1].conflicts(includingResolved: false).count == 1)
    try resolve(replicas[1], 1, by: .remote)
  }

  @Test("A version that the table does not accept is refused in words")
  func constraint() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, x TEXT UNIQUE)"], [AttachedTable("t")])
    try replicas[0].execute("INSERT INTO t VALUES ('r', '0')")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET x = 'A'")
    try replicas[1].execute("UPDATE t SET x = 'B'")
    try converge(replicas, space)
    try replicas[1].execute("INSERT INTO t VALUES ('q', 'B')")
    let error = #expect(throws: ReplicaError.self) { try resolve(replicas[1], 1, by: .local) }
    #expect(error?.code == .constraint && error?.message.contains("t 'q' has x 'B'") == true)
  }

  // MARK: - Versions and keys that no message can hold

  @Test("A null that the table replaces by a default resolves a conflict")
  func replacedNull() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, v NOT NULL DEFAULT 5)"], [AttachedTable("t")])
    try replicas[0].execute("INSERT INTO t VALUES ('r', 1)")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET v = 5")
    try replicas[1].execute("UPDATE t SET v = 6")
    try converge(replicas, space)
    let conflict = try #require(try replicas[1].conflicts(includingResolved: false).first)
    try resolve(replicas[1], conflict.id, by: .fields(["v": .null]))
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT v FROM t", [[5]])
  }

  @Test("The note on a row that cannot be sent goes away when the change has left the row")
  func noteOnRow() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, x TEXT)"], [AttachedTable("t")])
    try replicas[0].execute("INSERT INTO t VALUES ('r', '0')")
    try converge(replicas, space)
    try replicas[1].execute("UPDATE t SET x = hex(zeroblob(2500000))")
    try replicas[1].sync(space)
    let note = try #require(try replicas[1].rejected().first)
    #expect(note.kind == .row && note.content == nil)
    #expect(throws: ReplicaError.self) { try retry(replicas[1], note.id) }
    try replicas[1].execute("UPDATE t SET x = 'short'")
    try converge(replicas, space)
    #expect(try replicas[1].rejected().isEmpty)
    try expectEqualRows(replicas, "SELECT x FROM t", [["short"]])
  }

  @Test("Keys that are not UTF-8 hold no other row back, and are noted")
  func unreadableKeys() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT, k, x, PRIMARY KEY (id, k))"], [AttachedTable("t")])
    try converge(replicas, space)
    try replicas[0].execute(
      """
      WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 600)
      INSERT INTO t SELECT CAST(x'61ff' AS TEXT), i, i FROM c
      """)
    try replicas[0].execute("INSERT INTO t VALUES ('zzz', 1, 'important')")
    try replicas[0].sync(space)
    try replicas[1].sync(space)
    #expect(try replicas[1].rows("SELECT x FROM t WHERE id = 'zzz'") == [["important"]])
    #expect(try replicas[0].rejected().count == 600)
    try replicas[0].execute("DELETE FROM t WHERE id <> 'zzz'")
    try converge(replicas, space)
    #expect(try replicas[0].rejected().isEmpty)
  }

  @Test(
    "A row that the space cannot hold leaves no trace once it is deleted or renamed",
    arguments: [
      "(hex(zeroblob(550)), 'long key')", "('t', CAST(x'61ff' AS TEXT))",
      "('t', hex(zeroblob(2500000)))",
    ], ["DELETE FROM t WHERE id <> 'r'", "UPDATE t SET id = 'short', x = 1 WHERE id <> 'r'"])
  func unsendableRow(values: String, remedy: String) throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, x)"], [AttachedTable("t")])
    try replicas[0].execute("INSERT INTO t VALUES ('r', 0)")
    try converge(replicas, space)
    try replicas[0].execute("INSERT INTO t VALUES \(values)")
    try replicas[0].sync(space)
    #expect(try replicas[0].rejected().map(\.kind) == [.row])
    try replicas[0].execute(remedy)
    try converge(replicas, space)
    #expect(try replicas[0].rejected().isEmpty)
    let status = try replicas[0].read { try $0.status() }
    #expect(status.state == .upToDate && status.pendingCount == 0, "\(status)")
  }

  @Test("Two rejected changes with equal content and other bases are both kept")
  func rejectedTwice() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, c INT CHECK (c < 13), w)"],
      [AttachedTable("t", policies: ["c": .counter])])
    let (a, b) = (replicas[0], replicas[1])
    for replica in replicas { replica.merging = try replica.read { try $0.storedMerging() } }
    try a.execute("INSERT INTO t VALUES ('x', 5, 1)")
    try converge(replicas, space)
    for (first, second) in [("c = 10", "c = 9"), ("c = 10, w = 1", "c = 9")] {
      try b.execute("UPDATE t SET \(first)")
      try a.execute("UPDATE t SET \(second)")
      try a.sync(space)
      try b.sync(space)
      try a.execute("UPDATE t SET c = 5, w = 2")
      try a.sync(space)
      try b.sync(space)
    }
    #expect(try b.rejected().count == 2)
  }

  // MARK: - Policies

  @Test("A policy of a column that is gone is shown until the table has another one")
  func renamedCounter() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT, x)"],
      [AttachedTable("t", policies: ["n": .counter])])
    try replicas[0].execute("INSERT INTO t VALUES ('r', 1, 0)")
    try converge(replicas, space)
    for replica in replicas {
      try replica.changeSchema("ALTER TABLE t RENAME COLUMN n TO m")
      #expect(try replica.read { try $0.status() }.voidPolicies == ["t.n=counter"])
      try replica.write { try $0.setPolicy(.counter, "m", of: "t") }
      #expect(try replica.read { try $0.status() }.voidPolicies.isEmpty)
      #expect(try replica.read { try $0.policies() }.map(\.column) == ["m"])
    }
  }

  @Test(
    "Null is the least value for the policies maximum and minimum",
    arguments: [(FieldPolicy.maximum, 7 as FieldValue), (.minimum, .null)])
  func nullIsLeast(policy: FieldPolicy, expected: FieldValue) throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT)"],
      [AttachedTable("t", policies: ["n": policy])])
    try replicas[0].execute("INSERT INTO t VALUES ('a', 5), ('b', 5)")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET n = iif(id = 'a', 7, NULL)")
    try replicas[1].execute("UPDATE t SET n = iif(id = 'a', NULL, 7)")
    for replica in replicas {
      replica.merging = try replica.read { try $0.storedMerging() }
    }
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT n FROM t", [[expected], [expected]])
    #expect(try replicas.allSatisfy { try $0.conflicts(includingResolved: false).isEmpty })
  }

  @Test("A policy can be changed, and a counter has to be a column of integers")
  func policies() throws {
    let replica = try TestReplica(
      seed: 1, ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT, r REAL)"],
      tables: [AttachedTable("t")],
      space: space)
    try replica.write { try $0.setPolicy(.counter, "N", of: "T") }
    try replica.write { try $0.setPolicy(.maximum, "r", of: "t") }
    #expect(try replica.read { try $0.policies() }.map(\.policy) == ["counter", "maximum"])
    try replica.write { try $0.setPolicy(nil, "n", of: "t") }
    #expect(try replica.read { try $0.policies() }.map(\.column) == ["r"])
    for (column, word) in [("r", "integers"), ("none", "none")] {
      let error = #expect(throws: ReplicaError.self) {
        try replica.write { try $0.setPolicy(.counter, column, of: "t") }
      }
      #expect(error?.message.contains(word) == true)
    }
    let other = try TestReplica(seed: 2)
    try other.execute("CREATE TABLE t (id TEXT PRIMARY KEY, r REAL)")
    #expect(throws: ReplicaError.self) {
      try other.attach([AttachedTable("t", policies: ["r": .counter])], space)
    }
  }
}
