import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

/// A table whose rows are hard to follow one by one, what happens to it, and what must be delivered.
struct TableCase: Sendable, CustomTestStringConvertible {
  var name: String
  var schema: [String]
  var change: [String]
  /// Keys (or a text of each) inserted, updated and deleted.
  var expected: (inserted: [String], updated: [String], deleted: [String])
  var query: LiveQuery<Record> = LiveQuery(table: "t")
  var table = "t"
  var isIncremental = true

  var testDescription: String { name }

  /// A table without rowid.
  static func withoutRowid(
    _ name: String, columns: String, rows: String, change: String...,
    expected: (inserted: [String], updated: [String], deleted: [String])
  ) -> TableCase {
    TableCase(
      name: name,
      schema: ["CREATE TABLE t (\(columns)) WITHOUT ROWID", "INSERT INTO t VALUES \(rows)"],
      change: change, expected: expected)
  }

  /// Expects a difference to be what must be delivered.
  func check(_ difference: SetDifference<Record>, key: [String]) {
    let name = { (record: Record) in RecordKey(key.map { record[$0] }).description }
    #expect(difference.inserted.map(name) == expected.inserted)
    #expect(difference.updated.map { name($0.new) } == expected.updated)
    #expect(difference.deleted.map(name) == expected.deleted)
  }
}

