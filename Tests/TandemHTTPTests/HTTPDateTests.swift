import Foundation
import Testing

@testable import TandemHTTP

@Suite("HTTP date and Retry-After")
struct HTTPDateTests {
  @Test(
    "the three forms of the standard name the same moment",
    arguments: [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
  func forms(text: String) {
    #expect(SystemParser.date(text) == 784_111_777)
  }

  @Test("moments across eight hundred years are counted as Foundation's calendar does")
  func days() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = calendar.timeZone
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    let day: Int64 = 86_400
    for seconds in stride(from: -135_000 * day, to: 165_000 * day, by: Int(13 * day + 12_345)) {
      let text = formatter.string(from: Date(timeIntervalSince1970: TimeInterval(seconds)))
      #expect(SystemParser.date(text) == seconds, "\(text)")
    }
  }

  @Test(
    "an invalid date is nil",
    arguments: [
      "", "now", "GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov +994 08:49:37 GMT",
      "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
    ])
  func invalid(text: String) {
    #expect(SystemParser.date(text) == nil)
  }

  private func delay(_ fields: HTTPFields, now: Int64 = 1000) -> Duration? {
    HTTPResponseHead(status: 503, fields: fields, url: "http://a")
      .retryDelay(at: now)
  }

  @Test("Retry-After in seconds is that many")
  func seconds() {
    #expect(delay(["Retry-After": "120"]) == .seconds(120))
    #expect(delay(["Retry-After": "0"]) == .zero)
    #expect(delay([:]) == nil)
    for text in ["-1", "1.5", "", "soon", "99999999999999999999"] {
      #expect(delay(["Retry-After": text]) == nil, "\(text)")
    }
  }

  @Test(
    "Retry-After as a moment counts from the server's clock, or else from ours, never below zero")
  func moment() {
    let moment = "Thu, 01 Jan 1970 00:20:00 GMT"
    #expect(delay(["Retry-After": moment]) == .seconds(200))
    #expect(
      delay(["Retry-After": moment, "Date": "Thu, 01 Jan 1970 00:19:50 GMT"]) == .seconds(10))
    #expect(delay(["Retry-After": moment, "Date": "Fri, 02 Jan 1970 00:00:00 GMT"]) == .zero)
    #expect(delay(["Retry-After": moment], now: .max) == .zero)
    #expect(delay(["Retry-After": moment], now: .min) == .zero)
  }

  @Test(
    "a limit for requests that is used up ends after seconds, or at a moment in one of several forms",
    arguments: [
      ("X-RateLimit", "60", 60), ("x-ratelimit", "1784111837", 60), ("RateLimit", "30", 30),
      ("X-Rate-Limit", "1784111777", 0), ("X-RateLimit", "1784111837000", 60),
      ("X-RateLimit", "1784111837.25", 60), ("X-RateLimit", "0.5", 1),
      ("X-RateLimit", "Wed, 15 Jul 2026 10:37:17 GMT", 60), ("X-RateLimit", "soon", nil),
    ] as [(String, String, Int?)])
  func limits(prefix: String, reset: String, seconds: Int?) {
    let now: Int64 = 1_784_111_777
    var fields: HTTPFields = [:]
    fields["\(prefix)-Reset"] = reset
    #expect(delay(fields, now: now) == nil)
    fields["\(prefix)-Remaining"] = "1"
    #expect(delay(fields, now: now) == nil)
    fields["\(prefix)-Remaining"] = "0"
    #expect(delay(fields, now: now) == seconds.map { .seconds($0) })
    let head = HTTPResponseHead(status: 403, fields: fields, url: "http://a")
    let error = #expect(throws: TransportError.self) { try head.requireSuccess() }
    #expect(error?.isTransient == (seconds != nil))
    fields["Retry-After"] = "7"
    #expect(delay(fields, now: now) == .seconds(7))
  }

  @Test("a 403 that asks for a wait is transient, and one that does not is none")
  func refusals() {
    for (fields, words) in [
      (["Retry-After": "5"], "limit for requests"), ([:], "access is refused"),
    ] as [(HTTPFields, String)] {
      let head = HTTPResponseHead(status: 403, fields: fields, url: "http://a")
      let error = #expect(throws: TransportError.self) { try head.requireSuccess() }
      #expect(error?.isTransient == (fields["Retry-After"] != nil))
      #expect(error?.message.contains(words) == true)
    }
  }
}
