import TandemRecords
import TandemSQLite
import TestRandom

/// A random schema, and random statements for it.
struct FuzzWorld {
  var random: SplitMix64
  let schema: [String]
  let keyColumns: [String]
  private let hasTextKey: Bool
  /// True if keys and values may be integers that a real cannot hold.
  private let hasLargeNumbers: Bool
  private let hasRowid: Bool
  private var columnCount = 0

  init(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let kind = Self.tables.randomElement(using: &random) ?? Self.tables[0]
    keyColumns = kind.key
    hasTextKey = kind.isText
    hasLargeNumbers = kind.isLarge
    hasRowid = !kind.sql.hasSuffix("WITHOUT ROWID")
    let reference = kind.key.count == 1 && kind.key != ["rowid"]
    var schema = [
      kind.sql,
      "CREATE TABLE b (id INTEGER PRIMARY KEY, parent \(reference ? Self.cascade(kind) : ""), w INT)",
      reference
        ? "CREATE VIEW both AS SELECT b.id AS id, b.w AS w, a.v AS v FROM b LEFT JOIN a ON a.k = b.parent"
        : "CREATE VIEW both AS SELECT id, w, (SELECT min(v) FROM a WHERE a.k = b.parent) AS v FROM b",
      """
      CREATE VIEW named AS SELECT b.id AS id, max(x.v) AS v
      FROM b JOIN (SELECT k AS parent, v FROM a) AS x USING (parent) GROUP BY b.id
      """,
      "CREATE TABLE c (id INTEGER PRIMARY KEY)",
    ]
    if Bool.random(using: &random) {
      schema.append(
        "CREATE TRIGGER after_a AFTER UPDATE OF v ON a BEGIN UPDATE b SET w = w + 1 WHERE id % 3 = 0; END"
      )
    }
    if Bool.random(using: &random) {
      schema.append(
        "CREATE TRIGGER after_b AFTER DELETE ON b BEGIN UPDATE a SET s = 'gone' WHERE v = old.w; END"
      )
    }
    if Bool.random(using: &random) { schema.append("CREATE UNIQUE INDEX unique_u ON a(u)") }
    if Bool.random(using: &random) { schema.append("CREATE INDEX index_v ON a(v)") }
    if Bool.random(using: &random) { schema.append("CREATE INDEX index_w ON b(w)") }
    if Bool.random(using: &random) { schema.append(Self.stop("stop", using: &random)) }
    self.schema = schema
    self.random = random
  }

  private static func cascade(_ kind: TableKind) -> String {
    "REFERENCES a(\(kind.key[0])) ON DELETE CASCADE ON UPDATE CASCADE"
  }

  /// A trigger that stops a statement after it has written some rows, which stay.
  private static func stop(_ name: String, using random: inout SplitMix64) -> String {
    let (table, column) = Bool.random(using: &random) ? ("a", "v") : ("b", "w")
    let event = ["INSERT", "UPDATE", "DELETE"].randomElement(using: &random) ?? ""
    let row = event == "DELETE" ? "old" : "new"
    let failure = Bool.random(using: &random) ? "IGNORE" : "FAIL, 'stopped'"
    return """
      CREATE TRIGGER IF NOT EXISTS \(name) AFTER \(event) ON \(table) WHEN \(row).\(column) = 3 \
      BEGIN SELECT RAISE(\(failure)); END
      """
  }

  struct TableKind {
    var sql: String
    var key: [String]
    var isText = false
    var isLarge = false
  }

  /// The last one keeps each number as it comes, so that `1` and `1.0` differ.
  private static let columns = "v INT, s TEXT, u"

