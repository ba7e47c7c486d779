/// An instant in exact decimal seconds since 2001, Foundation's reference date, in UTC.
struct Instant: Hashable {
  /// The time in units of 10^-`digitCount` seconds.
  private let ticks: Int128
  /// The number of decimals, the last of which is not zero.
  private let digitCount: Int

  private static var maxDigitCount: Int { 24 }
  private static var secondsFrom1970: Int128 { 978_307_200 }

  private init(ticks: Int128, digitCount: Int) {
    var (ticks, digitCount) = (ticks, digitCount)
    while digitCount > 0, ticks % 10 == 0 {
      ticks /= 10
      digitCount -= 1
    }
    self.ticks = ticks
    self.digitCount = digitCount
  }

  /// The number of seconds since 2001, or, with another `start`, that number of seconds later.
  /// `nil` if it is far from any date, or has too many digits.
  init?(_ number: DecimalNumber, since start: Int128 = 0) {
    let digitCount = max(0, -number.exponent)
    guard digitCount <= Self.maxDigitCount, number.magnitude < DecimalNumber.power(20),
      number.exponent < 18
    else { return nil }
    let magnitude = Int128(number.magnitude * DecimalNumber.power(max(0, number.exponent)))
    let unit = Int128(DecimalNumber.power(digitCount))
    let (offset, isOverflow) = start.multipliedReportingOverflow(by: unit)
    guard !isOverflow else { return nil }
    self.init(ticks: (number.isNegative ? -magnitude : magnitude) + offset, digitCount: digitCount)
  }

  private var unit: Int128 { Int128(DecimalNumber.power(digitCount)) }

  private func seconds(since start: Int128) -> DecimalNumber {
    DecimalNumber(ticks - start * unit, exponent: -digitCount)
  }
}

// MARK: - Dates

extension Instant {
  /// The instant of a `Date`, which counts seconds since 2001.
  init?(referenceSeconds: Double) {
    guard let number = DecimalNumber(referenceSeconds) else { return nil }
    self.init(number)
  }

  /// The seconds of a `Date`; `nil` if it does not hold the instant exactly.
  var referenceSeconds: Double? {
    guard let seconds = Double(seconds(since: 0).description),
      Instant(referenceSeconds: seconds) == self
    else { return nil }
    return seconds
  }

  /// The instant in a field.
  init?(_ value: FieldValue, _ coding: RecordDateCoding) {
    switch (coding, value) {
    case (.stored, .text(let text)):
      let instant = DateText(text).instant(isSQLite: DateText.hasSpace(text))
      guard let instant else { return nil }
      self = instant
    case (.iso8601, .text(let text)):
      guard let instant = DateText(text).instant(isSQLite: false) else { return nil }
      self = instant
    case (.sqliteText, .text(let text)):
      guard let instant = DateText(text).instant(isSQLite: true) else { return nil }
      self = instant
    case (.secondsSince1970, .integer), (.secondsSince1970, .real):
      guard let number = DecimalNumber(value) else { return nil }
      self.init(number, since: -Self.secondsFrom1970)
    case (.millisecondsSince1970, .integer), (.millisecondsSince1970, .real):
      guard let integer = Int64(fieldValue: value) else { return nil }
      self.init(DecimalNumber(integer, exponent: -3), since: -Self.secondsFrom1970)
    case (.secondsSince2001, .integer), (.secondsSince2001, .real):
      guard let number = DecimalNumber(value) else { return nil }
      self.init(number)
    default: return nil
    }
  }

  /// The form in a field; `nil` if it has none, because a text has years from 0 to 9999 only.
  ///
  /// - Parameter sample: A value that the column of the field has, if one is known.
  func fieldValue(_ coding: RecordDateCoding, like sample: FieldValue? = nil) -> FieldValue? {
    switch coding {
    case .stored: return storedValue(like: sample)
    case .iso8601: return text(between: "T", end: "Z").map { .text($0) }
    case .sqliteText: return text(between: " ", end: "").map { .text($0) }
    case .secondsSince1970: return Self.number(seconds(since: -Self.secondsFrom1970))
    case .millisecondsSince1970:
      let (whole, fraction) = Self.divide(ticks + Self.secondsFrom1970 * unit, by: unit)
      let (milliseconds, rest) = Self.divide(fraction * 1_000, by: unit)
      return Int64(exactly: whole * 1_000 + milliseconds + (rest * 2 >= unit ? 1 : 0))
        .map { .integer($0) }
    case .secondsSince2001: return Self.number(seconds(since: 0))
    }
  }

