/// The types that fit all values of a CSV column read so far.
///
/// The rule is in ``RecordReader/records(in:format:csv:limits:)-(UnsafeRawBufferPointer,_,_,_)``.
struct CSVColumn {
  /// The type of a column's values.
  enum ValueType {
    case integer
    case real
    case text
  }

  /// The maximum number of significant digits with which different decimals become different
  /// doubles.
  static let maxSignificantDigitCount = 15

  private var fitsIntegers: Bool
  private var fitsReals: Bool

  /// A column without values, which may only become one of texts if `isText` is true.
  init(isText: Bool) { (fitsIntegers, fitsReals) = (!isText, !isText) }

  /// The narrowest type that fits all values.
  var type: ValueType { fitsIntegers ? .integer : fitsReals ? .real : .text }

  /// Takes a field into account.
  @inline(__always)
  mutating func note(_ cell: CSVCell, in bytes: UnsafeRawBufferPointer) {
    guard fitsIntegers || fitsReals, !cell.isNull else { return }
    let literal = DecimalLiteral(bytes, from: cell.start, to: cell.end)
    guard cell.kind == .plain, literal.isComplete, literal.end == cell.end else {
      fitsIntegers = false
      fitsReals = false
      return
    }
    if fitsIntegers { fitsIntegers = CSVColumn.isCanonicalInteger(literal, in: bytes) }
    if fitsReals { fitsReals = CSVColumn.isExactReal(literal, in: bytes) }
  }

  @inline(__always)
  private static func isCanonicalInteger(
    _ literal: DecimalLiteral, in bytes: UnsafeRawBufferPointer
  ) -> Bool {
    guard literal.isInteger, let value = literal.integer(in: bytes) else { return false }
    return value != 0 || bytes[literal.start] != ASCII.minus
  }

  @inline(__always)
  private static func isExactReal(
    _ literal: DecimalLiteral, in bytes: UnsafeRawBufferPointer
  ) -> Bool {
    guard literal.significantCount <= maxSignificantDigitCount else { return false }
    return literal.significantCount == 0 || literal.real(in: bytes).isNormal
  }
}
