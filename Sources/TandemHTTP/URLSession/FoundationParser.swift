#if canImport(Darwin) || TANDEM_URLSESSION
  import Foundation
  #if TANDEM_URLSESSION
    @testable import TandemHTTP
  #endif

  /// The parsers of Foundation.
  enum FoundationParser {
    /// The parts of a URL, by the rules of `URLComponents`; `nil` if it cannot be parsed.
    static func url(_ text: String, relativeTo base: String?) -> HTTPURL? {
      var url = URL(string: text, encodingInvalidCharacters: false)
      if let base {
        url = URL(string: base, encodingInvalidCharacters: false)
          .flatMap { URL(string: text, relativeTo: $0)?.absoluteURL }
      }
      guard let url, let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
        let scheme = parts.scheme
      else { return nil }
      return HTTPURL(
        scheme: scheme.lowercased(), user: parts.percentEncodedUser,
        password: parts.percentEncodedPassword, host: parts.encodedHost ?? "",
        port: parts.port.map { "\($0)" }, path: parts.percentEncodedPath,
        query: parts.percentEncodedQuery)
    }

    /// The moment that `text` names in one of the three forms of HTTP (RFC 9110, section 5.6.7), in
    /// seconds since 1970; `nil` if it is no date.
    static func date(_ text: String) -> Int64? {
      let formatter = DateFormatter()
      formatter.locale = Locale(identifier: "en_US_POSIX")
      formatter.timeZone = TimeZone(secondsFromGMT: 0)
      let formats = [
        "EEE, dd MMM yyyy HH:mm:ss 'GMT'", "EEEE, dd-MMM-yy HH:mm:ss 'GMT'",
        "EEE MMM d HH:mm:ss yyyy",
      ]
      for format in formats {
        formatter.dateFormat = format
        if let date = formatter.date(from: text) { return Int64(date.timeIntervalSince1970) }
      }
      return nil
    }
  }
#endif
