import TandemDifferences
import TandemRecords
import TandemSQLite
import TestRandom
import Testing

struct TableScanTests {
  private let connection: DatabaseConnection

  init() throws { connection = try DatabaseConnection(path: ":memory:") }

  private func scan(
    _ columns: [String], key: [Int], missing: Set<Int> = []
  ) throws -> TableScan {
    try TableScan(
      connection, table: try connection.table(), columns: try #require(RecordLayout(columns)),
      key: key, missing: missing)
  }

  @Test("rows come in the order of the key's bytes, whatever collation and index the columns have")
  func order() throws {
    try connection.execute(
      "CREATE TABLE t (id TEXT COLLATE NOCASE PRIMARY KEY, v) WITHOUT ROWID")
    try connection.execute("INSERT INTO t VALUES ('b', 1), ('A', 2), ('a ', 3), ('C', 4)")
    let scan = try scan(["v", "id"], key: [1])
    var ids: [FieldValue] = []
    while try scan.advance() { ids.append(try scan.record()["id"]) }
    #expect(ids == ["A", "C", "a ", "b"])
  }

  @Test("a walk in the order of an index does not sort")
  func usesIndex() throws {
    try connection.execute("CREATE TABLE t (a, b, PRIMARY KEY (b, a))")
    try connection.execute("INSERT INTO t VALUES (1, 2), (2, 1)")
    let columns = try #require(RecordLayout(["a", "b"]))
    let plan = try connection.valueRows(
      "EXPLAIN QUERY PLAN SELECT a, b FROM t ORDER BY b COLLATE BINARY, a COLLATE BINARY")
    #expect(!plan.contains { "\($0)".contains("TEMP B-TREE") })
    let scan = try TableScan(
      connection, table: try connection.table(), columns: columns, key: [1, 0])
    #expect(try scan.advance())
    #expect(try scan.record() == ["a": 2, "b": 1])
  }

  @Test("only the columns asked for are read; those that are missing are null")
  func columns() throws {
    try connection.execute("CREATE TABLE t (id PRIMARY KEY, v, w)")
    try connection.execute("INSERT INTO t VALUES (1, 'v', 'w')")
    let scan = try scan(["w", "later", "id"], key: [2], missing: [1])
    #expect(try scan.advance())
    let record = try scan.record()
    #expect(record.layout.names == ["w", "later", "id"])
    #expect(record.values == ["w", .null, 1])
    #expect(try !scan.advance())
  }

  @Test("the changes to a list are those found by looking each key up", arguments: 0..<40)
  func changes(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for kind in [TestTable.untyped, .otherOrder, .withoutRowid] {
      let connection = try DatabaseConnection(path: ":memory:")
      try kind.fill(connection, rowCount: 40, using: &random)
      let rows = try TestTable.records(in: connection)
      let other = try DatabaseConnection(path: ":memory:")
      try TestTable.untyped.fill(other, rowCount: 40, using: &random)
      let mixture = Self.mixture(of: rows, and: try TestTable.records(in: other), using: &random)
      let layout = try #require(RecordLayout(["v", "b", "a", "w"]))
      let list = try KeyedRecords(
        mixture.map { record in
          try #require(Record(layout: layout, values: layout.names.map { record[$0] }))
        }, key: ["a", "b"])
      let packed = PackedRecords(list.records)
      for hasValues in [nil, packed.hasValues] {
        let scan = try TableScan(
          connection, table: try connection.table(), columns: layout, key: [2, 1])
        var changes: [SetChange<Record>] = []
        let count = try scan.forEachChange(
          toRecords: packed.count, { packed[$0] }, hasValues: hasValues
        ) {
          changes.append($0.change(in: list.records))
        }
        #expect(count == rows.count)
        #expect(
          changes == TestTable.naiveChanges(from: rows, to: list.records), "seed \(seed), \(kind)")
      }
    }
  }

  @Test("a record that is packed as its row is not made")
  func packed() throws {
    try connection.execute("CREATE TABLE t (id PRIMARY KEY, v)")
    try connection.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 0.5), (5, 'e')")
    let list: PackedRecords = [
      ["id": 1, "v": "a"], ["id": 2, "v": "B"], ["id": 3, "v": 0.5], ["id": 4, "v": "d"],
      ["id": 5, "v": "e"],
    ]
    var made: [Int] = []
    var changes: [SetChange<Record>] = []
    let scan = try scan(["id", "v"], key: [0])
    _ = try scan.forEachChange(
      toRecords: list.count,
      { position in
        made.append(position)
        return list[position]
      }, hasValues: list.hasValues
    ) {
      changes.append($0.change(in: Array(list)))
    }
    #expect(made == [1, 3])
    #expect(changes == [.updated(old: ["id": 2, "v": "b"], new: list[1]), .inserted(list[3])])
  }

  /// Some of the first, some of them with other values, and those of the second with other keys.
  private static func mixture(
    of first: [Record], and second: [Record], using random: inout SplitMix64
  ) -> [Record] {
    var keys = Set(first.map { RecordKey([$0["a"], $0["b"]]) })
    let kept = first.compactMap { record -> Record? in
      switch Int.random(in: 0..<4, using: &random) {
      case 0: return nil
      case 1: return ["a": record["a"], "b": record["b"], "v": "changed", "w": record["w"]]
      default: return record
      }
    }
    return kept + second.filter { keys.insert(RecordKey([$0["a"], $0["b"]])).inserted }
  }

  @Test("an empty table and an empty list change nothing; either alone is all of the change")
  func empty() throws {
    try connection.execute("CREATE TABLE t (id PRIMARY KEY)")
    let records: [Record] = [["id": 1], ["id": 2]]
    func changes(_ records: [Record]) throws -> [SetChange<Record>] {
      var changes: [SetChange<Record>] = []
      _ = try scan(["id"], key: [0]).forEachChange(toRecords: records.count, { records[$0] }) {
        changes.append($0.change(in: records))
      }
      return changes
    }
    #expect(try changes([]).isEmpty)
    #expect(try changes(records) == records.map { .inserted($0) })
    try connection.execute("INSERT INTO t VALUES (1), (2)")
    #expect(try changes([]) == records.map { .deleted($0) })
    #expect(try changes(records).isEmpty)
  }
}

extension TableChange {
  /// The change with its record of a list.
  func change(in list: [Record]) -> SetChange<Record> {
    switch self {
    case .inserted(let position): .inserted(list[position])
    case .updated(let old, let position): .updated(old: old, new: list[position])
    case .deleted(let record): .deleted(record)
    }
  }
}
