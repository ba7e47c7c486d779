import TandemRecords
import Testing

@Suite("Records that a table would hold alike")
struct RecordStorageTests {
  /// Values that `==` takes for the same in pairs, and others; each is stored in its own way.
  static let values: [FieldValue] = [
    .null, 0, 0.0, .real(-0.0), 1, 1.0, "1", "", .blob([]), .blob([0x31]), .real(.infinity),
    .integer(1 << 53), .real(0x1p53), "é", "e\u{301}",
  ]

  @Test("values are stored alike only if they are the same to the bit, whatever equality says")
  func values() {
    for (place, first) in Self.values.enumerated() {
      for (other, second) in Self.values.enumerated() {
        #expect(first.hasSameStorage(as: second) == (place == other), "\(first), \(second)")
      }
    }
  }

  @Test("a NaN is stored as null, whichever NaN it is")
  func notANumber() {
    let values: [FieldValue] = [.null, .real(.nan), .real(-.nan), .real(.signalingNaN)]
    for first in values {
      for second in values { #expect(first.hasSameStorage(as: second)) }
      #expect(!first.hasSameStorage(as: 0.0) && !FieldValue.text("").hasSameStorage(as: first))
    }
  }

  @Test("records are, whatever the order of their fields, and whether a null is absent")
  func records() {
    let record: Record = ["a": 1, "b": "x", "c": .null]
    #expect(record.hasSameStorage(as: ["a": 1, "b": "x", "c": .null]))
    #expect(record.hasSameStorage(as: ["c": .real(.nan), "b": "x", "a": 1]))
    #expect(record.hasSameStorage(as: ["b": "x", "a": 1]))
    for other: Record in [
      ["a": 1.0, "b": "x", "c": .null], ["b": "x", "a": 1.0], ["a": 1, "b": "x", "d": 0],
      ["a": 1], ["a": 1, "b": .blob([0x78]), "c": .null],
    ] {
      #expect(!record.hasSameStorage(as: other) && !other.hasSameStorage(as: record), "\(other)")
    }
  }
}
