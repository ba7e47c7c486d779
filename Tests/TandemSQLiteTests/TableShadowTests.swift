import TandemRecords
import TandemSQLite
import Testing

@Suite("Shadows and triggers of the application")
struct TableShadowTests {
  /// A table with a row and a shadow, and a trigger that was created before or after it.
  private func connection(_ trigger: String, isLater: Bool) throws -> DatabaseConnection {
    let connection = try DatabaseConnection(path: ":memory:")
    try connection.execute("CREATE TABLE t (id TEXT PRIMARY KEY, a, c)")
    try connection.execute("INSERT INTO t VALUES ('x', 1, 1)")
    if !isLater { try connection.execute(trigger) }
    try connection.keep(TableShadow(table: "t", columns: ["a", "c"], in: connection))
    if isLater { try connection.execute(trigger) }
    return connection
  }

  @Test(
    "The former version is that before a trigger changed the same row again",
    arguments: ["BEFORE", "AFTER"], [true, false])
  func sameRow(time: String, isLater: Bool) throws {
    let connection = try connection(
      """
      CREATE TRIGGER app \(time) UPDATE OF a ON t BEGIN
        UPDATE t SET c = new.a WHERE id IS new.id; END
      """, isLater: isLater)
    try connection.execute("UPDATE t SET a = 2")
    #expect(try connection.valueRows("SELECT * FROM tandem_shadow_t") == [["x", 1, 1, 1]])
  }

  @Test("A new row that a trigger changes at once did not exist", arguments: [true, false])
  func newRow(isLater: Bool) throws {
    let connection = try connection(
      "CREATE TRIGGER app AFTER INSERT ON t BEGIN UPDATE t SET c = 9 WHERE id IS new.id; END",
      isLater: isLater)
    try connection.execute("INSERT INTO t VALUES ('new', 2, 3)")
    #expect(
      try connection.valueRows("SELECT * FROM tandem_shadow_t") == [["new", .null, .null, 0]])
  }

  @Test("A column without a shadow changes without one, and the same row is kept once")
  func columns() throws {
    let connection = try DatabaseConnection(path: ":memory:")
    try connection.execute("CREATE TABLE t (id TEXT PRIMARY KEY, a, path)")
    try connection.execute("INSERT INTO t VALUES ('x', 1, '/'), (NULL, 2, '/')")
    let shadow = try TableShadow(table: "t", columns: ["a"], in: connection)
    try connection.keep(shadow)
    try connection.execute("UPDATE t SET path = '/new'")
    #expect(try connection.valueRows("SELECT * FROM tandem_shadow_t").isEmpty)
    try connection.execute("UPDATE t SET a = a + 1")
    try connection.execute("DELETE FROM t")
    // A row without a key cannot be identified.
    #expect(try connection.valueRows("SELECT * FROM tandem_shadow_t") == [["x", 1, 1]])
    try connection.stopKeeping("t")
    #expect(
      try connection.valueRows("SELECT name FROM sqlite_schema WHERE name LIKE 'tandem%'") == [])
  }

  @Test("A trigger created later is noticed where SQLite chooses the key")
  func order() throws {
    let connection = try DatabaseConnection(path: ":memory:")
    try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
    let shadow = try TableShadow(table: "t", columns: ["a"], in: connection)
    try connection.keep(shadow)
    #expect(try connection.isKeeping(shadow))
    try connection.execute(
      "CREATE TRIGGER app AFTER INSERT ON t BEGIN UPDATE t SET a = 9 WHERE id = new.id; END")
    #expect(try !connection.isKeeping(shadow))
    try connection.renew(shadow)
    #expect(try connection.isKeeping(shadow))
    try connection.execute("INSERT INTO t (a) VALUES (1)")
    #expect(try connection.valueRows("SELECT * FROM tandem_shadow_t") == [[1, .null, 0]])
  }
}
