internal import TandemDigests
package import TandemRecords

/// The bytes of a record that its hash is computed from: deterministic CBOR (RFC 8949, section
/// 4.2.1). They are written and never read.
///
/// A record is the array of its table's name, the array of its key's values, and the map of its
/// fields. Fields that are null are left out, and so is a NaN, because SQLite stores it as null: a
/// record has the same bytes before and after a column is added to its table. In a key, a real that
/// equals an integer is written as that integer, because both identify the same row. In a field,
/// `1` and `1.0` differ, and so do `0.0` and `-0.0`.
package enum RecordEncoding {
  /// Appends the bytes of a record.
  package static func append(_ key: SyncKey, _ fields: Record, to bytes: inout [UInt8]) {
    append(key, to: &bytes)
    append(fields, in: FieldOrder(fields.layout), to: &bytes)
  }

  /// Appends the part before the fields.
  fileprivate static func append(_ key: SyncKey, to bytes: inout [UInt8]) {
    bytes.append(cborHead: .array, 3)
    bytes.append(cbor: key.table)
    append(id: key.id, to: &bytes)
  }

  /// Appends the array of a key's values: equal keys have equal bytes.
  package static func append(id: [FieldValue], to bytes: inout [UInt8]) {
    bytes.append(cborHead: .array, UInt64(id.count))
    for value in id { bytes.append(cbor: value.canonicalInKey) }
  }

  /// The number of bytes of a key: the name of its table, and the array of its values.
  package static func byteCount(of key: SyncKey) -> Int {
    var bytes: [UInt8] = []
    append(id: key.id, to: &bytes)
    return key.table.utf8.count + bytes.count
  }

  fileprivate static func append(
    _ fields: Record, in order: FieldOrder, to bytes: inout [UInt8]
  ) {
    let count = fields.values.reduce(0) { $0 + ($1.isNull ? 0 : 1) }
    bytes.append(cborHead: .map, UInt64(count))
    for (offset, name) in order.fields where !fields.values[offset].isNull {
      bytes.append(contentsOf: name)
      bytes.append(cbor: fields.values[offset])
    }
  }
}

/// Computes the hashes of records: of each, the first 128 bits of the SHA-256 of its
/// ``RecordEncoding``.
///
/// It keeps the order of the fields of the last layout, which most records share with the one before.
package final class RecordHasher {
  private var hash = SHA256()
  private var bytes: [UInt8] = []
  private var order = FieldOrder(RecordLayout(uniqueNames: []))

  /// A hasher.
  package init() {}

  /// The hash of a record.
  package func hash(_ key: SyncKey, _ fields: Record) -> UInt128 {
    if !order.layout.hasSameOrder(as: fields.layout) { order = FieldOrder(fields.layout) }
    bytes.removeAll(keepingCapacity: true)
    RecordEncoding.append(key, to: &bytes)
    RecordEncoding.append(fields, in: order, to: &bytes)
    return bytes.withUnsafeBytes { hash.leadingBits(of: $0) }
  }
}

/// The fields of a layout in the order of their encodings.
private struct FieldOrder {
  let layout: RecordLayout
  /// The offset of each field, and its encoded name.
  let fields: [(offset: Int, name: [UInt8])]

  init(_ layout: RecordLayout) {
    self.layout = layout
    let names = layout.names
    fields = names.indices.sorted { names[$0].precedesAsCBOR(names[$1]) }.map { offset in
      var name: [UInt8] = []
      name.append(cbor: names[offset])
      return (offset, name)
    }
  }
}

extension FieldValue {
  /// The form of the value in a key: a real that equals an integer is that integer.
  fileprivate var canonicalInKey: FieldValue {
    if case .real(let number) = self, let integer = Int64(exactly: number) {
      .integer(integer)
    } else {
      self
    }
  }
}

extension String {
  /// True if the encoding of this text is before that of the other: the shorter one first, and
  /// texts of the same length in the order of their bytes.
  fileprivate func precedesAsCBOR(_ other: String) -> Bool {
    utf8.count != other.utf8.count
      ? utf8.count < other.utf8.count : UTF8Order.precedes(self, other)
  }
}

/// The major types of CBOR that records need.
private enum CBORType: UInt8 {
  case unsigned = 0
  case negative = 1
  case bytes = 2
  case text = 3
  case array = 4
  case map = 5
}

extension [UInt8] {
  /// Appends the head of an item: its type, and its argument in the fewest bytes.
  fileprivate mutating func append(cborHead type: CBORType, _ argument: UInt64) {
    let first = type.rawValue << 5
    switch argument {
    case 0..<24: append(first | UInt8(argument))
    case ...0xFF: append(first | 24, bigEndian: UInt8(argument))
    case ...0xFFFF: append(first | 25, bigEndian: UInt16(argument))
    case ...0xFFFF_FFFF: append(first | 26, bigEndian: UInt32(argument))
    default: append(first | 27, bigEndian: argument)
    }
  }

  fileprivate mutating func append(cbor value: FieldValue) {
    switch value {
    case .null: append(0xF6)
    case .integer(let number) where number >= 0: append(cborHead: .unsigned, UInt64(number))
    case .integer(let number): append(cborHead: .negative, UInt64(bitPattern: ~number))
    case .real(let number): append(cbor: number)
    case .text(let text): append(cbor: text)
    case .blob(let blob):
      append(cborHead: .bytes, UInt64(blob.count))
      append(contentsOf: blob)
    }
  }

  fileprivate mutating func append(cbor text: String) {
    append(cborHead: .text, UInt64(text.utf8.count))
    append(contentsOf: text.utf8)
  }

  /// Appends the shortest of the three floating-point forms that keeps the value. A NaN is null.
  fileprivate mutating func append(cbor number: Double) {
    if number.isNaN {
      append(0xF6)
    } else if let half = HalfPrecision(exactly: number) {
      append(0xF9, bigEndian: half.bits)
    } else if let single = Float(exactly: number) {
      append(0xFA, bigEndian: single.bitPattern)
    } else {
      append(0xFB, bigEndian: number.bitPattern)
    }
  }

  private mutating func append(_ first: UInt8, bigEndian argument: some FixedWidthInteger) {
    append(first)
    Swift.withUnsafeBytes(of: argument.bigEndian) { append(contentsOf: $0) }
  }
}

/// A number of IEEE 754's binary16, which `Float16` is not on every platform.
private struct HalfPrecision {
  let bits: UInt16

  /// The number, if binary16 holds it exactly.
  init?(exactly number: Double) {
    let sign: UInt16 = number.sign == .minus ? 0x8000 : 0
    guard number != 0, number.isFinite else {
      bits = sign | (number == 0 ? 0 : 0x7C00)
      return
    }
    // A number is significand × 2^exponent, with 1 ≤ significand < 2. Below 2^-14 the spacing of
    // binary16 is 2^-24; above, it has ten digits after the point.
    let exponent = number.exponent
    guard exponent <= 15, exponent >= -24 else { return nil }
    let spacing = Swift.max(exponent, -14) - 10
    let units = Double(sign: .plus, exponent: -Int(spacing), significand: number.magnitude)
    guard let count = UInt16(exactly: units) else { return nil }
    bits =
      exponent < -14
      ? sign | count : sign | UInt16(exponent + 15) << 10 | (count & 0x3FF)
  }
}
