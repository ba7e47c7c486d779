import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestFolder
import TestRandom
import Testing

@Suite("Comparisons of lists and tables")
struct RecordComparisonTests {
  static let values: [FieldValue] = [
    .null, 0, 1, 1.5, .integer((1 << 53) + 1), "", "a", "e\u{301}", "\u{E9}", "007", .blob([]),
    .blob([0]),
  ]

  /// A list of records, not all of which have all fields, by a key of two fields.
  static func list(_ random: inout SplitMix64) -> [Record] {
    var records: [Record] = []
    for first in 0..<5 {
      for second in ["x", "e\u{301}", "\u{E9}"] where Bool.random(using: &random) {
        var pairs: [(name: String, value: FieldValue)] = [
          ("k", .integer(Int64(first))), ("l", .text(second)),
        ]
        for field in ["a", "b", "c"] where Int.random(in: 0..<4, using: &random) > 0 {
          pairs.append((field, values[Int.random(in: 0..<3, using: &random) * 4 + first % 4]))
        }
        pairs.shuffle(using: &random)
        if let record = Record(pairs) { records.append(record) }
      }
    }
    return records.shuffled(using: &random)
  }

  /// The list as a table without types, with the fields of the records for its columns.
  static func table(_ list: [Record]) throws -> RecordCollection {
    let database = try Database(path: ":memory:")
    try database.write { transaction in
      try transaction.execute("CREATE TABLE t (a, l, k, b, c, PRIMARY KEY (l, k))")
      try DatabaseMirror.unguarded("k", "l").run(list, in: transaction)
    }
    return try table(in: database)
  }

  /// The table `t` of a database.
  private static func table(in database: Database) throws -> RecordCollection {
    let schema = try database.read { try $0.connection.schema(ofTable: "t") }
    return .table(try #require(schema), database)
  }

  /// The table `t` of a new database, made by statements.
  private static func table(_ statements: String...) throws -> RecordCollection {
    let database = try Database(path: ":memory:")
    try database.withWriter { for statement in statements { try $0.execute(statement) } }
    return try table(in: database)
  }

  @Test("the difference is that of the records, whatever holds them", arguments: 0..<300)
  func laws(seed: Int) throws {
    var random = SplitMix64(seed: UInt64(seed))
    let (old, new) = (Self.list(&random), Self.list(&random))
    // By the slow definition: look each record of one list up in the other.
    func key(_ record: Record) -> RecordKey { RecordKey([record["k"], record["l"]]) }
    let inserted = Set(new.filter { record in !old.contains { key($0) == key(record) } })
    let deleted = Set(old.filter { record in !new.contains { key($0) == key(record) } })
    let updated = Set(
      new.filter { record in old.contains { key($0) == key(record) && $0 != record } })
    for (oldSide, newSide) in [
      (.list(old), .list(new)), (.list(old), try Self.table(new)),
      (try Self.table(old), .list(new)),
      (try Self.table(old), try Self.table(new)),
    ] as [(RecordCollection, RecordCollection)] {
      var difference = SetDifference<Record>()
      try RecordComparison(from: oldSide, to: newSide, key: ["k", "l"])
        .forEachChange { difference.append($0) }
      #expect(Set(difference.inserted) == inserted, "seed \(seed)")
      #expect(Set(difference.deleted) == deleted, "seed \(seed)")
      #expect(Set(difference.updated.map { $0.new }) == updated, "seed \(seed)")
      #expect(difference.updated.allSatisfy { old.contains($0.old) }, "seed \(seed)")
      #expect(difference.updated.allSatisfy { key($0.old) == key($0.new) }, "seed \(seed)")
      for kind in [difference.inserted, difference.deleted, difference.updated.map { $0.old }] {
        #expect(zip(kind, kind.dropFirst()).allSatisfy { key($0) < key($1) }, "seed \(seed)")
      }
    }
  }

  @Test("a key of a table is one column, however often it is named; fields of a list are not")
  func caseOfKeys() throws {
    let table = try Self.table("CREATE TABLE t (id, n)", "INSERT INTO t VALUES (1, 2)")
    let list = RecordCollection.list([["ID": 1, "n": 2]])
    for (old, new) in [(table, table), (table, list), (list, table)] {
      try RecordComparison(from: old, to: new, key: ["id", "Id"]).forEachChange { change in
        Issue.record("\(change)")
      }
    }
    let fields = RecordCollection.list([["id": 1, "ID": 2], ["id": 1, "ID": 3]])
    var count = 0
    try RecordComparison(from: .list([]), to: fields, key: ["id", "ID"])
      .forEachChange { _ in count += 1 }
    #expect(count == 2)
  }

  @Test("a value that the column would not keep is a difference")
  func unfitValues() throws {
    let table = try Self.table("CREATE TABLE t (id INTEGER, n)", "INSERT INTO t VALUES (7, 1)")
    var difference = SetDifference<Record>()
    try RecordComparison(from: table, to: .list([["id": "007", "n": 1]]), key: ["id"])
      .forEachChange { difference.append($0) }
    #expect(difference.deleted == [["id": 7, "n": 1]])
    #expect(difference.inserted == [["id": "007", "n": 1]])
  }

  @Test("an error of the caller ends the comparison, and leaves no transaction open")
  func callerThrows() throws {
    struct Stop: Error {}
    let table = try Self.table("CREATE TABLE t (id)", "INSERT INTO t VALUES (1), (2)")
    for (old, new) in [(table, .list([])), (.list([]), table), (.list([]), .list([["id": 1]]))]
      as [(RecordCollection, RecordCollection)]
    {
      #expect(throws: Stop.self) {
        try RecordComparison(from: old, to: new, key: ["id"]).forEachChange { _ in throw Stop() }
      }
    }
    // A transaction that was left open would make the next one fail.
    try RecordComparison(from: table, to: table, key: ["id"]).forEachChange { _ in }
  }
}
