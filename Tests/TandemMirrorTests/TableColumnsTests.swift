import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import TestRandom
import Testing

@testable import TandemMirror

@Suite("The columns for a list")
struct TableColumnsTests {
  private func columns(_ records: [Record]) throws -> TableColumns {
    try TableColumns(schema: nil, records: PackedRecords(records), owned: [])
  }

  @Test("have the narrowest type for the values of all records, in whichever order fields come")
  func wideLists() throws {
    let names = (0..<RecordLayout.maxFieldCount).map { "f\($0)" }
    let values: [(FieldValue) -> [FieldValue]] = [
      { [$0, .integer(2)] }, { [$0, .real(0.5)] }, { [$0, .text("x")] }, { [$0, .null] },
    ]
    // Field n has an integer first, and later a value of kind n % 4; each record has another order.
    func record(_ position: Int, _ order: [Int]) throws -> Record {
      let layout = try #require(RecordLayout(order.map { names[$0] }))
      return try #require(
        Record(layout: layout, values: order.map { values[$0 % 4](.integer(1))[position] }))
    }
    var random = SplitMix64(seed: 1)
    let orders = [
      Array(names.indices), names.indices.reversed(), names.indices.shuffled(using: &random),
    ]
    let columns = try columns([
      record(0, orders[0]), record(1, orders[1]), record(0, orders[2]), record(1, orders[0]),
    ])
    #expect(columns.columns.map(\.name) == names)
    let expected: [ColumnType] = [.integer, .real, .any, .integer]
    #expect(columns.additions.map(\.type) == names.indices.map { expected[$0 % 4] })
  }

  @Test("cannot be more than a table can have, whether in one record or in all together")
  func tooMany() throws {
    let names = (0...RecordLayout.maxFieldCount).map { "f\($0)" }
    let layouts = names.map { RecordLayout([$0]) }
    let records = layouts.compactMap { $0.flatMap { Record(layout: $0, values: [.null]) } }
    #expect(try columns(records.dropLast()).columns.count == RecordLayout.maxFieldCount)
    let error = #expect(throws: MirrorError.self) { try columns(records) }
    #expect(error?.code == .unfitDestination)
    #expect(error?.message.contains("more than 2000 different fields") == true)
    // Nothing is left of a run that is refused so.
    let database = try database()
    #expect(throws: MirrorError.self) {
      try DatabaseMirror.unguarded("f0").run(records, into: database)
    }
    #expect(try dump(database) == [])
  }
}
