import TandemDifferences
import TandemRecords
import TandemSQLite
import TestRandom
import Testing

@testable import TandemLiveQueries

@Suite("Rows that are placed in order")
struct OrderedRowsTests {
  static let order = QueryOrder(terms: [.init(offset: 1, isDescending: true, putsNullsLast: true)])
  static let layout = RecordLayout(uniqueNames: ["k", "v", "w"])

  static let columns = ResultColumns(layout: layout, keyOffsets: [0])

  static func row(_ key: Int, _ value: Int, _ extra: Int) -> KeyedRow {
    let values = [key, value, extra].map { FieldValue.integer(Int64($0)) }
    return KeyedRow(
      key: RecordKey(.integer(Int64(key))), record: Record(uncheckedLayout: layout, values: values))
  }

  /// A table with random changes, and what is known of it.
  struct World {
    var random: SplitMix64
    var table: [Int: KeyedRow] = [:]
    let valueCount: Int

    init(seed: UInt64, count: Int, valueCount: Int) {
      random = SplitMix64(seed: seed)
      self.valueCount = valueCount
      for key in 0..<count { table[key] = newRow(key) }
    }

    mutating func newRow(_ key: Int) -> KeyedRow {
      row(
        key, .random(in: 0..<valueCount, using: &random), .random(in: 0..<2, using: &random))
    }

    mutating func change(_ count: Int, keyCount: Int) -> [TouchedRow] {
      var touched: [Int: TouchedRow] = [:]
      for _ in 0..<count {
        let key = Int.random(in: 0..<keyCount, using: &random)
        table[key] = Int.random(in: 0..<4, using: &random) == 0 ? nil : newRow(key)
        touched[key] = TouchedRow(key: RecordKey(.integer(Int64(key))), record: table[key]?.record)
      }
      return touched.values.sorted { $0.key < $1.key }
    }

    func list(_ limit: Int?) -> [KeyedRow] {
      let rows = table.values.sorted { order.compare($0, $1) < 0 }
      return Array(rows.prefix(limit.map { RowWindow(limit: $0).rowCount } ?? .max))
    }
  }

  @Test("change as a comparison of whole lists says, with as few moves", arguments: 1...300)
  func sameAsListDifference(_ seed: UInt64) throws {
    var world = World(seed: seed, count: Int(seed % 40), valueCount: seed % 3 == 0 ? 4 : 1_000)
    let limit = [nil, 0, 3, 20][Int(seed % 4)]
    var rows = OrderedRows(
      world.list(limit), Self.columns, order: Self.order, window: limit.map { RowWindow(limit: $0) }
    )
    for _ in 0..<30 {
      let old = rows.visible
      let touched = world.change(.random(in: 0...6, using: &world.random), keyCount: 45)
      // Without a reserve that runs out, everything is placed.
      let placed = rows.place(touched)
      let difference = try #require(placed, "seed \(seed)")
      let new = Array(world.list(limit).prefix(limit ?? .max))
      #expect(rows.visible == new, "seed \(seed)")
      #expect(difference.applying(to: old) == new, "seed \(seed)")
      let expected = ListDifference(from: old, to: new, identifiedBy: \.key)
      #expect(difference.moves.count == expected.moves.count, "seed \(seed)")
      #expect(difference.deletions == expected.deletions, "seed \(seed)")
      #expect(difference.insertions == expected.insertions, "seed \(seed)")
      #expect(difference.updates == expected.updates, "seed \(seed)")
    }
  }

  @Test("stay in order in blocks that are split and emptied")
  func manyRows() throws {
    var world = World(seed: 7, count: 3_000, valueCount: 1_000_000)
    var rows = OrderedRows(world.list(nil), Self.columns, order: Self.order, window: nil)
    for count in [1, 500, 3_000, 1, 6_000, 12_000, 2] {
      let old = rows.visible
      let placed = rows.place(world.change(count, keyCount: 9_000))
      let difference = try #require(placed)
      #expect(rows.visible == world.list(nil))
      #expect(difference.applying(to: old) == world.list(nil))
    }
    let everything = world.table.keys.sorted().map {
      TouchedRow(key: RecordKey(.integer(Int64($0))), record: nil)
    }
    #expect(rows.place(everything)?.deletions.count == everything.count)
    #expect(rows.visible.isEmpty)
  }

  @Test("of a window are read again when the reserve is used up, and not before")
  func reserve() {
    let rows = (0..<1_000).map { Self.row($0, 0, 0) }
    let order = QueryOrder(terms: [])
    var window = OrderedRows(
      Array(rows.prefix(RowWindow(limit: 3).rowCount)), Self.columns, order: order,
      window: RowWindow(limit: 3))
    let deletion = { (key: Int) in [TouchedRow(key: RecordKey(.integer(Int64(key))), record: nil)] }
    for key in 0..<RowWindow.defaultReserveCount {
      #expect(window.place(deletion(key))?.deletions.count == 1)
      #expect(window.visible == Array(rows[(key + 1)...(key + 3)]))
    }
    #expect(window.place(deletion(RowWindow.defaultReserveCount)) == nil)
  }

  @Test("of a window include the last one that was read, without a reserve")
  func lastRow() throws {
    let rows = (0..<3).map { Self.row($0, 0, 0) }
    var window = OrderedRows(
      rows, Self.columns, order: QueryOrder(terms: []), window: RowWindow(limit: 3, reserveCount: 0)
    )
    let changed = Self.row(2, 0, 1)
    let placed = window.place([TouchedRow(key: changed.key, record: changed.record)])
    let difference = try #require(placed)
    #expect(difference.updates.map(\.new) == [changed])
    #expect(window.visible == rows.dropLast() + [changed])
  }

  @Test("of a window do not add up when rows are inserted before them")
  func trimming() throws {
    let order = QueryOrder(terms: [])
    let rows = (2_000..<2_400).map { Self.row($0, 0, 0) }
    var window = OrderedRows(
      Array(rows.prefix(RowWindow(limit: 3).rowCount)), Self.columns, order: order,
      window: RowWindow(limit: 3))
    for key in (1_000..<2_000).reversed() {
      let row = Self.row(key, 0, 0)
      let placed = window.place([TouchedRow(key: row.key, record: row.record)])
      let difference = try #require(placed)
      #expect(difference.insertions.map(\.element) == [row])
    }
    #expect(window.visible == (1_000..<1_003).map { Self.row($0, 0, 0) })
    // A row that was trimmed away is behind the frontier, as one never read.
    let far = Self.row(1_900, 0, 1)
    #expect(window.place([TouchedRow(key: far.key, record: far.record)])?.isEmpty == true)
    for key in 1_000..<1_000 + RowWindow.defaultReserveCount {
      #expect(window.place([TouchedRow(key: RecordKey(.integer(Int64(key))), record: nil)]) != nil)
    }
  }

  @Test("that came in another order than expected are not placed")
  func unexpectedOrder() {
    let rows = [Self.row(1, 1, 0), Self.row(2, 2, 0)]
    var wrong = OrderedRows(rows, Self.columns, order: Self.order, window: nil)
    #expect(wrong.visible == rows)
    #expect(wrong.place([]) == nil)
  }
}
