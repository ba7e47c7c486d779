/// The keys of a list of records, and their order.
struct KeyValues {
  private let names: [String]
  private let recordCount: Int
  /// The values of the key fields, record by record.
  private let values: [FieldValue]

  /// Reads the keys of a number of records.
  ///
  /// - Parameter value: The value of a key field of the record at a position; `nil` if it has no such field.
  /// - Throws: ``RecordError`` if a record lacks a value.
  init(
    ofRecords recordCount: Int, key names: [String],
    value: (_ position: Int, _ field: Int) -> FieldValue?
  ) throws(RecordError) {
    var values: [FieldValue] = []
    values.reserveCapacity(recordCount * names.count)
    for position in 0..<recordCount {
      for field in names.indices {
        guard let value = value(position, field), !value.isNull else {
          throw RecordError(
            .missingKey,
            "the record has no value in the key field \(FieldValue.text(names[field]))",
            record: position + 1)
        }
        values.append(value)
      }
    }
    self.names = names
    self.values = values
    self.recordCount = recordCount
  }

  /// True if each key is less than the next.
  var areAscending: Bool {
    guard recordCount > 1 else { return true }
    return (1..<recordCount).allSatisfy { compare($0 - 1, $0) < 0 }
  }

  /// Returns the positions of the records in ascending order of their keys. Equal keys keep the
  /// order of the list.
  func ascendingOrder() -> [Int] {
    var entries = (0..<recordCount).map { position in
      (abbreviation: values[position * names.count].abbreviation, position: position)
    }
    entries.sort { first, second in
      if first.abbreviation != second.abbreviation {
        return first.abbreviation < second.abbreviation
      }
      let order = compare(first.position, second.position)
      return order != 0 ? order < 0 : first.position < second.position
    }
    return entries.map(\.position)
  }

  /// Returns an error about the first record in the list with the key of an earlier one, if there
  /// is one.
  func firstDuplicate(in order: [Int]) -> RecordError? {
    let pairs = zip(order, order.dropFirst()).filter { compare($0, $1) == 0 }
    guard let (first, second) = pairs.min(by: { $0.1 < $1.1 }) else { return nil }
    let key = zip(names, values[first * names.count..<(first + 1) * names.count])
      .map { "\($0) = \($1)" }.joined(separator: ", ")
    return RecordError(
      .duplicateKey, "the records \(first + 1) and \(second + 1) have the same key \(key)",
      record: second + 1)
  }

  /// Returns a negative number, zero or a positive number if the first key is less than, equal to
  /// or greater than the second.
  @inline(__always)
  private func compare(_ first: Int, _ second: Int) -> Int {
    for field in names.indices {
      let a = values[first * names.count + field]
      let b = values[second * names.count + field]
      if a < b { return -1 }
      if a != b { return 1 }
    }
    return 0
  }
}

/// Finds the values of key fields in records, looking their names up once per layout.
struct KeyFields {
  let names: [String]
  private var offsetsByLayout: [ObjectIdentifier: [Int?]] = [:]
  private var lastLayout: RecordLayout?
  private var lastOffsets: [Int?] = []

  init(_ names: [String]) {
    self.names = names
  }

  /// Returns the offsets of the fields in a record's values; `nil` for an absent field.
  ///
  /// Layouts are distinguished by identity, so `record` must outlive the use of its offsets.
  @inline(__always)
  mutating func offsets(in record: Record) -> [Int?] {
    if record.layout !== lastLayout { lookUp(record.layout) }
    return lastOffsets
  }

  @inline(never)
  private mutating func lookUp(_ layout: RecordLayout) {
    let identity = ObjectIdentifier(layout)
    let offsets = offsetsByLayout[identity] ?? names.map(layout.offset(of:))
    offsetsByLayout[identity] = offsets
    lastLayout = layout
    lastOffsets = offsets
  }
}

extension FieldValue {
  /// A number that is not greater than the number of any greater value. Most comparisons of values
  /// can be decided by it alone, without reading their texts.
  ///
  /// Two bits for the type, the rest for the start of the value. PostgreSQL sorts by such
  /// abbreviated keys too.
  var abbreviation: UInt64 {
    switch self {
    case .null: return 0
    case .integer(let number): return FieldValue.abbreviation(of: Double(number))
    case .real(let number): return number.isNaN ? 0 : FieldValue.abbreviation(of: number)
    case .text(let text): return UTF8Order.withBytes(of: text) { FieldValue.abbreviation(2, $0) }
    case .blob(let bytes): return bytes.withUnsafeBytes { FieldValue.abbreviation(3, $0) }
    }
  }

  /// Rounding an integer to a double keeps the order, and so does leaving out a double's last bits.
  private static func abbreviation(of number: Double) -> UInt64 {
    let bits = (number + 0).bitPattern  // -0.0 + 0 is 0.0, its equal
    let ascending = bits >> 63 == 0 ? bits | 1 << 63 : ~bits
    return 1 << 62 | ascending >> 2
  }

  private static func abbreviation(_ typeRank: UInt64, _ bytes: UnsafeRawBufferPointer) -> UInt64 {
    if bytes.count >= 8 {
      let word = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
      return typeRank << 62 | word >> 2
    }
    let word = bytes.reduce(0) { $0 << 8 | UInt64($1) } << UInt64(8 * (8 - bytes.count))
    return typeRank << 62 | word >> 2
  }
}
