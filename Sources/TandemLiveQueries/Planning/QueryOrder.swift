internal import TandemRecords
internal import TandemSQLite

/// The order of a result, complete: no two of its rows are equal by it.
///
/// It equals SQLite's order for the collations that are part of SQLite, so that rows can be placed
/// in memory.
struct QueryOrder: Hashable, Sendable {
  /// The collations of SQLite.
  enum Collation: String, Hashable, Sendable, CaseIterable {
    case binary = "BINARY"
    case noCase = "NOCASE"
    case rightTrimmed = "RTRIM"
  }

  /// One term of an ORDER BY.
  struct Term: Hashable, Sendable {
    /// The offset of its values in a row of the result.
    var offset: Int
    var collation = Collation.binary
    var isDescending = false
    /// True if nulls come last; otherwise they come first, in either direction.
    var putsNullsLast = false
  }

  /// The terms of the ORDER BY. Rows that are equal by all of them are in the order of their keys.
  let terms: [Term]

  /// Negative, zero or positive as a row comes before another, is the same, or comes after it.
  func compare(_ first: KeyedRow, _ second: KeyedRow) -> Int {
    for term in terms {
      let order = term.compare(first.record.values[term.offset], second.record.values[term.offset])
      if order != 0 { return order }
    }
    return first.key == second.key ? 0 : first.key < second.key ? -1 : 1
  }
}

extension QueryOrder.Term {
  /// Negative, zero or positive as rows with these values are in order, equal, or out of order.
  func compare(_ first: FieldValue, _ second: FieldValue) -> Int {
    if first.isNull || second.isNull {
      if first.isNull && second.isNull { return 0 }
      return first.isNull == putsNullsLast ? 1 : -1
    }
    let order = collation.compare(first, second)
    return isDescending ? -order : order
  }
}

extension QueryOrder.Collation {
  /// Negative, zero or positive by SQLite's order; only texts have collations.
  func compare(_ first: FieldValue, _ second: FieldValue) -> Int {
    guard case .text(let a) = first, case .text(let b) = second else {
      return first == second ? 0 : first < second ? -1 : 1
    }
    return UTF8Order.withBytes(of: a) { a in UTF8Order.withBytes(of: b) { b in compare(a, b) } }
  }

  private func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    switch self {
    case .binary: return UTF8Order.compare(a, b)
    case .noCase: return Self.compareWithoutCase(a, b)
    case .rightTrimmed: return UTF8Order.compare(Self.trimmed(a), Self.trimmed(b))
    }
  }

  /// SQLite compares ASCII letters in lower case, and after a NUL only the lengths.
  private static func compareWithoutCase(
    _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer
  ) -> Int {
    for (x, y) in zip(a, b) {
      let order = Int(folded(x)) - Int(folded(y))
      if order != 0 { return order }
      if x == 0 { break }
    }
    return a.count - b.count
  }

  private static func folded(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte | 32 : byte }

  private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let end = bytes.lastIndex { $0 != UInt8(ascii: " ") }.map { $0 + 1 } ?? 0
    return UnsafeRawBufferPointer(rebasing: bytes[..<end])
  }
}
