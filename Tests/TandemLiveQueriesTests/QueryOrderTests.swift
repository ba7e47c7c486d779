import TandemRecords
import TandemSQLite
import TestRandom
import Testing

@testable import TandemLiveQueries

@Suite("Orders of queries")
struct QueryOrderTests {
  /// Values that are easy to put in a wrong order.
  static let values: [FieldValue] = [
    .null, 0, 1, -1, 2, 1.5, .integer(1 << 53), .integer(1 << 53 + 1), .real(0x1p53),
    .integer(.max), .integer(.min), .real(0x1p63), .real(-0x1p63), .real(.infinity),
    .real(-.infinity), .real(-0.0), "", "a", "A", "b", "B", "ab", "aB", "a ", "a  ", "A ", " a",
    "a\u{0}b", "a\u{0}c", "a\u{0}", "A\u{0}bb", "é", "e\u{301}", "É", "z", "[", "`", "_", "1", "10",
    "2", "𝄞", "\u{FFFD}", "\u{E000}", .blob([]), .blob([0]), .blob([255]), .blob([97]),
  ]

  static let terms: [(sql: String, isDescending: Bool, putsNullsLast: Bool)] = [
    ("", false, false), ("ASC NULLS FIRST", false, false), ("NULLS LAST", false, true),
    ("DESC", true, true), ("DESC NULLS FIRST", true, false), ("DESC NULLS LAST", true, true),
  ]

  @Test(
    "are SQLite's, for every collation and direction, and whatever the values",
    arguments: QueryOrder.Collation.allCases, 0..<6)
  func sameAsSQLite(_ collation: QueryOrder.Collation, _ place: Int) throws {
    let term = Self.terms[place]
    let connection = try DatabaseConnection(path: ":memory:")
    try connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v)")
    var random = SplitMix64(seed: UInt64(place))
    for (key, value) in Self.values.shuffled(using: &random).enumerated() {
      try connection.execute("INSERT INTO t VALUES (?, ?)", .integer(Int64(key)), value)
    }
    let statement = try connection.prepare(
      "SELECT k, v FROM t ORDER BY v COLLATE \(collation.rawValue) \(term.sql), k")
    var rows: [KeyedRow] = []
    while try statement.step() {
      let record: Record = ["k": try statement.value(at: 0), "v": try statement.value(at: 1)]
      rows.append(KeyedRow(key: RecordKey(record["k"]), record: record))
    }
    let order = QueryOrder(
      terms: [
        .init(
          offset: 1, collation: collation, isDescending: term.isDescending,
          putsNullsLast: term.putsNullsLast)
      ])
    for (first, row) in rows.enumerated() {
      for (second, other) in rows.enumerated() {
        #expect(
          order.compare(row, other).signum() == (first - second).signum(), "\(row) \(other)")
      }
    }
  }

  @Test("have a term for each column, in turn, and then the key")
  func severalTerms() {
    let row = { (key: Int64, values: [FieldValue]) in
      KeyedRow(
        key: RecordKey(.integer(key)),
        record: Record(Array(zip(["a", "b"], values)).map { (name: $0, value: $1) }) ?? [:])
    }
    let order = QueryOrder(
      terms: [
        .init(offset: 1, isDescending: true, putsNullsLast: true),
        .init(offset: 0, collation: .noCase),
      ])
    let rows = [row(5, ["x", 2]), row(7, ["A", 1]), row(8, ["a", 1]), row(1, ["b", 1])]
    #expect(rows.reversed().sorted { order.compare($0, $1) < 0 } == rows)
  }
}