  /// The form of a value of the same column; ISO 8601 if that is another text, and `nil` if it is no text.
  private func storedValue(like sample: FieldValue?) -> FieldValue? {
    switch sample {
    case .text(let sample)?:
      guard DateText.hasSpace(sample), DateText(sample).instant(isSQLite: true) != nil else {
        return text(between: "T", end: "Z").map { .text($0) }
      }
      let decimals = sample.utf8.drop { $0 != ASCII.point }.dropFirst()
        .prefix { ASCII.digits.contains($0) }
      return text(between: " ", end: "", minDigitCount: decimals.count).map { .text($0) }
    case nil, .null?: return text(between: "T", end: "Z").map { .text($0) }
    case .integer?, .real?, .blob?: return nil
    }
  }

  private static func number(_ number: DecimalNumber) -> FieldValue? {
    number.integer.map { .integer($0) } ?? Double(number.description).map { .real($0) }
  }

  /// The quotient, rounded down, and the remainder, which is not negative.
  private static func divide(_ dividend: Int128, by divisor: Int128) -> (Int128, Int128) {
    let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

// MARK: - Texts

extension Instant {
  private static var secondsPerDay: Int128 { 86_400 }

  private func text(between separator: String, end: String, minDigitCount: Int = 0) -> String? {
    let (whole, fraction) = Self.divide(ticks + Self.secondsFrom1970 * unit, by: unit)
    let (day, second) = Self.divide(whole, by: Self.secondsPerDay)
    guard let date = CivilDate(daysSince1970: day), (0...9999).contains(date.year) else {
      return nil
    }
    let parts = [second / 3_600, second / 60 % 60, second % 60].map { Self.padded($0, 2) }
    var decimals = digitCount == 0 ? "" : Self.padded(fraction, digitCount)
    decimals += String(repeating: "0", count: max(0, minDigitCount - digitCount))
    if !decimals.isEmpty { decimals = "." + decimals }
    return "\(Self.padded(date.year, 4))-\(Self.padded(date.month, 2))-\(Self.padded(date.day, 2))"
      + separator + parts.joined(separator: ":") + decimals + end
  }

  private static func padded(_ number: Int128, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  /// The instant of a day and a time of day in decimal seconds, `offset` seconds ahead of UTC.
  init?(date: CivilDate, second: Int128, decimals: [UInt8], offset: Int128) {
    guard decimals.count <= Self.maxDigitCount else { return nil }
    let unit = Int128(DecimalNumber.power(decimals.count))
    let fraction = decimals.reduce(0 as Int128) { $0 * 10 + Int128($1) }
    let whole = date.daysSince1970 * Self.secondsPerDay + second - offset - Self.secondsFrom1970
    self.init(ticks: whole * unit + fraction, digitCount: decimals.count)
  }
}

/// A day of the Gregorian calendar, also before its introduction.
///
/// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
/// https://howardhinnant.github.io/date_algorithms.html
struct CivilDate {
  let year: Int128
  let month: Int128
  let day: Int128

  /// `nil` if there is no such day.
  init?(year: Int128, month: Int128, day: Int128) {
    guard (0...9999).contains(year), (1...12).contains(month) else { return nil }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths: [Int128] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard day >= 1, day <= lengths[Int(month) - 1] else { return nil }
    (self.year, self.month, self.day) = (year, month, day)
  }

  /// `nil` for a day that is far from any date.
  init?(daysSince1970 days: Int128) {
    guard abs(days) < 1_000_000_000 else { return nil }
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  var daysSince1970: Int128 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}
