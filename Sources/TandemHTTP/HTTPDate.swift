#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// A moment as HTTP writes it, to the second (RFC 9110, section 5.6.7).
public struct HTTPDate: Hashable, Comparable, Sendable {
  /// Seconds since 1 January 1970, UTC, without leap seconds.
  public var secondsSince1970: Int64

  /// The moment that many seconds after 1 January 1970, UTC.
  public init(secondsSince1970: Int64) { self.secondsSince1970 = secondsSince1970 }

  /// This moment, by the system's clock.
  public static var now: HTTPDate { HTTPDate(secondsSince1970: Int64(time(nil))) }

  /// The moment `text` names in one of the three forms that HTTP knows: "Sun, 06 Nov 1994 08:49:37
  /// GMT", "Sunday, 06-Nov-94 08:49:37 GMT" (years 70 to 99 are of the last century, others of this)
  /// and "Sun Nov  6 08:49:37 1994"; `nil` if it is none of them. The day of the week is not checked.
  public init?(_ text: String) {
    let words = text.split { " ,-:".contains($0) }
    guard words.count == (words.last == "GMT" ? 8 : 7) else { return nil }
    let places: (day: Int, month: Int, year: Int, time: Int) =
      words.count == 8 ? (1, 2, 3, 4) : (2, 1, 6, 3)
    guard let month = Self.months.firstIndex(where: { $0 == words[places.month] }),
      let day = Self.number(words[places.day], in: 1...31),
      let year = Self.year(words[places.year]),
      let hour = Self.number(words[places.time], in: 0...23),
      let minute = Self.number(words[places.time + 1], in: 0...59),
      let second = Self.number(words[places.time + 2], in: 0...60)
    else { return nil }
    guard day <= Self.dayCount(ofMonth: month + 1, year: year) else { return nil }
    let days = Self.daysSince1970(year: year, month: Int64(month + 1), day: day)
    secondsSince1970 = ((days * 24 + hour) * 60 + minute) * 60 + second
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func number(_ word: Substring, in range: ClosedRange<Int64>) -> Int64? {
    httpNumber(word).flatMap { range.contains($0) ? $0 : nil }
  }

  private static func year(_ word: Substring) -> Int64? {
    guard word.utf8.count == 2 else { return number(word, in: 1...9999) }
    return number(word, in: 0...99).map { $0 < 70 ? $0 + 2000 : $0 + 1900 }
  }

  private static func dayCount(ofMonth month: Int, year: Int64) -> Int64 {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// Hinnant's days_from_civil: years begin in March, so that the leap day is their last.
  private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
    let year = month < 3 ? year - 1 : year
    let dayOfYear = (153 * (month < 3 ? month + 9 : month - 3) + 2) / 5 + day - 1
    return 365 * year + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
  }

  /// Whether `a` is earlier than `b`.
  public static func < (a: HTTPDate, b: HTTPDate) -> Bool {
    a.secondsSince1970 < b.secondsSince1970
  }
}

extension HTTPResponseHead {
  /// How long the server asks to wait before the next attempt (`Retry-After`, RFC 9110, section
  /// 10.2.3); `nil` if it does not ask or cannot be understood, zero if the moment has passed.
  ///
  /// A moment is compared with the server's own `Date`, so that wrong clocks do no harm, and with
  /// `now` if there is none. Bound the wait: a server may ask for years.
  public func retryDelay(at now: HTTPDate) -> Duration? {
    guard let value = fields["Retry-After"] else { return nil }
    if let seconds = httpNumber(value) { return .seconds(seconds) }
    guard let moment = HTTPDate(value) else { return nil }
    let start = fields["Date"].flatMap { HTTPDate($0) } ?? now
    let (delay, isTooFar) = moment.secondsSince1970
      .subtractingReportingOverflow(start.secondsSince1970)
    return .seconds(isTooFar ? 0 : max(0, delay))
  }
}
