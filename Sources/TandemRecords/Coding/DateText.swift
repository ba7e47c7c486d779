/// The text of a date and a time, read from its start.
struct DateText {
  private var rest: Substring.UTF8View

  init(_ text: String) { rest = text[...].utf8 }

  /// True if a space stands between a date of ten characters and a time, as SQLite writes them.
  static func hasSpace(_ text: String) -> Bool { text.utf8.dropFirst(10).first == ASCII.space }

  /// The instant, if the whole text is one: by ISO 8601 with a time and an offset from UTC, or by the
  /// rules of SQLite, where both may be missing.
  func instant(isSQLite: Bool) -> Instant? {
    var text = self
    guard let year = text.number(4), text.skip("-"), let month = text.number(2), text.skip("-"),
      let day = text.number(2), let date = CivilDate(year: year, month: month, day: day)
    else { return nil }
    if isSQLite, text.rest.isEmpty {
      return Instant(date: date, second: 0, decimals: [], offset: 0)
    }
    guard text.skip("T") || text.skip(isSQLite ? " " : "t"), let hour = text.number(2),
      text.skip(":"), let minute = text.number(2), hour < 24, minute < 60
    else { return nil }
    var second: Int128 = 0
    var decimals: [UInt8] = []
    if text.skip(":") {
      guard let number = text.number(2), number < 60 else { return nil }
      second = number
      if text.skip(".") {
        decimals = text.digits()
        if decimals.isEmpty { return nil }
      }
    }
    let offset = isSQLite && text.rest.isEmpty ? 0 : text.offset()
    guard let offset, text.rest.isEmpty else { return nil }
    return Instant(
      date: date, second: hour * 3_600 + minute * 60 + second, decimals: decimals, offset: offset)
  }

  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func digits() -> [UInt8] {
    let digits = rest.prefix { ASCII.digits.contains($0) }.map(ASCII.digit)
    rest.removeFirst(digits.count)
    return digits
  }

  /// A number of exactly that many digits.
  private mutating func number(_ digitCount: Int) -> Int128? {
    let digits = rest.prefix(digitCount)
    guard digits.count == digitCount, digits.allSatisfy(ASCII.digits.contains) else { return nil }
    rest.removeFirst(digitCount)
    return digits.reduce(0) { $0 * 10 + Int128(ASCII.digit($1)) }
  }

  /// `Z`, or hours and perhaps minutes ahead of UTC, in seconds; `nil` for anything else.
  private mutating func offset() -> Int128? {
    if skip("Z") || skip("z") { return 0 }
    let isBehind = rest.first == ASCII.minus
    guard isBehind || rest.first == ASCII.plus else { return nil }
    rest.removeFirst()
    guard let hours = number(2), hours < 24 else { return nil }
    let hasMinutes = skip(":") || !rest.isEmpty
    guard let minutes = hasMinutes ? number(2) : 0, minutes < 60 else { return nil }
    return (hours * 3_600 + minutes * 60) * (isBehind ? -1 : 1)
  }
}
