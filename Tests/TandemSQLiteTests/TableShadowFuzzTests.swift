import Foundation
import TandemRecords
import TandemSQLite
import TestRandom
import Testing

/// Random statements on random tables: after each of them, the shadow holds the former version of
/// every row that differs from it, and nothing that is not a former version.
///
/// `TANDEM_FUZZ_SEED` is the first seed, `TANDEM_FUZZ_COUNT` the number of seeds. A seed runs 100
/// statements.
@Suite("Shadows under random statements", .timeLimit(.minutes(30)))
struct TableShadowFuzzTests {
  @Test("keep exactly the former versions of all rows that changed")
  func random() throws {
    let first = number("TANDEM_FUZZ_SEED") ?? 1
    var succeeded = 0
    for seed in first..<first + (number("TANDEM_FUZZ_COUNT") ?? 100) {
      succeeded += try ShadowWorld(seed: seed).run(statementCount: 100)
    }
    // Statements that fail prove little.
    #expect(succeeded > 0)
  }

  private func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }
}

extension Result<[[String]], any Error> {
  /// True if another row has a value that must be unique.
  fileprivate var isAboutUniqueness: Bool {
    guard case .failure(let error as DatabaseError) = self else { return false }
    return [2_067, 1_555, 2_579].contains(error.code.rawValue)
  }
}

/// A table with a shadow, the same table without one, and the rows at the time of the last
/// synchronization.
private final class ShadowWorld {
  /// A kind of table.
  struct Shape {
    var creation: [String]
    var key: [String]
    var hasRowidColumn = true
    /// False if SQLite chooses the key, so that triggers that are created later are out of order.
    var allowsLaterTriggers = true
  }

  private static let columns = ["a", "b", "c"]

