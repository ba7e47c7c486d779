import TandemHTTP
import Testing

#if TANDEM_URLSESSION
  /// The client that the contract tests run against: on Linux, `TANDEM_URLSESSION=1` makes it the one on
  /// URLSession (see Package.swift).
  typealias TestedHTTPClient = URLSessionHTTPClient
#else
  /// The client that the contract tests run against.
  typealias TestedHTTPClient = SystemHTTPClient
#endif

extension HTTPTimeouts {
  /// Timeouts that end an attempt to connect after `duration`: on URLSession, the idle timeout does that.
  static func connecting(within duration: Duration) -> HTTPTimeouts {
    #if canImport(Darwin) || TANDEM_URLSESSION
      HTTPTimeouts(idle: duration)
    #else
      HTTPTimeouts(connect: duration)
    #endif
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test of something that the client on URLSession does not promise.
  static func unlessURLSession(_ reason: Comment) -> Self {
    #if canImport(Darwin) || TANDEM_URLSESSION
      .disabled(reason)
    #else
      .enabled(if: true)
    #endif
  }

  /// Skips a test of something that URLSession cannot do on Linux.
  static func unlessURLSessionOnLinux(_ reason: Comment) -> Self {
    #if TANDEM_URLSESSION && !canImport(Darwin)
      .disabled("URLSession on Linux: \(reason)")
    #else
      .enabled(if: true)
    #endif
  }
}
