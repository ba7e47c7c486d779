import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import Testing

@Suite("Values that a column would alter")
struct AlteredValueTests {
  let space: TestSpace

  init() throws { space = try TestSpace() }

  private func pair(_ second: String, strict: String = "") throws -> (TestReplica, TestReplica) {
    let types = ["zip TEXT, n INTEGER, name TEXT", second]
    let replicas = try types.enumerated().map { offset, columns in
      try TestReplica(
        seed: UInt64(offset) + 1, ["CREATE TABLE t (id TEXT PRIMARY KEY, \(columns)) \(strict)"],
        tables: [AttachedTable("t")], space: space)
    }
    return (replicas[0], replicas[1])
  }

  private let values = "SELECT zip, n, name FROM t ORDER BY id"

  @Test(
    "An edit beside one of its unit loses: what the column shows is no value of the space",
    arguments: [
      (.field, ", CHECK (zip < name)", "5", "02"),
      // Of a record that is merged as a whole, no edit would leave the file any more.
      (.record, "", "02", nil),
    ] as [(ConflictGranularity, String, FieldValue, FieldValue?)])
  func unit(
    _ granularity: ConflictGranularity, check: String, name: FieldValue, local: FieldValue?
  ) throws {
    func file(_ seed: UInt64, _ columns: String) throws -> TestReplica {
      try TestReplica(
        seed: seed, ["CREATE TABLE t (id TEXT PRIMARY KEY, \(columns))"],
        tables: [AttachedTable("t", granularity: granularity)], space: space)
    }
    let (a, b) = try (
      file(1, "zip TEXT, name TEXT\(check)"), file(2, "zip INTEGER, name TEXT")
    )
    try a.execute("INSERT INTO t VALUES ('m', '1', '5')")
    try converge([a, b], space)
    try a.execute("UPDATE t SET zip = '04'")
    try converge([a, b], space)
    try b.execute("UPDATE t SET name = '02'")
    try converge([b, a], space)
    #expect(try a.rows("SELECT zip, name FROM t") == [["04", name]])
    #expect(try b.conflicts().first?.local?["name"] == local)
  }

