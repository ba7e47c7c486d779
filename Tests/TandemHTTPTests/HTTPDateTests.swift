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
}