  static let shapes: [Shape] = [
    Shape(creation: ["CREATE TABLE t (id TEXT PRIMARY KEY, a, b UNIQUE, c)"], key: ["id"]),
    Shape(
      creation: ["CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE, b, c)"], key: ["id"],
      allowsLaterTriggers: false),
    Shape(
      creation: [
        "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a, b, c)",
        "CREATE UNIQUE INDEX i ON t(a) WHERE b > 1",
      ], key: ["id"], allowsLaterTriggers: false),
    Shape(
      creation: [
        "CREATE TABLE t (id TEXT PRIMARY KEY, a, b, c) WITHOUT ROWID",
        "CREATE UNIQUE INDEX i ON t(a, b)",
      ], key: ["id"], hasRowidColumn: false),
    Shape(
      creation: [
        "CREATE TABLE t (k, id, a, b, c, PRIMARY KEY (id, k))",
        "CREATE UNIQUE INDEX i ON t(c) WHERE a NOT NULL",
      ], key: ["id", "k"]),
    Shape(
      creation: [
        "CREATE TABLE t (id TEXT COLLATE NOCASE PRIMARY KEY, a COLLATE NOCASE UNIQUE, b REAL, c)"
      ], key: ["id"]),
    Shape(
      creation: [
        "CREATE TABLE t (id TEXT PRIMARY KEY, a, b, c, g AS (a || b) STORED, h AS (c || 'x') UNIQUE)",
        "CREATE UNIQUE INDEX i ON t(g)",
      ], key: ["id"]),
    Shape(
      creation: ["CREATE TABLE t (id TEXT NOT NULL DEFAULT 'b' PRIMARY KEY, a, b, c UNIQUE)"],
      key: ["id"], allowsLaterTriggers: false),
    Shape(
      creation: [
        """
        CREATE TABLE t (id TEXT PRIMARY KEY, a REFERENCES t(id) ON DELETE CASCADE
          ON UPDATE CASCADE, b REFERENCES t(id) ON DELETE SET NULL, c UNIQUE)
        """
      ], key: ["id"]),
    Shape(
      creation: [
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, a REFERENCES t(id) ON DELETE CASCADE, b,
          c UNIQUE ON CONFLICT REPLACE)
        """
      ], key: ["id"], allowsLaterTriggers: false),
    Shape(
      creation: [
        "CREATE TABLE t (id INT PRIMARY KEY ON CONFLICT REPLACE, a, b NOT NULL, c UNIQUE)"
      ],
      key: ["id"]),
  ]

  /// Triggers of the application, some of which change the very row that fires them.
  static let triggers = [
    "CREATE TRIGGER app AFTER UPDATE OF a ON t BEGIN UPDATE t SET c = new.a WHERE id IS new.id; END",
    "CREATE TRIGGER app BEFORE UPDATE OF b ON t BEGIN UPDATE t SET a = 'y' WHERE id IS old.id; END",
    "CREATE TRIGGER app AFTER INSERT ON t BEGIN UPDATE t SET a = 'x' WHERE id IS new.id; END",
    "CREATE TRIGGER app AFTER INSERT ON t BEGIN DELETE FROM t WHERE b IS new.a; END",
    "CREATE TRIGGER app BEFORE DELETE ON t BEGIN UPDATE t SET b = 7 WHERE id IS old.a; END",
    "CREATE TRIGGER app AFTER DELETE ON t BEGIN INSERT OR IGNORE INTO t (id, b) VALUES (9, old.b); END",
    "CREATE TRIGGER app BEFORE INSERT ON t WHEN new.a = 2 BEGIN SELECT RAISE(IGNORE); END",
  ]

  private let seed: UInt64
  private var random: SplitMix64
  private let shape: Shape
  private let connection: DatabaseConnection
  private let twin: DatabaseConnection
  private var former: [[FieldValue]: [FieldValue]] = [:]
  private var depth = 0
  private var statements: [String] = []

  init(seed: UInt64) throws {
    self.seed = seed
    random = SplitMix64(seed: seed)
    shape = ShadowWorld.shapes.randomElement(using: &random)!
    connection = try DatabaseConnection(path: ":memory:")
    twin = try DatabaseConnection(path: ":memory:")
    let trigger =
      Bool.random(using: &random) ? nil : ShadowWorld.triggers.randomElement(using: &random)
    let isLater = shape.allowsLaterTriggers && Bool.random(using: &random)
    for statement in shape.creation { try runOnBoth(statement) }
    if let trigger, !isLater { try runOnBoth(trigger) }
    let shadow = try TableShadow(table: "t", columns: ShadowWorld.columns, in: connection)
    #expect(shadow.blindSpots == [])
    try connection.keep(shadow)
    #expect(try connection.isKeeping(shadow))
    if let trigger, isLater { try runOnBoth(trigger) }
    #expect(try connection.isKeeping(shadow))
    if Bool.random(using: &random) {
      try runOnBoth("PRAGMA recursive_triggers=ON")
      // Then SQLite checks uniqueness again after REPLACE, if there is any trigger on deletion.
      try twin.execute("CREATE TRIGGER other BEFORE DELETE ON t BEGIN SELECT 1; END")
    }
    if Bool.random(using: &random) { try runOnBoth("PRAGMA foreign_keys=OFF") }
  }

  private func runOnBoth(_ sql: String) throws {
    try connection.execute(sql)
    try twin.execute(sql)
    statements.append(sql)
  }

  /// Returns the number of statements that succeeded.
  func run(statementCount: Int) throws -> Int {
    var succeeded = 0
    for offset in 0..<statementCount {
      let sql = statement()
      statements.append(sql)
      let results = [connection, twin].map { connection in
        Result { try connection.valueRows(sql).map { $0.map(exact) } }
      }
      switch (results[0], results[1]) {
      case (.success(let one), .success(let other)):
        succeeded += 1
        guard one == other else { return fail("other rows are returned") }
      case (.failure(let error), .failure):
        // After a wrong type, SQLite leaves the first rows of a statement with OR REPLACE in place,
        // or undoes them if the table has triggers.
        // And one with OR FAIL leaves the rows before the failure, in an order that SQLite chooses.
        let isMismatch = (error as? DatabaseError)?.code.primary == .mismatch
        if isMismatch || sql.contains(" OR FAIL ") { return succeeded }
      default:
        // The order of updates decides if two rows have the same value on the way. SQLite chooses
        // it, and may choose another one for a table with triggers.
        if sql.hasPrefix("UPDATE"), results.contains(where: \.isAboutUniqueness) {
          return succeeded
        }
        return fail("only one statement fails: \(results)")
      }
      // SQLite promises nothing for a statement that failed, or that inserted nothing.
      if case .success = results[0],
        !["SAVEPOINT", "ROLLBACK", "RELEASE"].contains(where: sql.hasPrefix)
      {
        let changes = try [connection, twin].map { try $0.valueRows("SELECT changes()") }
        guard changes[0] == changes[1] || sql.hasPrefix("UPDATE OR IGNORE") else {
          return fail("changes(): \(changes)")
        }
        if sql.hasPrefix("INSERT") || sql.hasPrefix("REPLACE"), changes[0] != [[0]] {
          let rowids = try [connection, twin].map { try $0.valueRows("SELECT last_insert_rowid()") }
          guard rowids[0] == rowids[1] else { return fail("last_insert_rowid(): \(rowids)") }
        }
      }
      let mark = connection.isInTransaction
      guard mark == twin.isInTransaction else { return fail("only one is in a transaction") }
      if !mark { depth = 0 }
      if sql.hasPrefix("UPDATE OR IGNORE"), try rows(of: connection) != rows(of: twin) {
        // Again, the order decides which of two rows gets the value.
        return succeeded
      }
      guard try hasExactShadow() else { return -1 }
      if offset % 10 == 9, !mark { try synchronize() }
    }
    guard try connection.valueRows("PRAGMA integrity_check") == [[.text("ok")]] else {
      return fail("the file is damaged")
    }
    return succeeded
  }

  private func fail(_ message: String) -> Int {
    Issue.record(
      """
      \(message), after:
      \((statements.prefix(6) + statements.suffix(30)).joined(separator: ";\n"));
      repeat with: TANDEM_FUZZ_SEED=\(seed) TANDEM_FUZZ_COUNT=1 swift test --filter TableShadowFuzzTests
      """)
    return -1
  }

  /// Empties the shadow: from now on, the rows as they are are the former ones.
  private func synchronize() throws {
    statements.append("DELETE FROM tandem_shadow_t")
    try connection.execute("DELETE FROM tandem_shadow_t")
    former = try rows(of: connection)
  }

  private func rows(of connection: DatabaseConnection) throws -> [[FieldValue]: [FieldValue]] {
    let names = (shape.key + ShadowWorld.columns).joined(separator: ", ")
    let rows = try connection.valueRows("SELECT \(names) FROM t")
    return Dictionary(
      rows.filter { !$0.prefix(shape.key.count).contains(where: \.isNull) }.map {
        (Array($0.prefix(shape.key.count)), $0)
      }, uniquingKeysWith: { first, _ in first })
  }

  private func hasExactShadow() throws -> Bool {
    let current = try rows(of: connection)
    guard current.mapValues({ $0.map(exact) }) == (try rows(of: twin)).mapValues({ $0.map(exact) })
    else { return fail("the rows are not those without a shadow") > 0 }
    let names = (shape.key + ShadowWorld.columns + [TableShadow.existed]).joined(separator: ", ")
    var kept: Set<[FieldValue]> = []
    for row in try connection.valueRows("SELECT \(names) FROM tandem_shadow_t") {
      let key = Array(row.prefix(shape.key.count))
      kept.insert(key)
      let expected = former[key].map { $0.map(exact) + [exact(1)] }
      guard expected.map({ $0 == row.map(exact) }) ?? (row.last == .integer(0)) else {
        return fail("the shadow has \(row), the former row is \(expected as Any)") > 0
      }
    }
    for key in Set(former.keys).union(current.keys) where !kept.contains(key) {
      guard former[key]?.map(exact) == current[key]?.map(exact) else {
        return fail("the shadow lacks \(key)") > 0
      }
    }
    return true
  }

  // MARK: - Statements

  private func pick<Element>(_ choices: [Element]) -> Element {
    choices.randomElement(using: &random)!
  }

  private func value() -> String {
    pick(["1", "2", "3", "'a'", "'A'", "'b'", "1.0", "'1'", "NULL", "x'01'", "0", "-1"])
  }

  private func column() -> String { pick(ShadowWorld.columns) }

  private func conflictClause() -> String {
    pick(["", "", " OR REPLACE", " OR REPLACE", " OR IGNORE", " OR FAIL", " OR ABORT"])
  }

  private func condition() -> String {
    let name = Bool.random(using: &random) ? pick(shape.key) : column()
    switch Int.random(in: 0..<5, using: &random) {
    case 0: return ""
    case 1: return " WHERE \(name) IS \(value())"
    case 2: return " WHERE \(name) > \(value())"
    default: return " WHERE \(name) = \(value())"
    }
  }

  private func assignments() -> String {
    var names = ShadowWorld.columns + shape.key
    if shape.hasRowidColumn { names += ["rowid", "_rowid_"] }
    return (0..<Int.random(in: 1...2, using: &random)).map { _ in
      let name = pick(names)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: return "\(name) = \(column())"
      case 1: return "\(name) = \(pick(shape.key))"
      default: return "\(name) = \(value())"
      }
    }.joined(separator: ", ")
  }

  private func returning() -> String {
    Int.random(in: 0..<5, using: &random) == 0 ? " RETURNING *" : ""
  }

  private func insertion() -> String {
    let names = shape.key + ShadowWorld.columns
    let list = Int.random(in: 0..<6, using: &random) == 0 ? ShadowWorld.columns : names
    let rows = (0..<Int.random(in: 1...2, using: &random)).map { _ in
      "(\(list.map { _ in value() }.joined(separator: ", ")))"
    }.joined(separator: ", ")
    let verb = pick(["INSERT\(conflictClause())", "REPLACE", "INSERT"])
    return "\(verb) INTO t (\(list.joined(separator: ", "))) VALUES \(rows)"
  }

  private func statement() -> String {
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<6: return insertion() + returning()
    case 6..<8:
      let target = pick(["", "(\(shape.key.joined(separator: ", ")))"])
      let action = target.isEmpty ? "NOTHING" : pick(["NOTHING", "UPDATE SET \(assignments())"])
      return insertion() + " ON CONFLICT \(target) DO \(action)" + returning()
    case 8..<14:
      return "UPDATE\(conflictClause()) t SET \(assignments())\(condition())" + returning()
    case 14:
      return """
        UPDATE\(conflictClause()) t SET \(column()) = u.v
        FROM (SELECT \(column()) AS w, \(value()) AS v FROM t) AS u WHERE t.\(column()) = u.w
        """
    case 15..<17: return "DELETE FROM t\(condition())" + returning()
    case 17:
      let names = (shape.key + ShadowWorld.columns).joined(separator: ", ")
      let sources = (shape.key + ShadowWorld.columns).shuffled(using: &random)
      return """
        INSERT\(conflictClause()) INTO t (\(names)) \
        SELECT \(sources.joined(separator: ", ")) FROM t\(condition())
        """
    default: return savepoint()
    }
  }

  private func savepoint() -> String {
    if depth == 0 || depth < 3 && Bool.random(using: &random) {
      depth += 1
      return "SAVEPOINT s"
    }
    if Bool.random(using: &random) { return "ROLLBACK TO s" }
    depth -= 1
    return "RELEASE s"
  }
}