  static let tables: [TableKind] = [
    TableKind(sql: "CREATE TABLE a (k INTEGER PRIMARY KEY, \(columns))", key: ["k"]),
    TableKind(sql: "CREATE TABLE a (v INT, k INTEGER PRIMARY KEY DESC, s TEXT, u INT)", key: ["k"]),
    TableKind(sql: "CREATE TABLE a (k TEXT PRIMARY KEY, \(columns))", key: ["k"], isText: true),
    TableKind(
      sql: "CREATE TABLE a (\(columns), k TEXT COLLATE NOCASE PRIMARY KEY)", key: ["k"],
      isText: true),
    TableKind(
      sql: "CREATE TABLE a (k TEXT COLLATE NOCASE PRIMARY KEY, \(columns)) WITHOUT ROWID",
      key: ["k"],
      isText: true),
    TableKind(sql: "CREATE TABLE a (k REAL PRIMARY KEY, \(columns))", key: ["k"]),
    TableKind(sql: "CREATE TABLE a (k PRIMARY KEY, \(columns))", key: ["k"], isText: true),
    TableKind(sql: "CREATE TABLE a (k INT, \(columns), PRIMARY KEY (k, s))", key: ["s", "k"]),
    TableKind(
      sql: "CREATE TABLE a (\(columns), k INT, PRIMARY KEY (s, k)) WITHOUT ROWID", key: ["k", "s"]),
    TableKind(sql: "CREATE TABLE a (k INT, \(columns))", key: ["rowid"]),
    TableKind(
      sql:
        "CREATE TABLE a (g INT AS (v * 2), k INTEGER PRIMARY KEY, \(columns), h AS (u + 1) STORED)",
      key: ["k"]),
    TableKind(
      sql: "CREATE TABLE a (g INT AS (v * 2), k TEXT PRIMARY KEY, \(columns))", key: ["k"],
      isText: true),
    TableKind(
      sql: "CREATE TABLE a (k INTEGER PRIMARY KEY, v INT, s TEXT, u INT NOT NULL DEFAULT 2 UNIQUE)",
      key: ["k"]),
    TableKind(
      sql:
        "CREATE TABLE a (k TEXT PRIMARY KEY, v INT, s TEXT, u INT NOT NULL DEFAULT 2, g AS (u + 1) UNIQUE)",
      key: ["k"], isText: true),
    TableKind(
      sql: "CREATE TABLE a (k INTEGER PRIMARY KEY, \(columns), g AS (k % 7) UNIQUE)", key: ["k"]),
    // Tables without rowid store the key first, which SQLite's hook confuses with the declaration.
    TableKind(
      sql: "CREATE TABLE a (r REAL, k INTEGER PRIMARY KEY, \(columns)) WITHOUT ROWID", key: ["k"],
      isLarge: true),
    TableKind(
      sql: "CREATE TABLE a (r REAL, q REAL, \(columns), k, PRIMARY KEY (s, k)) WITHOUT ROWID",
      key: ["k", "s"], isLarge: true),
    TableKind(
      sql: "CREATE TABLE a (u, r REAL, v INT, s TEXT, k REAL PRIMARY KEY) WITHOUT ROWID",
      key: ["k"], isLarge: true),
  ]

  /// Queries over the schema, with their keys.
  var queries: [(sql: String, key: [String])] {
    let key = keyColumns.joined(separator: ", ")
    let rowid = keyColumns == ["rowid"] ? "rowid, " : ""
    return [
      ("SELECT \(rowid)* FROM a", keyColumns),
      ("SELECT \(key), v + 1 AS w FROM a WHERE v > 0 ORDER BY v DESC", keyColumns),
      ("SELECT \(key), upper(s) AS t FROM a WHERE s LIKE 'g%' OR u = 2;", keyColumns),
      ("SELECT id, w FROM b", ["id"]),
      ("SELECT id, v, w FROM both", ["id"]),
      ("SELECT id, v FROM named", ["id"]),
      (
        "SELECT v AS kind, count(*) AS total, sum(u) AS sum FROM a WHERE v NOT NULL GROUP BY v",
        ["kind"]
      ),
      ("SELECT id, (SELECT max(v) FROM a) AS top FROM b", ["id"]),
      ("SELECT id, w FROM b ORDER BY w, id LIMIT 3", ["id"]),
      ("SELECT id, w FROM b ORDER BY w DESC NULLS FIRST, id LIMIT 2", ["id"]),
      ("SELECT \(key), u FROM a WHERE v IN (SELECT k FROM a)", keyColumns),
      ("SELECT id, parent FROM b WHERE w IN (SELECT id FROM b)", ["id"]),
      ("SELECT id FROM b WHERE id NOT IN (SELECT w FROM b)", ["id"]),
      ("SELECT id FROM c WHERE id + 1 IN c", ["id"]),
    ]
  }

  // MARK: Statements

  private mutating func number(_ range: ClosedRange<Int>) -> Int {
    .random(in: range, using: &random)
  }

