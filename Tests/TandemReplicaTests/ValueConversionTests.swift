import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync
import Testing

/// A column of a table, as far as it converts values.
struct ColumnKind: CustomTestStringConvertible, Sendable {
  let type: String
  let strict: String

  static let all =
    ["TEXT", "INTEGER", "REAL", "NUMERIC", ""].map { Self(type: $0, strict: "") }
    + ["TEXT", "INTEGER", "REAL", "BLOB", "ANY"].map { Self(type: $0, strict: "STRICT") }

  var testDescription: String { "\(type) \(strict)" }
  var schema: String {
    "CREATE TABLE t (id TEXT PRIMARY KEY, v \(type), name TEXT) \(strict)"
  }
}

/// Every value that a column may alter, and some that none does.
private let values: [FieldValue] = [
  .null, 0, 12, -7, 9_007_199_254_740_993, .integer(.max), .integer(.min), 0.0, -0.0, 0.5, 12.0,
  1e300,
  0.300_000_000_000_000_04, 9_007_199_254_740_992.0, 1e15, .real(.infinity), "a", "", "12", "01234",
  "1.0",
  "1e2", " 7", "0.5", "-0.0", "9007199254740993", "1e400", "Inf", .blob([]), .blob([0x31, 0x32]),
]

@Suite("Values in columns of other types")
struct ValueConversionTests {
  let space: TestSpace

  init() throws { space = try TestSpace() }

  private func replica(_ kind: ColumnKind, seed: UInt64) throws -> TestReplica {
    try TestReplica(seed: seed, [kind.schema], tables: [AttachedTable("t")], space: space)
  }

  /// The fate of a value in a column.
  private enum Fate {
    case stored(FieldValue)
    case altered
    case refused
  }

  /// The fate of each value by SQLite itself. A value is altered if what the column makes of it does not lead back.
  private func fates(_ kind: ColumnKind) throws -> [Fate] {
    let probe = try Database(path: ":memory:")
    return try probe.write { transaction in
      let connection = transaction.connection
      try connection.execute(kind.schema)
      return try values.enumerated().map { id, value in
        do {
          try connection.run(
            "INSERT INTO t (id, v) VALUES (?, ?)", [.text("\(id)"), value])
        } catch let error as DatabaseError where error.code.primary == .constraint {
          return .refused
        }
        let row = try connection.rows(
          """
          SELECT v, typeof(v) = typeof(?1) AND v IS ?1 OR CASE typeof(?1) WHEN 'integer' THEN CAST(v AS INTEGER) IS ?1
              AND typeof(v) <> 'real' OR typeof(v) = 'real' AND v = ?1 WHEN 'real' THEN CAST(v AS REAL) IS ?1
              WHEN 'text' THEN CAST(v AS TEXT) IS ?1 END
            FROM t WHERE id = ?2
          """, [value, .text("\(id)")])[0]
        return row[1] == 1 ? .stored(row[0]) : .altered
      }
    }
  }

  /// The values of a column by the numbers of the rows.
  private func column(_ replica: TestReplica, _ name: String) throws -> [String: FieldValue] {
    try Dictionary(
      uniqueKeysWithValues: replica.rows("SELECT id, \(name) FROM t").map {
        ($0[0].textValue ?? "", $0[1])
      })
  }

  private func insert(_ replica: TestReplica) throws {
    try replica.database.write { transaction in
      for (id, value) in values.enumerated() {
        do {
          try transaction.connection.run(
            "INSERT INTO t VALUES (?, ?, 'n')", [.text("\(id)"), value])
        } catch let error as DatabaseError where error.code.primary == .constraint {}
      }
    }
  }

  private func noted(_ replica: TestReplica) throws -> Set<String> {
    let rejections = try replica.rejected()
    let status = try replica.read { try $0.status() }
    #expect(status.rejectedCount == rejections.count)
    #expect((status.state == .upToDate) == (rejections.isEmpty && status.conflictCount == 0))
    return Set(rejections.map { $0.key.id[0].textValue ?? "" })
  }

  private func expectSpace(
    _ expected: [String: FieldValue], _ location: SourceLocation = #_sourceLocation
  ) throws {
    let records = try space.records()
    #expect(records.count == expected.count, sourceLocation: location)
    for (id, value) in expected {
      let known = records[SyncKey(table: "t", id: [.text(id)])]?["v"] ?? "missing"
      #expect(known.hasSameStorage(as: value), "\(id): \(known)", sourceLocation: location)
    }
  }

