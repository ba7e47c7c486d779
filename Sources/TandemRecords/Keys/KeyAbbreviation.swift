extension FieldValue {
  /// A number that is no greater than that of any greater value: most comparisons of values can be
  /// decided by it alone, without looking at their texts.
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
