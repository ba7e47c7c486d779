/// The way in which the cells of a CSV column become values.
package enum CSVColumnKind: Hashable, Sendable {
  /// Every cell is a text.
  case texts
  /// Each cell by itself is a number if it is written as one and no digit is lost, else a text.
  case numbers
  /// Each cell by itself is a number if the number is printed as this text, else a text.
  case printedNumbers
  /// The narrowest type that fits all cells; if that is a text, as ``printedNumbers``.
  case any
}

/// The types that fit all values of a CSV column read so far.
///
/// The rule is in ``RecordReader/records(in:format:csv:)-([UInt8],_,_)``.
struct CSVColumn {
  /// The type of a column's values.
  enum ValueType {
    case integer
    case real
    case text
    /// The values have types of their own: a number where one is written.
    case number
    /// The values have types of their own: a number where it is printed as the text.
    case printedNumber
  }

  /// The type that each cell can have by itself; `nil` if the cells together decide.
  private let kind: CSVColumnKind?
  private var fitsIntegers: Bool
  private var fitsReals: Bool
  private var hasNumber = false
  private(set) var hasQuotes = false

  /// A column without values.
  ///
  /// - Parameter kind: The way to read its cells; `nil` for the narrowest type that fits all of them.
  init(_ kind: CSVColumnKind?) {
    self.kind = kind
    let isOpen = kind == nil || kind == .any
    (fitsIntegers, fitsReals) = (isOpen, isOpen)
  }

  /// The type for all values.
  ///
  /// - Parameter quotesMeanText: True if some cells of the list have quotes and others have none, so that a
  ///   number in quotes is meant to be a text.
  func type(quotesMeanText: Bool) -> ValueType {
    switch kind {
    case .texts: return .text
    case .numbers: return .number
    case .printedNumbers: return .printedNumber
    case nil, .any:
      let isText = hasQuotes && (quotesMeanText || !hasNumber)
      if !isText, fitsIntegers { return .integer }
      if !isText, fitsReals { return .real }
      return kind == .any ? .printedNumber : .text
    }
  }

  /// Takes a field into account.
  @inline(__always)
  mutating func note(_ cell: CSVCell, in bytes: UnsafeRawBufferPointer) {
    guard fitsIntegers || fitsReals, !cell.isNull else { return }
    if cell.kind != .plain {
      hasQuotes = true
      if cell.start == cell.end { return }
    }
    let literal = DecimalLiteral(bytes, from: cell.start, to: cell.end)
    guard literal.isComplete, literal.end == cell.end else {
      fitsIntegers = false
      fitsReals = false
      return
    }
    hasNumber = true
    if fitsIntegers { fitsIntegers = CSVColumn.isCanonicalInteger(literal, in: bytes) }
    if fitsReals { fitsReals = CSVColumn.isReal(literal, in: bytes) }
  }

  @inline(__always)
  private static func isCanonicalInteger(
    _ literal: DecimalLiteral, in bytes: UnsafeRawBufferPointer
  ) -> Bool {
    guard literal.isInteger, let value = literal.integer(in: bytes) else { return false }
    return value != 0 || bytes[literal.start] != ASCII.minus
  }

  /// True if a literal is a real from which no digit is lost, and no code such as `1e5`.
  @inline(__always)
  private static func isReal(
    _ literal: DecimalLiteral, in bytes: UnsafeRawBufferPointer
  ) -> Bool {
    if literal.isInteger { return isExactReal(literal, in: bytes) }
    if literal.exponentMark > 0, isCode(literal, in: bytes) { return false }
    return literal.exactReal(in: bytes) != nil
  }

  /// True if a real equals the integer, and is printed with all of its digits.
  private static func isExactReal(
    _ literal: DecimalLiteral, in bytes: UnsafeRawBufferPointer
  ) -> Bool {
    if literal.significantCount <= 15 { return true }
    return literal.integer(in: bytes).map { $0.magnitude <= 1 << 53 } ?? false
  }

  /// True if a literal with an exponent is more likely a code: no program prints a number as `1e5` or `3E-12`.
  /// C, Python, R and Swift print `1e+05` and `1e-12`, JavaScript `1e-7`, Java `1.0E-5`.
  private static func isCode(_ literal: DecimalLiteral, in bytes: UnsafeRawBufferPointer) -> Bool {
    let mark = literal.exponentMark
    if bytes[literal.start..<mark].contains(ASCII.point) { return false }
    return bytes[mark] != UInt8(ascii: "e")
      || bytes[mark + 1] != ASCII.plus && bytes[mark + 1] != ASCII.minus
  }
}

extension FieldValue {
  /// The number that a cell of CSV is; `nil` if it is written in another way, or if a digit would be lost.
  package init?(numberIn cell: String) {
    let number = UTF8Order.withBytes(of: cell) {
      FieldValue(numberIn: $0, from: 0, to: $0.count)
    }
    guard let number else { return nil }
    self = number
  }

  /// The number that a part of a text is.
  init?(numberIn bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) {
    let literal = DecimalLiteral(bytes, from: start, to: end)
    guard literal.isComplete, literal.end == end else { return nil }
    if literal.isInteger {
      guard let integer = literal.integer(in: bytes) else { return nil }
      self = .integer(integer)
    } else {
      guard let real = literal.exactReal(in: bytes) else { return nil }
      self = .real(real)
    }
  }

  /// The number that is printed as this text; `nil` if there is none.
  package init?(numberPrintedAs text: String) {
    switch FieldValue(numberIn: text) {
    case .integer(let number)? where String(number) == text: self = .integer(number)
    case .real(let number)? where number.description == text: self = .real(number)
    default: return nil
    }
  }

  /// True if two values may stand for the same cell of CSV: equal values, a number and the text that it is
  /// printed as, or a number in a table and a text of a list that is this number.
  package func isSameCell(inTable stored: FieldValue) -> Bool {
    switch (self, stored) {
    case (.integer, .text(let text)), (.real, .text(let text)):
      FieldValue(numberPrintedAs: text) == self
    case (.text(let text), .integer), (.text(let text), .real): FieldValue(numberIn: text) == stored
    default: self == stored
    }
  }
}
