public import TandemRecords

/// How a column changes the type of the values stored in it
/// (https://www.sqlite.org/datatype3.html, section 3).
public enum ColumnAffinity: String, Hashable, Sendable {
  /// Numbers become texts.
  case text
  /// Texts that look like numbers become numbers.
  case numeric
  /// As numeric, and reals without a fraction become integers.
  case integer
  /// As numeric, and integers become reals.
  case real
  /// Every value stays as it is.
  case none

  /// The affinity of a column declared with a type, by SQLite's five rules.
  public init(declaredType: String) {
    let type = declaredType.uppercased()
    if type.contains("INT") {
      self = .integer
    } else if type.contains("CHAR") || type.contains("CLOB") || type.contains("TEXT") {
      self = .text
    } else if type.contains("BLOB") || type.isEmpty {
      self = .none
    } else if type.contains("REAL") || type.contains("FLOA") || type.contains("DOUB") {
      self = .real
    } else {
      self = .numeric
    }
  }

  /// Whether a column of this affinity stores a value of this type as it is, whatever the value.
  @inlinable
  public func keeps(_ value: FieldValue) -> Bool {
    switch (self, value) {
    case (.none, _), (_, .null), (_, .blob): return true
    case (.text, .text), (.integer, .integer), (.numeric, .integer), (.real, .real): return true
    default: return false
    }
  }

  /// The value that a column of this affinity stores when given `value`, or `nil` if information
  /// would be lost on the way: `007` in an INTEGER column, 2^53 + 1 in a REAL one.
  ///
  /// Texts count as numbers only in the form SQLite itself writes them, so that each text read back
  /// is the text that was written; any other text that SQLite would turn into a number is a loss.
  public func stored(_ value: FieldValue) -> FieldValue? {
    switch (self, value) {
    case (.none, _), (_, .null), (_, .blob): return value
    case (.text, .text): return value
    case (.text, .integer(let number)): return .text(String(number))
    case (.text, .real(let number)): return number.sqliteText.map { .text($0) }
    case (.integer, .integer), (.numeric, .integer): return value
    case (.integer, .real(let number)), (.numeric, .real(let number)):
      return Int64(exactly: number).map { .integer($0) } ?? value
    case (.real, .integer(let number)):
      return Int64(exactly: Double(number)) == number ? .real(Double(number)) : nil
    case (.real, .real): return value
    case (.integer, .text(let text)), (.numeric, .text(let text)), (.real, .text(let text)):
      guard text.looksNumericToSQLite else { return value }
      guard let number = text.canonicalNumber else { return nil }
      return stored(number)
    }
  }
}

extension Double {
  /// What SQLite makes of this number as a text, if that reads back as the same number: it writes 15
  /// digits.
  fileprivate var sqliteText: String? {
    guard isFinite else { return nil }
    let text = description
    let digits = text.prefix { $0 != "e" }.filter(\.isNumber)
    return digits.count <= 15 && abs(self) < 1e15 && (self == 0 || abs(self) >= 1e-4) ? text : nil
  }
}

extension String {
  /// Whether SQLite's numeric affinities would convert this text: a decimal number as a whole, maybe
  /// with a sign, a fraction, an exponent and spaces around it.
  fileprivate var looksNumericToSQLite: Bool {
    var rest = utf8[...]
    func skip(_ isWanted: (UInt8) -> Bool) -> Int {
      let skipped = rest.prefix(while: isWanted).count
      rest = rest.dropFirst(skipped)
      return skipped
    }
    func skipSpaces() { _ = skip { $0 == 32 || (9...13).contains($0) } }
    func skipSign() { if rest.first == 43 || rest.first == 45 { rest = rest.dropFirst() } }
    func skipDigits() -> Int { skip { (48...57).contains($0) } }
    skipSpaces()
    skipSign()
    var digitCount = skipDigits()
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst()
      digitCount += skipDigits()
    }
    guard digitCount > 0 else { return false }
    if rest.first.map({ $0 | 0x20 }) == UInt8(ascii: "e") {
      rest = rest.dropFirst()
      skipSign()
      guard skipDigits() > 0 else { return false }
    }
    skipSpaces()
    return rest.isEmpty
  }

  /// The number this text is the usual form of: `12`, `-3`, `1.5`; not `012`, `+3`, `1.50`.
  fileprivate var canonicalNumber: FieldValue? {
    if let integer = Int64(self) { return String(integer) == self ? .integer(integer) : nil }
    guard let real = Double(self), real.isFinite, real.description == self else { return nil }
    return .real(real)
  }
}