  private mutating func keyValue() -> String {
    let number = number(0...9)
    if hasLargeNumbers, number > 5 { return "\((1 << 53) + number - 6)" }
    guard hasTextKey else {
      return number == 9 && Bool.random(using: &random) ? "2.5" : "\(number)"
    }
    return ["'a'", "'A'", "'b'", "'B'", "'é'", "'e\u{301}'", "''", "'c'", "'9'", "'10'"][number]
  }

  private mutating func value() -> String {
    ["0", "1", "2", "3", "-1", "NULL"][number(0...5)]
  }

  /// A value in one of the forms that it may have.
  private mutating func form() -> String {
    if hasLargeNumbers, Bool.random(using: &random) {
      return ["9007199254740992.0", "9007199254740993", "9007199254740992"][number(0...2)]
    }
    return ["0", "1", "1.0", "2", "2.0", "NULL"][number(0...5)]
  }

  private mutating func text() -> String {
    ["'x'", "'y'", "'gone'", "'X'", "'x '", "'Gone'"][number(0...5)]
  }

  private mutating func insertion(_ conflict: String, rowCount: Int = 1) -> String {
    let rows = (0..<rowCount).map { _ in "(\(keyValue()), \(value()), \(text()), \(form()))" }
    return "INSERT \(conflict) INTO a (k, v, s, u) VALUES \(rows.joined(separator: ", "))"
  }

  /// What makes a row take the place of another one. With a unique column instead, SQLite 3.40 itself
  /// loses entries of indexes, if what the removal cascades to changes the same table.
  private mutating func replacement() -> String {
    hasRowid && number(0...3) == 0 ? "rowid = \(number(0...9))" : "k = \(keyValue())"
  }

  private mutating func condition() -> String {
    switch number(0...3) {
    case 0: return "k = \(keyValue())"
    case 1: return "v = \(value())"
    case 2: return "k > \(keyValue())"
    default: return "s = \(text())"
    }
  }

  /// One random statement that changes rows.
  mutating func statement() -> String {
    switch number(0...18) {
    case 0, 1, 2: return insertion("")
    case 3: return insertion("OR REPLACE")
    case 4: return insertion("OR IGNORE")
    case 5: return insertion("") + " ON CONFLICT DO UPDATE SET v = excluded.v, s = excluded.s"
    case 6: return "UPDATE a SET v = \(value()) WHERE \(condition())"
    case 7: return "UPDATE a SET u = \(form()) WHERE \(condition())"
    case 8: return "UPDATE OR REPLACE a SET \(replacement()) WHERE \(condition())"
    case 9: return "UPDATE OR IGNORE a SET k = \(keyValue()), u = \(form()) WHERE \(condition())"
    case 10: return "DELETE FROM a WHERE \(condition())"
    case 11: return number(0...5) == 0 ? "DELETE FROM a" : "UPDATE a SET s = \(text()), u = NULL"
    case 12:
      return "INSERT OR REPLACE INTO b VALUES (\(number(0...9)), \(keyValue()), \(number(0...3)))"
    case 13:
      return "UPDATE b SET w = \(value()), id = id + \(number(0...1)) WHERE id > \(number(0...9))"
    case 14:
      return number(0...5) == 0 ? "DELETE FROM b" : "DELETE FROM b WHERE id = \(number(0...9))"
    case 15: return "UPDATE b SET parent = \(keyValue()) WHERE id < \(number(0...9))"
    case 16: return "INSERT OR IGNORE INTO c VALUES (\(number(0...9)))"
    case 17: return "DELETE FROM c WHERE id = \(number(0...9))"
    default: return insertion("OR FAIL", rowCount: 3)
    }
  }

  /// One random change of the schema; some columns have defaults that old rows only imply.
  mutating func schemaChange() -> String {
    switch number(0...5) {
    case 0 where columnCount < 3:
      columnCount += 1
      return "ALTER TABLE a ADD COLUMN c\(columnCount) INT DEFAULT \(columnCount)"
    case 1: return "CREATE INDEX IF NOT EXISTS index_s ON a(s)"
    case 2: return "DROP INDEX IF EXISTS index_s"
    case 3: return Self.stop("stop_later", using: &random)
    case 4: return "DROP TRIGGER IF EXISTS stop_later"
    default: return columnCount > 0 ? "UPDATE a SET c1 = NULL WHERE v = 1" : "REINDEX"
    }
  }
}
