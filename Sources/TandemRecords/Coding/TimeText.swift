/// Times in whole seconds since 1970, and their texts.
package enum TimeText {
  /// The seconds since 1970 of a date, or of a date and a time, as in `2027-01-31`, `2027-01-31 12:00` or
  /// `2027-01-31T12:00:00+02:00`.
  ///
  /// A date alone is its begin. Without an offset, the time is in UTC. Fractions of seconds are rounded.
  ///
  /// - Returns: `nil` for any other text, and for a day that does not exist.
  package static func seconds(_ text: String) -> Int? {
    guard
      case .integer(let time)? = Instant(.text(text), .sqliteText)?
        .fieldValue(.millisecondsSince1970)
    else { return nil }
    return Int((Double(time) / 1_000).rounded(.down))
  }

  /// The text of a time by RFC 3339, in UTC, in the years that have four digits.
  package static func text(seconds: Int) -> String {
    // From the year 0 to the end of the year 9999.
    let time = min(max(seconds, -62_167_219_200), 253_402_300_799)
    guard
      case .text(let text)? = Instant(.integer(Int64(time)), .secondsSince1970)?
        .fieldValue(.iso8601)
    else { preconditionFailure("a time in these years has a text") }
    return text
  }
}
