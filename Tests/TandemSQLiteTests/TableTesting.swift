import TandemDifferences
import TandemRecords
import TandemSQLite
import TestRandom
import Testing

/// The ways to declare a table of two key columns and some others that the tests of walks choose from.
enum TestTable: String, CaseIterable {
  case untyped = "CREATE TABLE t (a, b, v, w, PRIMARY KEY (a, b))"
  case otherOrder = "CREATE TABLE t (w, b, v, a)"
  case ignoringCase = "CREATE TABLE t (a TEXT COLLATE NOCASE, b INTEGER, v REAL, w)"
  case withoutRowid = "CREATE TABLE t (v, a, b, w, PRIMARY KEY (b DESC, a)) WITHOUT ROWID"
  case ignoringSpaces = "CREATE TABLE t (a TEXT COLLATE RTRIM, b REAL, w, v, UNIQUE (a, b))"
  case fewerColumns = "CREATE TABLE t (b, a, v)"
  case moreColumns = "CREATE TABLE t (extra, w, a, b, v)"
  case otherCase = "CREATE TABLE t (A, v, B, W)"

  private static let keys: [FieldValue] = [
    "a", "A", "a ", "b", "B", "", "é", "e\u{301}", "É", 1, 2, 1.5, -1, .integer(1 << 53),
    .integer((1 << 53) + 1), "1", .blob([0x61]), "\u{FFFD}", "\u{10000}",
  ]
  private static let others: [FieldValue] = [.null, 0, 0.0, 0.5, "x", "X", .blob([]), ""]

  /// Creates the table and fills it with rows of which no two have the same key.
  func fill(
    _ connection: DatabaseConnection, rowCount: Int, using random: inout SplitMix64
  ) throws {
    try connection.execute(rawValue)
    for _ in 0..<rowCount {
      try Self.insert(into: connection) { name in
        let pool = ["a", "b"].contains(name) ? Self.keys : Self.others
        return pool.randomElement(using: &random) ?? .null
      }
    }
  }

  /// Inserts a row of values by column, in lower case, unless its key is there already.
  static func insert(
    into connection: DatabaseConnection, value: (_ column: String) -> FieldValue
  ) throws {
    let names = try connection.prepare("SELECT * FROM t").columnNames
    let values = names.map { value($0.lowercased()) }
    let marks = values.map { _ in "?" }.joined(separator: ", ")
    try connection.execute("SAVEPOINT row")
    try connection.withStatement("INSERT OR IGNORE INTO t VALUES (\(marks))") {
      statement throws(DatabaseError) in
      try statement.run(values)
    }
    // Values are converted where they are stored, so only now it is known which keys are the same.
    let isDuplicate = try connection.withStatement(
      "SELECT a FROM t GROUP BY a COLLATE BINARY, b COLLATE BINARY HAVING count(*) > 1"
    ) { statement throws(DatabaseError) in try statement.step() }
    if isDuplicate { try connection.execute("ROLLBACK TO row") }
    try connection.execute("RELEASE row")
  }

  /// The rows as records whose fields have names in lower case.
  static func records(in connection: DatabaseConnection) throws -> [Record] {
    let statement = try connection.prepare("SELECT * FROM t")
    let layout = try #require(RecordLayout(statement.columnNames.map { $0.lowercased() }))
    var records: [Record] = []
    while try statement.step() {
      records.append(try #require(Record(layout: layout, values: try statement.values())))
    }
    return records
  }

  /// The changes in the order of the keys `a`, `b`, by looking each key up on the other side.
  static func naiveChanges(from old: [Record], to new: [Record]) -> [SetChange<Record>] {
    func byKey(_ records: [Record]) -> [RecordKey: Record] {
      Dictionary(uniqueKeysWithValues: records.map { (RecordKey([$0["a"], $0["b"]]), $0) })
    }
    let oldByKey = byKey(old)
    let newByKey = byKey(new)
    return Set(oldByKey.keys).union(newByKey.keys).sorted().compactMap { key in
      switch (oldByKey[key], newByKey[key]) {
      case (let old?, let new?): return old == new ? nil : .updated(old: old, new: new)
      case (let old?, nil): return .deleted(old)
      case (nil, let new?): return .inserted(new)
      case (nil, nil): return nil
      }
    }
  }
}

extension SetChange<Record> {
  /// The change with field names in lower case.
  var lowercased: SetChange<Record> {
    func lowercased(_ record: Record) -> Record {
      let fields = zip(record.layout.names, record.values).map {
        (name: $0.lowercased(), value: $1)
      }
      return Record(fields) ?? record
    }
    switch self {
    case .inserted(let record): return .inserted(lowercased(record))
    case .updated(let old, let new): return .updated(old: lowercased(old), new: lowercased(new))
    case .deleted(let record): return .deleted(lowercased(record))
    }
  }
}
