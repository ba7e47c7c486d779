import TandemRecords
import TandemSQLite
import TestFolder
import TestRandom
import Testing

@testable import TandemLiveQueries

@Suite("Rows of a result, packed")
struct PackedRowsTests {
  static let layout = RecordLayout(uniqueNames: ["v", "k", "w"])
  static let values: [FieldValue] = [
    .null, 0, -1, 127, 128, -128, -129, .integer(.max), .integer(.min), .integer(1 << 31),
    .integer(-1 << 31), 0.0, .real(-0.0), 1.5, .real(.infinity), "", "a", "e\u{301}", "\u{E9}",
    .text("nul \0 inside"), .text(String(repeating: "x", count: 127)),
    .text(String(repeating: "y", count: 128)), .text(String(repeating: "z", count: 70_000)),
    .blob([]), .blob([0]), .blob(Array(repeating: 7, count: 300)),
  ]

  @Test("values packed from a statement and from a record are the same bytes, and read back")
  func values() throws {
    let folder = try TemporaryFolder()
    let connection = try DatabaseConnection(path: folder.path(of: "test.db"), busyTimeout: patience)
    let marks = Self.values.map { _ in "?" }.joined(separator: ", ")
    let statement = try connection.prepare("SELECT \(marks)")
    try statement.bind(Self.values)
    #expect(try statement.step())
    let ofValues = PackedRow(Self.values)
    var ofStatement = PackedRow()
    statement.appendRow(to: &ofStatement)
    #expect(ofStatement.withBytes(Array.init) == ofValues.withBytes(Array.init))
    ofValues.withBytes { bytes in
      var reader = PackedRow.Reader(bytes.baseAddress!)
      var skipping = PackedRow.Reader(bytes.baseAddress!)
      for (offset, value) in Self.values.enumerated() {
        #expect(reader.next().hasSameStorage(as: value))
        skipping.skip(1)
        #expect(skipping.byteCount == reader.byteCount, "\(offset)")
      }
      #expect(reader.byteCount == bytes.count)
    }
  }

  @Test("after random changes, the rows are those of a dictionary", arguments: 1...20)
  func randomChanges(seed: Int) throws {
    var random = SplitMix64(seed: seed)
    var rows = PackedRows(Self.layout, keyOffsets: [1])
    var model: [RecordKey: Record] = [:]
    for step in 0..<4_000 {
      let number = Int64.random(in: 0..<300, using: &random)
      // 1 and 1.0 are the same key.
      let value: FieldValue =
        switch number % 3 {
        case 0: .text("key \(number)")
        case 1 where Bool.random(using: &random): .real(Double(number))
        default: .integer(number)
        }
      let key = RecordKey(value)
      let record = Record(
        uncheckedLayout: Self.layout,
        values: [
          Self.values.randomElement(using: &random)!, value,
          Self.values.randomElement(using: &random)!,
        ])
      let packed = PackedRow(record.values)
      let slot = rows.slot(of: key)
      #expect((slot == nil) == (model[key] == nil))
      if let slot, let known = model[key] {
        #expect(rows.key(at: slot) == key)
        #expect(rows.hasRow(packed, at: slot) == known.hasSameStorage(as: record))
        if Int.random(in: 0..<3, using: &random) == 0 {
          rows.remove(at: slot)
          model[key] = nil
        } else {
          rows.replace(at: slot, by: packed)
          model[key] = record
        }
      } else {
        _ = rows.insert(packed, key)
        model[key] = record
      }
      #expect(rows.count == model.count)
      if step % 100 == 0 { #expect(contents(rows, haveSameStorageAs: model)) }
    }
    #expect(contents(rows, haveSameStorageAs: model))
  }

  private func contents(_ rows: PackedRows, haveSameStorageAs model: [RecordKey: Record]) -> Bool {
    let records = rows.records()
    return records.count == model.count
      && records.allSatisfy { record in
        model[RecordKey(record.values[1])]?.hasSameStorage(as: record) == true
      }
      && model.keys.allSatisfy { rows.slot(of: $0).map(rows.key(at:)) == $0 }
  }

  @Test("bytes that are no longer needed are reused")
  func compaction() {
    var rows = PackedRows(Self.layout, keyOffsets: [1])
    func packed(_ key: Int64, _ count: Int) -> PackedRow {
      PackedRow([.null, .integer(key), .blob(Array(repeating: 1, count: count))])
    }
    for key in Int64(0)..<100 { _ = rows.insert(packed(key, 1_000), RecordKey(.integer(key))) }
    for round in 0..<200 {
      for key in Int64(0)..<100 {
        guard let slot = rows.slot(of: RecordKey(.integer(key))) else {
          Issue.record("row \(key) is missing")
          return
        }
        rows.replace(at: slot, by: packed(key, 1_000 + round % 7))
      }
    }
    #expect(rows.byteCount < 1 << 20)
    for key in Int64(0)..<100 { rows.remove(at: rows.slot(of: RecordKey(.integer(key)))!) }
    #expect(rows.count == 0)
    #expect(rows.slotCount == 100)
    _ = rows.insert(packed(7, 1), RecordKey(.integer(7)))
    #expect(rows.slotCount == 100)
    #expect(rows.records().map(\.values[1]) == [7])
  }
}
