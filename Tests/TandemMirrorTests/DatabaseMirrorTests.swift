import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestFolder
import TestRandom
import Testing

@Suite("Mirrors: laws over random lists and tables")
struct DatabaseMirrorTests {
  /// A record in plain Swift: what the oracle computes with.
  typealias Row = [String: FieldValue]

  /// Makes lists and tables that have much in common.
  struct Generator {
    var random: SplitMix64

    static let values: [FieldValue] = [
      .null, 0, 1, 1.5, -2, .integer(1 << 53), .integer((1 << 53) + 1), "", "a", "e\u{301}",
      "\u{E9}",
      "1", "007", "a\0b",
    ]

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    mutating func list(fields: ArraySlice<String>) -> [Record] {
      var records: [Record] = []
      for id in 0..<30 where below(3) > 0 {
        let key: FieldValue = id % 3 == 0 ? .text("k\(id)") : .integer(Int64(id))
        var pairs: [(name: String, value: FieldValue)] = [("id", key)]
        for field in fields where below(5) > 0 {
          pairs.append((field, Self.values[below(Self.values.count)]))
        }
        if let record = Record(pairs) { records.append(record) }
      }
      return records.shuffled(using: &random)
    }
  }

  /// The rows of table `t` by key, in plain Swift.
  func rows(of connection: DatabaseConnection) throws -> [FieldValue: Row] {
    let statement = try connection.prepare("SELECT * FROM t")
    let names = statement.columnNames
    var rows: [FieldValue: Row] = [:]
    while try statement.step() {
      let values = try statement.values()
      let row = Row(uniqueKeysWithValues: zip(names, values).filter { !$0.1.isNull })
      rows[row["id"] ?? .null] = row
    }
    return rows
  }

  func rows(of records: [Record]) -> [FieldValue: Row] {
    Dictionary(uniqueKeysWithValues: records.map { ($0["id"], row($0)) })
  }

  func row(_ record: Record) -> Row {
    let pairs = zip(record.layout.names, record.values)
    return Row(uniqueKeysWithValues: pairs.filter { !$0.1.isNull })
  }

  /// A table that is missing, empty, or made by an application, with or without types and keys.
  static let schemas = [
    [], ["CREATE TABLE t (id)"], ["CREATE TABLE t (b, id PRIMARY KEY, a) WITHOUT ROWID"],
    ["CREATE TABLE t (id BLOB, a BLOB)", "CREATE UNIQUE INDEX i ON t (id)"],
  ]

  @Test(
    "the table equals the list, the difference leads from the old rows to the new, and a second run finds none",
    arguments: 0..<schemas.count, 0..<60)
  func laws(schema: Int, seed: Int) throws {
    var generator = Generator(random: SplitMix64(seed: UInt64(seed * 4 + schema)))
    let connection = try database()
    for statement in Self.schemas[schema] { try connection.execute(statement) }
    let mirror = DatabaseMirror.unguarded("id")
    var old: [FieldValue: Row] = [:]
    let fields = ["a", "b", "c", "d"]
    for round in 0..<4 {
      let first = generator.below(3)
      let list = generator.list(fields: fields[first...generator.below(2) + 2])
      // A first list may give columns a type that would change values of later ones.
      if round == 0 { try keepAllColumnsUntyped(list, in: connection, mirror) }
      let new = rows(of: list)
      let comment: Comment = "seed \(seed), schema \(schema), round \(round)"

      let outcome = try mirror.run(list, into: connection)
      #expect(try rows(of: connection) == new, comment)
      #expect(outcome.existingCount == old.count && outcome.sourceCount == new.count, comment)

      #expect(try applying(outcome.difference, to: old, comment) == new, comment)
      let before = try dump(connection)
      #expect(try mirror.run(list.reversed(), into: connection).difference.isEmpty, comment)
      #expect(try dump(connection) == before, comment)
      old = new
    }
  }

  /// The rows after a difference, each change of which must fit, in the order of keys.
  private func applying(
    _ difference: SetDifference<Record>, to old: [FieldValue: Row], _ comment: Comment
  ) throws -> [FieldValue: Row] {
    var result = old
    for record in difference.deleted {
      #expect(result.removeValue(forKey: record["id"]) == row(record), comment)
    }
    for update in difference.updated {
      let key = update.old["id"]
      #expect(update.old != update.new && key == update.new["id"], comment)
      #expect(result.updateValue(row(update.new), forKey: key) == row(update.old), comment)
    }
    for record in difference.inserted {
      #expect(result.updateValue(row(record), forKey: record["id"]) == nil, comment)
    }
    for kind in [difference.inserted, difference.deleted, difference.updated.map { $0.new }] {
      #expect(zip(kind, kind.dropFirst()).allSatisfy { $0["id"] < $1["id"] }, comment)
    }
    return result
  }

  /// Has every column exist without a type, unless the table is there: then those that it lacks.
  private func keepAllColumnsUntyped(
    _ list: [Record], in connection: DatabaseConnection, _ mirror: DatabaseMirror
  ) throws {
    if try connection.schema(ofTable: "t") == nil {
      try connection.execute("CREATE TABLE t (id NOT NULL, PRIMARY KEY (id))")
    }
    let columns = try connection.schema(ofTable: "t")?.columnNames ?? []
    for name in ["a", "b", "c", "d"] where !columns.contains(name) {
      try connection.execute("ALTER TABLE t ADD COLUMN \(name)")
    }
  }

  @Test("a new table keeps the values of its first list exactly", arguments: 0..<200)
  func newTable(seed: Int) throws {
    var generator = Generator(random: SplitMix64(seed: UInt64(seed)))
    let list = generator.list(fields: ["a", "b", "c"])
    let connection = try database()
    let mirror = DatabaseMirror.unguarded("id")
    let outcome = try mirror.run(list, into: connection)
    #expect(outcome.createsTable && outcome.difference.inserted.count == list.count, "seed \(seed)")
    #expect(try rows(of: connection) == rows(of: list), "seed \(seed)")
    #expect(try mirror.run(list, into: connection).difference.isEmpty, "seed \(seed)")
  }
}
