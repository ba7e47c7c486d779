internal import CSQLite
package import TandemRecords

/// The type conversion that a column applies to values stored in it
/// (https://www.sqlite.org/datatype3.html, section 3).
package enum ColumnAffinity: String, Hashable, Sendable {
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
  package init(declaredType: String) {
    // By bytes: as a character, the T of INT with an accent would not be one.
    let type = declaredType.utf8.map(\.asciiLowercased)
    func hasAny(_ words: String...) -> Bool {
      // `contains` of a collection would take a tenth of the time in which a file is attached.
      words.contains { word in type.indices.contains { type[$0...].starts(with: word.utf8) } }
    }
    if hasAny("int") {
      self = .integer
    } else if hasAny("char", "clob", "text") {
      self = .text
    } else if hasAny("blob") || type.isEmpty {
      self = .none
    } else if hasAny("real", "floa", "doub") {
      self = .real
    } else {
      self = .numeric
    }
  }

  /// The kinds of values of which a column of this affinity stores every one unchanged.
  package var keptKinds: ValueKinds {
    switch self {
    case .text: [.null, .text, .blob]
    case .integer, .numeric: [.null, .integer, .longInteger, .blob]
    // Zero is stored as an integer, without a sign.
    case .real: [.null, .real, .blob]
    case .none: .all
    }
  }

  /// The value that a column of this affinity stores when given `value`, or `nil` if information
  /// would be lost on the way: `007` in an INTEGER column, 2^53 + 1 in a REAL one.
  ///
  /// A number becomes a text only if that reads back as the number, and a text a number only if
  /// SQLite writes that number as the same text: a REAL column does not take the text `1`, which
  /// would come back as `1.0`.
  ///
  /// Write the value returned, not the one given: a real that SQLite reads from a text of 15 digits
  /// may, rarely, be the neighbour of the nearest one, which this is.
  package func stored(_ value: FieldValue) -> FieldValue? {
    switch (self, value) {
    case (_, _) where value.isNull: return .null
    case (.none, _), (_, .null), (_, .blob), (.text, .text): return value
    case (.text, .integer), (.text, .real):
      return value.sqliteText.flatMap { FieldValue(sqliteNumber: $0) == value ? .text($0) : nil }
    case (.integer, .integer), (.numeric, .integer): return value
    case (.real, .real(let number)): return .real(number == 0 ? 0 : number)
    case (.integer, .real(let number)), (.numeric, .real(let number)):
      // SQLite leaves the least integer alone.
      let integer = Int64(exactly: number)
      return integer.map { $0 == .min ? value : .integer($0) } ?? value
    case (.real, .integer(let number)):
      return Int64(exactly: Double(number)) == number ? .real(Double(number)) : nil
    case (.integer, .text(let text)), (.numeric, .text(let text)), (.real, .text(let text)):
      guard text.looksNumericToSQLite else { return value }
      // SQLite's columns of numbers have no minus zero.
      guard let number = FieldValue(sqliteNumber: text), !number.isMinusZero,
        let stored = stored(number)
      else { return nil }
      return stored.sqliteText == text ? stored : nil
    }
  }

  /// The value that a column holds once another one has been written to it, even if that alters it.
  package func altered(_ value: FieldValue) -> FieldValue {
    if let stored = stored(value) { return stored }
    if self == .real, case .integer(let number) = value { return .real(Double(number)) }
    guard case .text(let text) = value else { return value.sqliteText.map { .text($0) } ?? value }
    let digits = text.withoutSQLiteSpaces
    // A number that is too large is infinite.
    let number = FieldValue(sqliteNumber: digits) ?? Double(digits).map { .real($0) }
    return number.map(altered) ?? value
  }
}

extension FieldValue {
  /// The text that SQLite makes of a number: a real has 15 digits.
  fileprivate var sqliteText: String? {
    switch self {
    case .integer(let number): return String(number)
    // SQLite itself leaves the sign out.
    case .real where isMinusZero: return "-0.0"
    case .real(let number):
      guard let text = withVaList([number], { sqlite3_vmprintf("%!.15g", $0) }) else { return nil }
      defer { sqlite3_free(text) }
      return String(cString: text)
    case .null, .text, .blob: return nil
    }
  }

  fileprivate var isMinusZero: Bool {
    if case .real(let number) = self { number == 0 && number.sign == .minus } else { false }
  }

  /// The number that a text of digits is: an integer if it is written as one and is small enough.
  fileprivate init?(sqliteNumber text: String) {
    if let integer = Int64(text) {
      self = .integer(integer)
    } else if let real = Double(text), real.isFinite {
      self = .real(real)
    } else {
      return nil
    }
  }
}

extension String {
  /// The text without the spaces around it that SQLite ignores in a number.
  fileprivate var withoutSQLiteSpaces: String {
    let isSpace = { (byte: UInt8) in byte == 32 || (9...13).contains(byte) }
    let trimmed = utf8.drop(while: isSpace).reversed().drop(while: isSpace)
    return String(decoding: trimmed.reversed(), as: UTF8.self)
  }

  /// True if SQLite's numeric affinities would convert this text: one decimal number, possibly with
  /// a sign, a fraction, an exponent and spaces around it.
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
}