  @Test("They are not written but noted, and the row keeps what it has", arguments: ["", "STRICT"])
  func noted(strict: String) throws {
    let (a, b) = try pair("zip INTEGER, n REAL, name TEXT", strict: strict)
    try a.execute("INSERT INTO t VALUES ('1', '98765', 1, 'A'), ('2', '01234', 2, 'B')")
    try converge([a, b], space)
    // The first record only changes its types.
    #expect(try b.rows(values) == [[98765, 1.0, "A"], [.null, 2.0, "B"]])
    let note = try #require(try b.rejected().first)
    #expect(try b.rejected().count == 1 && note.kind == .record && note.key.id == ["2"])
    #expect(note.reason.contains("the column zip (INTEGER) would store \"01234\" as 1234"))
    #expect(note.content?["zip"] == "01234")
    let status = try b.read { try $0.status() }
    #expect(status.state == .rejected && status.rejectedCount == 1)
    try a.execute("UPDATE t SET zip = '0815', n = 9007199254740993, name = 'C' WHERE id = '1'")
    try converge([a, b], space)
    #expect(try b.rows(values) == [[98765, 1.0, "C"], [.null, 2.0, "B"]])
    #expect(try b.rejected().count == 2)
    // Edits of other fields are sent, and the note stays.
    try b.execute("UPDATE t SET name = name || '!'")
    try converge([a, b], space)
    #expect(
      try a.rows(values) == [["0815", 9_007_199_254_740_993, "C!"], ["01234", 2, "B!"]])
    #expect(try b.rejected().count == 2)
    // A value that the column keeps ends it.
    try a.execute("UPDATE t SET zip = '7', n = 7")
    try converge([a, b], space)
    #expect(try b.rows(values) == [[7, 7.0, "C!"], [7, 7.0, "B!"]])
    #expect(try b.rejected().isEmpty)
  }

  @Test("A row that needs the value is kept beside its table")
  func required() throws {
    let (a, b) = try pair("zip INTEGER NOT NULL, n INTEGER, name TEXT")
    try a.execute("INSERT INTO t VALUES ('1', '01234', 1, 'A')")
    try converge([a, b], space)
    #expect(try b.rows(values).isEmpty)
    #expect(try b.rejected().map(\.kind) == [.record])
    try a.execute("UPDATE t SET zip = '1'")
    try converge([a, b], space)
    #expect(try b.rows(values) == [[1, 1, "A"]])
    #expect(try b.rejected().isEmpty)
  }

  @Test("Another value that replaces it here is a conflict")
  func replaced() throws {
    let (a, b) = try pair("zip INTEGER, n INTEGER, name TEXT")
    try a.execute("INSERT INTO t VALUES ('1', '1', 1, 'A')")
    try converge([a, b], space)
    try a.execute("UPDATE t SET zip = '01234'")
    try converge([a, b], space)
    #expect(try b.rows(values) == [[1, 1, "A"]])
    try b.execute("UPDATE t SET zip = 5")
    try converge([a, b], space)
    #expect(try a.rows(values) == [["5", 1, "A"]])
    #expect(try b.rejected().isEmpty)
    let conflict = try #require(try b.conflicts().last)
    #expect(conflict.remote?["zip"] == "01234")
  }

  @Test("No resolution of a conflict writes it")
  func resolution() throws {
    let (a, b) = try pair("zip INTEGER, n INTEGER, name TEXT")
    try a.execute("INSERT INTO t VALUES ('1', '1', 1, 'A')")
    try converge([a, b], space)
    try a.execute("UPDATE t SET zip = '2'")
    try b.execute("UPDATE t SET zip = 3")
    try converge([a, b], space)
    let conflict = try #require(try b.conflicts(includingResolved: false).first)
    let error = #expect(throws: ReplicaError.self) {
      try b.write { try $0.resolve(.one(conflict.id), by: .fields(["zip": "01234"])) }
    }
    #expect(error?.code == .constraint && error?.message.contains("zip (INTEGER)") == true)
    #expect(try b.rows(values) == [[2, 1, "A"]])
  }

  @Test("No exchange of unique values writes it")
  func exchange() throws {
    let (a, b) = try pair("zip INTEGER, n INTEGER, name TEXT UNIQUE")
    try a.execute("INSERT INTO t VALUES ('1', '1', 1, 'A'), ('2', '2', 2, 'B'), ('3', '3', 3, 'C')")
    try converge([a, b], space)
    try a.execute(
      "UPDATE t SET zip = '0' || zip, name = CASE name WHEN 'A' THEN 'B' WHEN 'B' THEN 'C' ELSE 'A' END"
    )
    try b.execute("UPDATE t SET zip = 7, n = 8 WHERE id = '2'")
    try converge([a, b], space)
    for row in try b.rows("SELECT id, zip FROM t") {
      let known = try a.rows("SELECT id, zip FROM t WHERE id = '\(row[0].textValue ?? "")'")
      let isNoted = try b.rejected().contains { $0.key.id == [row[0]] }
      #expect(isNoted || known == [[row[0], .text("\(row[1])")]], "\(row) \(known)")
    }
  }

  @Test("The record gets its value when the column has another type")
  func corrected() throws {
    let (a, b) = try pair("zip INTEGER, n INTEGER, name TEXT")
    try a.execute("INSERT INTO t VALUES ('1', '01234', 1, 'A')")
    try converge([a, b], space)
    let note = try #require(try b.rejected().first)
    #expect(throws: ReplicaError.self) { try b.write { try $0.retry(.one(note.id)) } }
    try b.write { try $0.beginSchemaChange() }
    for statement in [
      "CREATE TABLE new (id TEXT PRIMARY KEY, zip TEXT, n INTEGER, name TEXT)",
      "INSERT INTO new SELECT * FROM t", "DROP TABLE t", "ALTER TABLE new RENAME TO t",
    ] {
      try b.execute(statement)
    }
    try b.write { try $0.endSchemaChange() }
    try converge([a, b], space)
    #expect(try b.rows(values) == [["01234", 1, "A"]])
    #expect(try b.rejected().isEmpty)
  }
}
