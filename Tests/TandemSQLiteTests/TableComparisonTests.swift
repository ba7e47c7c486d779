import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import TestRandom
import Testing

struct TableComparisonTests {
  private let old: DatabaseConnection
  private let new: DatabaseConnection

  init() throws {
    old = try DatabaseConnection(path: ":memory:")
    new = try DatabaseConnection(path: ":memory:")
  }

  private func changes(key: String...) throws -> [SetChange<Record>] {
    var changes: [SetChange<Record>] = []
    let comparison = TableComparison(from: try old.table(), to: try new.table(), key: key)
    try comparison.forEachChange(from: old, to: new) { changes.append($0) }
    return changes
  }

  @Test(
    "two tables of any kind differ as their rows do, looked up one by one",
    arguments: TestTable.allCases, 0..<8)
  func agreesWithDefinition(kind: TestTable, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let other = TestTable.allCases.randomElement(using: &random) ?? .untyped
    try kind.fill(old, rowCount: 60, using: &random)
    try other.fill(new, rowCount: 60, using: &random)
    // Rows in common are rare among so many keys, so most of the old ones are brought over.
    for record in try TestTable.records(in: old) where Int.random(in: 0..<3, using: &random) > 0 {
      try TestTable.insert(into: new) { record[$0] }
    }
    let expected = TestTable.naiveChanges(
      from: try TestTable.records(in: old), to: try TestTable.records(in: new))
    #expect(
      try changes(key: "a", "b").map(\.lowercased) == expected, "seed \(seed), \(kind), \(other)")
  }

  @Test(
    "copies that have gone their ways differ as their rows do, whatever became of the rowids",
    arguments: 0..<60)
  func copies(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
    let create = "CREATE TABLE t (a, b, v, w, PRIMARY KEY (a, b))"
    for connection in [old, new] { try connection.execute(create) }
    // Keys in no order.
    for number in 0..<200 {
      let insertion = "INSERT INTO t VALUES ('key \(number * 7919 % 1_009)', \(number), 'v', 0)"
      for connection in [old, new] { try connection.execute(insertion) }
    }
    for _ in 0..<below(40) {
      let connection = below(4) == 0 ? old : new
      let row = "WHERE rowid = \(below(200) + 1)"
      switch below(6) {
      case 0: try connection.execute("DELETE FROM t \(row)")
      case 1: try connection.execute("UPDATE t SET v = 'changed \(below(3))' \(row)")
      case 2: try connection.execute("UPDATE t SET v = 'x', w = 0.0 \(row)")
      case 3: try connection.execute("UPDATE OR IGNORE t SET a = 'key \(below(1_009))' \(row)")
      case 4: try connection.execute("UPDATE t SET rowid = (SELECT max(rowid) + 1 FROM t) \(row)")
      default:
        try connection.execute("INSERT OR IGNORE INTO t VALUES ('new \(below(9))', 1, 'v', 0)")
      }
    }
    if seed % 10 == 9 {
      try new.execute("CREATE TEMP TABLE u AS SELECT * FROM t")
      try new.execute("DELETE FROM t")
      try new.execute("INSERT INTO t SELECT * FROM u ORDER BY b DESC")
    }
    let expected = TestTable.naiveChanges(
      from: try TestTable.records(in: old), to: try TestTable.records(in: new))
    #expect(try changes(key: "a", "b") == expected, "seed \(seed)")
  }

  @Test("copies of a large table whose rowids are unrelated differ as their rows do")
  func unrelatedRowids() throws {
    for (connection, order) in [(old, "i"), (new, "-i")] {
      try connection.execute("CREATE TABLE t (k TEXT PRIMARY KEY, v)")
      try connection.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19999)
        INSERT INTO t SELECT 'key ' || i, i FROM n ORDER BY \(order)
        """)
    }
    try new.execute("UPDATE t SET v = -1 WHERE k = 'key 77'")
    #expect(
      try changes(key: "k") == [
        .updated(old: ["k": "key 77", "v": 77], new: ["k": "key 77", "v": -1])
      ])
  }

  @Test("a null in the key of a table with rowids is an error, wherever it is")
  func nullInKey() throws {
    for connection in [old, new] {
      try connection.execute("CREATE TABLE t (k TEXT PRIMARY KEY, v)")
      try connection.execute("INSERT INTO t VALUES ('a', 1), ('b', 2)")
    }
    try new.execute("INSERT INTO t VALUES (NULL, 3)")
    let error = #expect(throws: DatabaseError.self) { try changes(key: "k") }
    #expect(error?.message.contains("no value in the key column k") == true)
  }

  @Test("a table has no difference from itself, over one connection", arguments: TestTable.allCases)
  func same(kind: TestTable) throws {
    var random = SplitMix64(seed: 1)
    try kind.fill(old, rowCount: 30, using: &random)
    let comparison = TableComparison(
      from: try old.table(), to: try old.table(), key: ["a", "b"])
    try comparison.forEachChange(from: old, to: old) { Issue.record("\($0)") }
    #expect(!old.isInTransaction)
  }

  @Test("two tables of one file are compared over one connection")
  func oneConnection() throws {
    try old.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
    try old.execute("CREATE TABLE u (id INTEGER PRIMARY KEY, v)")
    try old.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    try old.execute("INSERT INTO u VALUES (2, 'c'), (3, 'd')")
    var changes: [SetChange<Record>] = []
    try TableComparison(from: try old.table("t"), to: try old.table("u"), key: ["ID"])
      .forEachChange(from: old, to: old) { changes.append($0) }
    #expect(
      changes == [
        .deleted(["id": 1, "v": "a"]),
        .updated(old: ["id": 2, "v": "b"], new: ["id": 2, "v": "c"]),
        .inserted(["id": 3, "v": "d"]),
      ])
  }

  @Test(
    "texts of UTF-16 databases are walked in the order of UTF-8",
    arguments: ["UTF-16le", "UTF-16be"])
  func encodings(encoding: String) throws {
    let folder = try TemporaryFolder()
    let names = ["a", "Z", "\u{100}", "\u{FF}", "日", "\u{E000}", "\u{10000}", "é", "zz", ""]
    let rows = names.map { "('\($0)', 1)" }.joined(separator: ", ")
    let sql = "CREATE TABLE t (id TEXT PRIMARY KEY, v); INSERT INTO t VALUES \(rows);"
    try folder.runElsewhere("PRAGMA encoding='\(encoding)'; \(sql)", on: "wide.db")
    try folder.runElsewhere(sql, on: "narrow.db")
    try folder.runElsewhere("UPDATE t SET v = 2 WHERE id = '日'", on: "narrow.db")
    let wide = try folder.open("wide.db")
    let narrow = try folder.open("narrow.db")
    for (old, new, values) in [(wide, narrow, (1, 2)), (narrow, wide, (2, 1))] {
      var changes: [SetChange<Record>] = []
      try TableComparison(from: try old.table(), to: try new.table(), key: ["id"])
        .forEachChange(from: old, to: new) { changes.append($0) }
      let versions = [values.0, values.1].map { ["id": "日", "v": .integer(Int64($0))] as Record }
      #expect(changes == [.updated(old: versions[0], new: versions[1])])
    }
  }

  @Test("a column that only one side has counts as null on the other")
  func missingColumns() throws {
    try old.execute("CREATE TABLE t (id, v, gone)")
    try old.execute("INSERT INTO t VALUES (1, 'a', NULL), (2, 'b', 0)")
    try new.execute("CREATE TABLE t (fresh, id, v)")
    try new.execute("INSERT INTO t VALUES (NULL, 1, 'a'), (NULL, 2, 'b')")
    #expect(
      try changes(key: "id") == [
        .updated(old: ["id": 2, "v": "b", "gone": 0], new: ["fresh": .null, "id": 2, "v": "b"])
      ])
  }

  @Test(
    "a key that occurs twice is an error that names it, on either side",
    arguments: ["(1, 1), (2, 1), (2, 2)", "(2, 1), (1, 1), (2.0, 2), (3, 1)"])
  func duplicateKeys(rows: String) throws {
    for connection in [old, new] { try connection.execute("CREATE TABLE t (id, v)") }
    for side in [old, new] {
      for connection in [old, new] { try connection.execute("DELETE FROM t") }
      try side.execute("INSERT INTO t VALUES \(rows)")
      let error = try databaseError { _ = try changes(key: "id") }
      #expect(error.code == .constraint)
      #expect(error.message.hasPrefix("two rows of t have the same key 2"))
    }
  }

  @Test("a part of a key that occurs twice is an error, though the whole key is unique")
  func partOfKey() throws {
    for connection in [old, new] {
      try connection.execute("CREATE TABLE t (a, b, PRIMARY KEY (a, b))")
      try connection.execute("INSERT INTO t VALUES (1, 1), (1, 2)")
    }
    #expect(try databaseError { _ = try changes(key: "a") }.code == .constraint)
    #expect(try changes(key: "a", "b").isEmpty)
    #expect(try changes(key: "b", "a").isEmpty)
  }

  @Test("a key of which a part is null is an error that names the column, in tables with a key too")
  func nullKeys() throws {
    for connection in [old, new] {
      try connection.execute("CREATE TABLE t (a, b, PRIMARY KEY (a, b))")
      try connection.execute("INSERT INTO t VALUES (1, 1)")
    }
    try new.execute("INSERT INTO t VALUES (1, NULL)")
    let error = try databaseError { _ = try changes(key: "a", "b") }
    #expect(error.code == .constraint)
    #expect(error.message.hasPrefix("a row of t has no value in the key column b"))
  }

  @Test("a key column that a table does not have, or no key at all, is an error")
  func missingKey() throws {
    try old.execute("CREATE TABLE t (id, v)")
    try new.execute("CREATE TABLE t (number, v)")
    let error = try databaseError { _ = try changes(key: "id") }
    #expect(error.code == .error)
    #expect(error.message == "table t has no column id to be a key; it has number, v")
    #expect(
      try databaseError { _ = try changes() }.message == "table t needs a key to be compared by")
  }

  @Test("views are compared as tables are")
  func views() throws {
    try old.execute("CREATE TABLE u (id, v)")
    try old.execute("INSERT INTO u VALUES (1, 'a'), (2, 'b')")
    try old.execute("CREATE VIEW t AS SELECT v, id FROM u WHERE id < 3")
    try new.execute("CREATE TABLE t (id PRIMARY KEY, v)")
    try new.execute("INSERT INTO t VALUES (1, 'a')")
    #expect(try changes(key: "id") == [.deleted(["id": 2, "v": "b"])])
  }

  @Test("generated columns are compared too")
  func generatedColumns() throws {
    try old.execute("CREATE TABLE t (id PRIMARY KEY, v AS (id + 1))")
    try new.execute("CREATE TABLE t (id PRIMARY KEY, v AS (id + 2))")
    for connection in [old, new] { try connection.execute("INSERT INTO t (id) VALUES (1)") }
    #expect(try changes(key: "id") == [.updated(old: ["id": 1, "v": 2], new: ["id": 1, "v": 3])])
  }

  @Test(
    "a text that is not valid UTF-8 is compared by its bytes, and an error only where it is read")
  func invalidTexts() throws {
    for connection in [old, new] {
      try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
      try connection.execute("INSERT INTO t VALUES (1, CAST(x'ff' AS TEXT))")
    }
    #expect(try changes(key: "id").isEmpty)
    try new.execute("UPDATE t SET v = CAST(x'fe' AS TEXT)")
    #expect(try databaseError { _ = try changes(key: "id") }.code == .mismatch)
  }

  @Test("what the body throws ends the walk, and both transactions")
  func throwing() throws {
    for connection in [old, new] { try connection.execute("CREATE TABLE t (id PRIMARY KEY)") }
    try old.execute("INSERT INTO t VALUES (1), (2)")
    let comparison = TableComparison(
      from: try old.table(), to: try new.table(), key: ["id"])
    var count = 0
    #expect(throws: CancellationError.self) {
      try comparison.forEachChange(from: old, to: new) { _ in
        count += 1
        throw CancellationError()
      }
    }
    #expect(count == 1)
    #expect(!old.isInTransaction && !new.isInTransaction)
    try old.execute("INSERT INTO t VALUES (3)")
  }

  @Test("what others write during the walk is not seen")
  func snapshot() throws {
    let folder = try TemporaryFolder()
    let writer = try folder.open("test.db", "CREATE TABLE t (id INTEGER PRIMARY KEY)")
    for id in 1...3 { try writer.execute("INSERT INTO t VALUES (?)", .integer(Int64(id))) }
    let reader = try DatabaseConnection(path: folder.file(), access: .readOnly)
    try new.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    var deleted: [FieldValue] = []
    let comparison = TableComparison(
      from: try reader.table(), to: try new.table(), key: ["id"])
    try comparison.forEachChange(from: reader, to: new) { change in
      if case .deleted(let record) = change { deleted.append(record["id"]) }
      try writer.execute("DELETE FROM t")
    }
    #expect(deleted == [1, 2, 3])
  }

  @Test("tables of two databases, and of one transaction, are compared through their transactions")
  func transactions() throws {
    let first = try Database(path: ":memory:")
    let second = try Database(path: ":memory:")
    for (database, value) in [(first, "a"), (second, "b")] {
      try database.write { transaction in
        try transaction.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
        try transaction.execute("INSERT INTO t VALUES (1, \(value))")
      }
    }
    let schema = try #require(try first.read { try $0.schema(ofTable: "T") })
    let comparison = TableComparison(from: schema, to: schema, key: schema.primaryKey)
    let update = SetChange<Record>.updated(old: ["id": 1, "v": "a"], new: ["id": 1, "v": "b"])
    var changes: [SetChange<Record>] = []
    try first.read { first in
      try second.read { second in
        try comparison.forEachChange(from: first, to: second) { changes.append($0) }
      }
    }
    #expect(changes == [update])
    try first.write { transaction in
      try transaction.execute("INSERT INTO t VALUES (2, 'c')")
      try comparison.forEachChange(from: transaction, to: transaction) { changes.append($0) }
    }
    #expect(changes == [update])
  }
}
