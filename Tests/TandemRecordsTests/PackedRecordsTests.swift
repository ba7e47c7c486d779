import TandemRecords
import TestRandom
import Testing

@Suite("Packed records")
struct PackedRecordsTests {
  private static let values: [FieldValue] = [
    .null, .integer(0), .integer(-1), .integer(127), .integer(128), .integer(-129),
    .integer(Int64(Int32.max)), .integer(Int64(Int32.max) + 1), .integer(.min), .integer(.max),
    .real(0), .real(-0.0), .real(1.5), .real(.infinity), .real(.leastNonzeroMagnitude),
    .text(""), .text("a"), .text("e\u{301}"), .text("\u{E9}\u{0}z"),
    .text(String(repeating: "ü", count: 70)), .text(String(repeating: "x", count: 300_000)),
    .blob([]), .blob([0]), .blob(Array(repeating: 255, count: 200)),
  ]

  @Test("are the records that were added, with the storage of each value, in their order")
  func roundTrip() throws {
    let all = Self.values.map { ["a": $0, "b": 1, "c": $0] as Record }
    let records = all + [[:], ["z": .null], ["c": 1, "a": 2]] + all.reversed()
    let packed = PackedRecords(records)
    #expect(packed.count == records.count)
    for (position, record) in records.enumerated() {
      #expect(packed[position].layout === record.layout)
      #expect(packed[position].hasSameStorage(as: record), "\(position)")
      for offset in record.values.indices {
        let value = packed.value(at: offset, ofRecordAt: position)
        #expect(value.hasSameStorage(as: record.values[offset]), "\(position), \(offset)")
      }
    }
    #expect(Array(packed) == records)
    #expect(packed == PackedRecords(records) && packed != PackedRecords(records.dropLast()))
  }

  @Test("have each layout once, and know that of each record")
  func layouts() throws {
    let layouts = try (0..<300).map { try #require(RecordLayout(["\($0)"])) }
    let order = Array(0..<300) + [0, 1, 127, 128, 129, 299, 299, 255, 256, 1]
    let packed = PackedRecords(order.map { Record(uncheckedLayout: layouts[$0], values: [1]) })
    #expect(packed.layouts.map(ObjectIdentifier.init) == layouts.map(ObjectIdentifier.init))
    #expect(packed.indices.map(packed.layoutIndex) == order)
    #expect(packed.indices.map { packed.row(at: $0).layoutIndex } == order)
  }

  @Test("know the kinds of the values of each field, by layout, without reading them")
  func kinds() throws {
    let ab = try #require(RecordLayout(["a", "b"]))
    let b = try #require(RecordLayout(["b"]))
    var packed = PackedRecords([
      Record(uncheckedLayout: ab, values: [1, .real(.nan)]),
      Record(uncheckedLayout: b, values: [2.5]),
      Record(uncheckedLayout: ab, values: [.integer((1 << 53) + 1), .real(-0.0)]),
    ])
    packed.append(contentsOf: [Record(uncheckedLayout: b, values: [.blob([])])])
    #expect(packed.kinds(at: 0, ofLayout: 0) == [.integer, .longInteger])
    #expect(packed.kinds(at: 1, ofLayout: 0) == [.null, .minusZero])
    #expect(packed.kinds(at: 0, ofLayout: 1) == [.real, .blob])
    #expect(FieldValue.text("").kind == .text && FieldValue.null.kind == .null)
    #expect(FieldValue.integer(.max).kind == .longInteger && FieldValue.real(0).kind == .real)
    #expect(Self.values.allSatisfy { ValueKinds.all.contains($0.kind) })
  }

  @Test("have the values of packed rows that are equal to theirs, and of no others")
  func packedValues() {
    let rows = Self.values.map { [$0, 1] } + [[1, .null], [1, 1]]
    let packed = PackedRecords(rows.map { ["a": $0[0], "b": $0[1]] as Record })
    for (position, row) in rows.enumerated() {
      let packedRow = PackedRow(row)
      for other in rows.indices {
        let isEqual = zip(row, rows[other]).allSatisfy { $0.hasSameStorage(as: $1) }
        #expect(packed.hasValues(packedRow, at: other) == isEqual, "\(position), \(other)")
      }
    }
  }

  @Test("go on after those of another list, and are values", arguments: 0..<20)
  func appending(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    func records() -> [Record] {
      (0..<Int.random(in: 0...40, using: &random)).map { _ in
        ["v": Self.values.randomElement(using: &random) ?? .null, "w": 7]
      }
    }
    let (first, second) = (records(), records())
    var packed = PackedRecords(first)
    let copy = packed
    packed.append(contentsOf: PackedRecords(second))
    #expect(Array(packed) == first + second)
    #expect(Array(copy) == first)
  }

  @Test("that a text is read into are those of RecordReader", arguments: RecordFormat.allCases)
  func reading(format: RecordFormat) throws {
    let text =
      switch format {
      case .json: #"[{"a":1,"b":[1]},{"b":"x"},{}]"#
      case .ndjson: "{\"a\":1}\n\n{\"b\":2.5}\n"
      case .csv: "a,b\n1,x\n2.5,\n"
      case .tsv: "a\tb\n1\tx\n2.5\t\n"
      }
    let bytes = Array(text.utf8)
    let records = try RecordReader.records(in: bytes, format: format)
    let packed = try RecordReader.packedRecords(in: bytes, format: format)
    #expect(!records.isEmpty && Array(packed) == records)
    let broken = bytes.dropLast(format.isCSV ? 1 : 2) + Array(format.isCSV ? "\"".utf8 : "".utf8)
    let error = #expect(throws: RecordError.self) {
      try RecordReader.records(in: Array(broken), format: format)
    }
    let packedError = #expect(throws: RecordError.self) {
      try RecordReader.packedRecords(in: Array(broken), format: format)
    }
    #expect(packedError == error)
  }
}