  @Test(
    "A value that a column would alter is not written, and the space keeps it, whatever else happens to the row",
    arguments: ColumnKind.all)
  func received(_ kind: ColumnKind) throws {
    let fates = try fates(kind)
    let a = try replica(ColumnKind(type: "", strict: ""), seed: 1)
    let b = try replica(kind, seed: 2)
    try insert(a)
    try converge([a, b], space)
    let whole = try column(a, "v")
    var lost: Set<String> = []
    func expectRows(afterUpdate isUpdated: Bool) throws {
      let rows = try column(b, "v")
      for (id, fate) in fates.enumerated() {
        let (row, value) = (rows["\(id)"], values[id])
        switch fate {
        case .stored(let stored):
          #expect(row?.hasSameStorage(as: stored) == true, "\(value): \(String(describing: row))")
        case .altered:
          #expect(row?.isNull == true, "\(value): \(String(describing: row))")
          lost.insert("\(id)")
        case .refused:
          // The row has its other values if Tandem knows before that the column would alter this one.
          if isUpdated || row != nil { #expect(row?.isNull == true, "\(value)") }
          lost.insert("\(id)")
        }
      }
      #expect(try noted(b) == lost)
      try expectSpace(whole)
      #expect(try b.write { try $0.verify() })
      #expect(try noted(a).isEmpty)
    }
    try expectRows(afterUpdate: false)
    // Edits of another column are sent, and leave the value as it is.
    let edited = try column(b, "name").keys
    try b.execute("UPDATE t SET name = 'edited'")
    try converge([a, b], space)
    #expect(try Set(column(a, "name").filter { $0.value == "edited" }.keys) == Set(edited))
    try expectRows(afterUpdate: false)
    // A later version that the column keeps ends it.
    try a.execute("UPDATE t SET v = NULL")
    try converge([a, b], space)
    #expect(try column(b, "v").count == values.count && noted(b).isEmpty)
    // The same by updates.
    try a.database.write { transaction in
      for (id, value) in values.enumerated() {
        try transaction.connection.run("UPDATE t SET v = ? WHERE id = ?", [value, .text("\(id)")])
      }
    }
    try converge([a, b], space)
    try expectRows(afterUpdate: true)
    // The row goes with the record.
    try a.execute("DELETE FROM t")
    try converge([a, b], space)
    #expect(try column(b, "v").isEmpty && noted(b).isEmpty)
    try expectSpace([:])
  }

  @Test(
    "No copy sends a value that only its column made", arguments: ColumnKind.all,
    ColumnKind.all.filter { $0.strict.isEmpty || $0.type == "INTEGER" })
  func sent(_ first: ColumnKind, _ second: ColumnKind) throws {
    let (a, b) = (try replica(first, seed: 1), try replica(second, seed: 2))
    try insert(a)
    try converge([a, b], space)
    let whole = try column(a, "v")
    try b.execute("UPDATE t SET name = 'edited'")
    try converge([a, b], space)
    try expectSpace(whole)
    #expect(try noted(a).isEmpty)
    for (id, value) in try column(a, "v") {
      #expect(value.hasSameStorage(as: try #require(whole[id])))
    }
  }

  @Test(
    "A deletion of a row is a conflict with the value that the row could not have, which stays",
    arguments: ColumnKind.all)
  func deleted(_ kind: ColumnKind) throws {
    let a = try replica(ColumnKind(type: "", strict: ""), seed: 1)
    let b = try replica(kind, seed: 2)
    try insert(a)
    try converge([a, b], space)
    let lost = try noted(b)
    let gone = Set(try column(b, "v").keys)
    try b.execute("DELETE FROM t")
    try converge([a, b], space)
    #expect(try Set(column(a, "v").keys) == lost)
    #expect(try noted(b) == lost)
    #expect(
      try Set(b.conflicts().map { $0.key.id[0].textValue ?? "" }) == lost.intersection(gone))
  }

  @Test("A write past the triggers to a row with such a value is found by comparing all rows")
  func bypassed() throws {
    let a = try replica(ColumnKind(type: "", strict: ""), seed: 1)
    let b = try replica(ColumnKind(type: "INTEGER", strict: ""), seed: 2)
    try a.execute("INSERT INTO t VALUES ('1', '01234', 'n'), ('2', '5', 'n')")
    try converge([a, b], space)
    #expect(try b.write { try $0.verify() })
    try b.executeUnnoticed("UPDATE t SET name = 'other'")
    #expect(try !b.write { try $0.verify() })
    try converge([a, b], space)
    #expect(try b.rows("SELECT v, name FROM t ORDER BY id") == [[.null, "n"], [5, "n"]])
    #expect(try noted(b) == ["1"])
    #expect(try a.rows("SELECT v FROM t ORDER BY id") == [["01234"], ["5"]])
    #expect(try b.conflicts(includingResolved: false).count == 2)
  }
}
