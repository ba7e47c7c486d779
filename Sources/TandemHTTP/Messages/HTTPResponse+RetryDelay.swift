internal import SystemLibrary

extension HTTPResponseHead {
  /// The wait that the server asks for before the next attempt: by `Retry-After` (RFC 9110, section 10.2.3), or by
  /// fields such as `X-RateLimit-Remaining`, if that is 0, and `X-RateLimit-Reset`. `nil` if it does not ask or
  /// cannot be understood, zero if the moment has passed.
  ///
  /// Bound the wait: a server may ask for years.
  public var retryDelay: Duration? { retryDelay(at: Int64(time(nil))) }

  /// - Parameter now: Seconds since 1970. The moment asked for is compared with the server's own `Date`,
  ///   so that wrong clocks do no harm, and with `now` only if there is none.
  func retryDelay(at now: Int64) -> Duration? {
    let start = fields["Date"].flatMap { SystemParser.date($0) } ?? now
    guard let value = fields["Retry-After"] else { return limitDelay(from: start) }
    return httpNumber(value).map { .seconds($0) }
      ?? SystemParser.date(value).map { Self.delay(from: start, to: $0) }
  }

  /// The wait until a limit for requests ends, if it is used up. Servers give its end in seconds from now, in
  /// seconds or milliseconds since 1970, perhaps with a fraction, or as a date.
  private func limitDelay(from now: Int64) -> Duration? {
    let prefix = ["X-RateLimit", "X-Rate-Limit", "RateLimit"].first {
      fields["\($0)-Remaining"].flatMap { httpNumber($0) } == 0
    }
    guard let prefix, let reset = fields["\(prefix)-Reset"] else { return nil }
    let parts = reset.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let number = httpNumber(parts[0]), parts.count == 1 || httpNumber(parts[1]) != nil else {
      return SystemParser.date(reset).map { Self.delay(from: now, to: $0) }
    }
    if number < Self.firstMoment { return .seconds(number + Int64(parts.count - 1)) }
    let moment = number / Self.firstMoment < 1_000 ? number : number / 1_000
    return Self.delay(from: now, to: moment)
  }

  /// The smallest number that is a moment, in 2001, and not a wait, which would be one of 31 years.
  private static let firstMoment: Int64 = 1_000_000_000

  private static func delay(from start: Int64, to moment: Int64) -> Duration {
    let (delay, isTooFar) = moment.subtractingReportingOverflow(start)
    return .seconds(isTooFar ? 0 : max(0, delay))
  }
}