@Suite("Live queries over tables of all kinds", .timeLimit(.minutes(20)))
struct LiveQueryTableTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  static let cases: [TableCase] = [
    TableCase(
      name: "keys that differ only in case, in a NOCASE column",
      schema: [
        "CREATE TABLE t (k TEXT COLLATE NOCASE PRIMARY KEY, v)", "INSERT INTO t VALUES ('a', 1)",
      ],
      change: ["UPDATE t SET k = 'A'", "INSERT INTO t VALUES ('b', 2)"],
      expected: (["\"A\"", "\"b\""], [], ["\"a\""])),
    .withoutRowid(
      "REPLACE of a key that differs only in case",
      columns: "k TEXT COLLATE NOCASE PRIMARY KEY, v", rows: "('a', 1)",
      change: "REPLACE INTO t VALUES ('A', 2)", expected: (["\"A\""], [], ["\"a\""])),
    TableCase(
      name: "an integer key that becomes a real one and back",
      schema: [
        "CREATE TABLE t (k PRIMARY KEY, v)", "INSERT INTO t VALUES (1, 1), (2.0, 2), (3, 3)",
      ],
      change: ["UPDATE t SET k = 1.0 WHERE k = 1", "UPDATE t SET k = 2, v = 9 WHERE k = 2.0"],
      expected: ([], ["1.0", "2"], [])),
    .withoutRowid(
      "a table without rowid and with a composite key",
      columns: "v, a TEXT, b INT, PRIMARY KEY (b, a)", rows: "(1, 'x', 1), (2, 'y', 1)",
      change: "UPDATE t SET b = 2 WHERE a = 'x'", "UPDATE t SET v = 3 WHERE a = 'y'",
      expected: (["2, \"x\""], ["1, \"y\""], ["1, \"x\""])),
    .withoutRowid(
      "a table without rowid", columns: "k TEXT PRIMARY KEY, v", rows: "('a', 1), ('b', 2)",
      change: "UPDATE t SET k = 'c' WHERE k = 'a'", "UPDATE t SET v = 3 WHERE k = 'b'",
      expected: (["\"c\""], ["\"b\""], ["\"a\""])),
    TableCase(
      name: "a composite key beside the rowid",
      schema: [
        "CREATE TABLE t (a TEXT, v, b INT, PRIMARY KEY (a, b))",
        "INSERT INTO t VALUES ('x', 1, 1), ('x', 2, 2)",
      ],
      change: ["UPDATE t SET b = 3 WHERE b = 1", "REPLACE INTO t VALUES ('x', 9, 2)"],
      expected: (["\"x\", 3"], ["\"x\", 2"], ["\"x\", 1"])),
    TableCase(
      name: "real keys between integers",
      schema: [
        "CREATE TABLE t (k REAL PRIMARY KEY, v)",
        "INSERT INTO t VALUES (1, 1), (1.5, 2), (9007199254740992, 3)",
      ],
      change: ["UPDATE t SET k = 2 WHERE v = 2", "DELETE FROM t WHERE v = 3"],
      expected: (["2.0"], [], ["1.5", "9007199254740992.0"])),
    TableCase(
      name: "generated columns, and a text key",
      schema: [
        "CREATE TABLE t (g AS (v * 2), k TEXT PRIMARY KEY, v INT, s AS (v + 1) STORED)",
        "INSERT INTO t VALUES ('a', 1), ('b', 2)",
      ],
      change: ["UPDATE t SET v = 5 WHERE k = 'a'"], expected: ([], ["\"a\""], []),
      isIncremental: false),
    TableCase(
      name: "generated columns, and an integer key",
      schema: [
        "CREATE TABLE t (g AS (v * 2), k INTEGER PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 1), (2, 2)",
      ],
      change: ["UPDATE t SET v = 5 WHERE k = 2"], expected: ([], ["2"], []),
      query: LiveQuery("SELECT k, g FROM t", key: "k")),
    TableCase(
      name: "INSERT OR REPLACE that removes rows by two indexes",
      schema: [
        "CREATE TABLE t (k INTEGER PRIMARY KEY, u INT UNIQUE, w INT UNIQUE)",
        "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)",
      ],
      change: ["INSERT OR REPLACE INTO t VALUES (3, 1, 2)"], expected: ([], ["3"], ["1", "2"])),
    TableCase(
      name: "UPDATE OR REPLACE that removes a row by a generated column",
      schema: [
        "CREATE TABLE t (k INTEGER PRIMARY KEY, v INT, g AS (abs(v)) UNIQUE)",
        "INSERT INTO t (k, v) VALUES (1, 1), (2, 2), (3, 3)",
      ],
      change: [
        "UPDATE OR REPLACE t SET v = -3 WHERE k = 1", "REPLACE INTO t (k, v) VALUES (4, -2)",
      ], expected: (["4"], ["1"], ["2", "3"])),
    TableCase(
      name: "an upsert",
      schema: ["CREATE TABLE t (k INTEGER PRIMARY KEY, v)", "INSERT INTO t VALUES (1, 1)"],
      change: [
        "INSERT INTO t VALUES (1, 2), (2, 2) ON CONFLICT (k) DO UPDATE SET v = excluded.v"
      ], expected: (["2"], ["1"], [])),
    TableCase(
      name: "DELETE without WHERE, which fires no row hook",
      schema: ["CREATE TABLE t (k INTEGER PRIMARY KEY, v)", "INSERT INTO t VALUES (1, 1), (2, 2)"],
      change: ["DELETE FROM t"], expected: ([], [], ["1", "2"])),
    TableCase(
      name: "a cascade of foreign keys",
      schema: [
        "CREATE TABLE parent (id INTEGER PRIMARY KEY)",
        "CREATE TABLE t (k INTEGER PRIMARY KEY, p REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE)",
        "INSERT INTO parent VALUES (1), (2)", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 1)",
      ],
      change: ["DELETE FROM parent WHERE id = 1", "UPDATE parent SET id = 7"],
      expected: ([], ["2"], ["1", "3"])),
    TableCase(
      name: "a trigger of another table",
      schema: [
        "CREATE TABLE other (x)", "CREATE TABLE t (k INTEGER PRIMARY KEY, v)",
        "CREATE TRIGGER tr AFTER INSERT ON other BEGIN UPDATE t SET v = new.x; END",
        "INSERT INTO t VALUES (1, 1)",
      ],
      change: ["INSERT INTO other VALUES (5)"], expected: ([], ["1"], [])),
    TableCase(
      name: "two keys that change places",
      schema: ["CREATE TABLE t (k INTEGER PRIMARY KEY, v)", "INSERT INTO t VALUES (1, 1), (2, 2)"],
      change: [
        "UPDATE t SET k = 9 WHERE k = 1", "UPDATE t SET k = 1 WHERE k = 2",
        "UPDATE t SET k = 2 WHERE k = 9",
      ], expected: ([], ["1", "2"], [])),
    TableCase(
      name: "a table without a primary key, by rowid",
      schema: ["CREATE TABLE t (v)", "INSERT INTO t VALUES (1), (2)"],
      change: ["UPDATE t SET v = 3 WHERE rowid = 2", "DELETE FROM t WHERE rowid = 1"],
      expected: ([], ["2"], ["1"])),
    TableCase(
      name: "a table that has a column rowid which is not the rowid",
      schema: ["CREATE TABLE t (rowid TEXT, v)", "INSERT INTO t VALUES ('x', 1), ('x', 2)"],
      change: ["UPDATE t SET v = 3 WHERE v = 2"], expected: ([], ["2"], []), isIncremental: false),
    TableCase(
      name: "INTEGER PRIMARY KEY DESC, which is not the rowid",
      schema: [
        "CREATE TABLE t (k INTEGER PRIMARY KEY DESC, v)", "INSERT INTO t VALUES (7, 1), (8, 2)",
      ], change: ["UPDATE t SET v = 3 WHERE k = 8"], expected: ([], ["8"], [])),
    TableCase(
      name: "a null that replaces the default of a column added after its row",
      schema: [
        "CREATE TABLE t (k INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)",
        "ALTER TABLE t ADD COLUMN v INT DEFAULT 5",
      ], change: ["UPDATE t SET v = NULL"], expected: ([], ["1"], [])),
    TableCase(
      name: "a row that enters a condition, one that leaves it, and one that stays",
      schema: [
        "CREATE TABLE t (k INTEGER PRIMARY KEY, v)", "INSERT INTO t VALUES (1, 1), (2, 5), (3, 6)",
      ], change: ["UPDATE t SET v = v + CASE k WHEN 1 THEN 9 WHEN 2 THEN -4 ELSE 1 END"],
      expected: (["1"], ["3"], ["2"]),
      query: LiveQuery("SELECT k, v FROM t WHERE v > \(3)", key: "k")),
    TableCase(
      name: "names that must be quoted",
      schema: [
        "CREATE TABLE \"t \"\"é\" (\"order by\" INTEGER PRIMARY KEY, \"select\" TEXT)",
        "INSERT INTO \"t \"\"é\" VALUES (1, 'x')",
      ], change: ["UPDATE \"t \"\"é\" SET \"select\" = 'y'"], expected: ([], ["1"], []),
      query: LiveQuery(table: "T \"é"), table: "t \"é"),
    TableCase(
      name: "a join of a table with itself",
      schema: [
        "CREATE TABLE t (k INTEGER PRIMARY KEY, p INT)", "INSERT INTO t VALUES (1, NULL), (2, 1)",
      ], change: ["UPDATE t SET p = 2 WHERE k = 1"], expected: (["1"], ["2"], []),
      query: LiveQuery("SELECT a.k, b.p FROM t a, t b WHERE b.k = a.p", key: "k"),
      isIncremental: false),
  ]

  @Test("a live query follows changes of unusual tables", arguments: cases)
  func follow(_ example: TableCase) async throws {
    let database = try await folder.database()
    for sql in example.schema { try await database.run(sql) }
    let explanation = try await example.query.explanation(in: database)
    #expect(explanation.isIncremental == example.isIncremental, "\(explanation)")
    var iterator = example.query.differences(in: database).makeAsyncIterator()
    _ = try await iterator.next()
    try await database.write { transaction in
      for sql in example.change { try transaction.connection.execute(sql) }
    }
    let difference = try #require(try await iterator.next())
    example.check(difference, key: explanation.key)
  }

  @Test(
    "changes by another connection of a tracked table are followed row by row", arguments: cases)
  func followTracked(_ example: TableCase) async throws {
    let database = try await folder.database()
    for sql in example.schema { try await database.run(sql) }
    let explanation = try await example.query.explanation(in: database)
    _ = try await database.track(table: example.table)
    #expect(
      try await example.query.explanation(in: database).description.contains("whoever wrote")
        == example.isIncremental)
    var iterator = example.query.differences(in: database).makeAsyncIterator()
    _ = try await iterator.next()
    let other = try folder.otherConnection()
    try other.transaction { for sql in example.change { try other.execute(sql) } }
    let difference = try #require(try await iterator.next())
    example.check(difference, key: explanation.key)
  }

  @Test("a list of any table is followed in the order of its keys", arguments: cases)
  func followList(_ example: TableCase) async throws {
    let database = try await folder.database()
    for sql in example.schema { try await database.run(sql) }
    let explanation = try await example.query.explanation(in: database)
    #expect(explanation.isListIncremental == example.isIncremental, "\(explanation)")
    var iterator = example.query.listDifferences(in: database).makeAsyncIterator()
    let start = try #require(try await iterator.next()?.applying(to: []))
    try await database.write { transaction in
      for sql in example.change { try transaction.connection.execute(sql) }
    }
    let difference = try #require(try await iterator.next())
    let rows = try #require(difference.applying(to: start))
    let key = { (record: Record) in RecordKey(explanation.key.map { record[$0] }) }
    #expect(rows.map(key) == rows.map(key).sorted())
    var fresh = example.query.values(in: database).makeAsyncIterator()
    #expect(try await fresh.next() == rows)
    #expect(difference.moves.isEmpty)
    #expect(difference.insertions.count == example.expected.inserted.count)
    #expect(difference.deletions.count == example.expected.deleted.count)
  }
}
