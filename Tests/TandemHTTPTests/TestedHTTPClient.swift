import Foundation
import TandemHTTP
import Testing

/// The client that the contract tests run against: the system's, or with `TANDEM_HTTP_CLIENT=urlsession` the one
/// on URLSession.
///
/// On Linux, the client on URLSession is compiled as a part of these tests, from the same files: a library that
/// users link must not link FoundationNetworking.
struct TestedHTTPClient: HTTPClient {
  private let client: any HTTPClient

  init(options: HTTPClientOptions = HTTPClientOptions()) throws {
    client =
      Self.isURLSession
      ? try URLSessionHTTPClient(options: options) : try SystemHTTPClient(options: options)
  }

  func stream(_ request: HTTPRequest) async throws -> HTTPResponseStream {
    try await client.stream(request)
  }

  #if canImport(Darwin)
    static let isURLSession = true
    static let isURLSessionOnLinux = false
  #else
    static let isURLSession =
      ProcessInfo.processInfo.environment["TANDEM_HTTP_CLIENT"] == "urlsession"
    static let isURLSessionOnLinux = isURLSession
  #endif
}

extension HTTPTimeouts {
  /// Timeouts that end an attempt to connect after `duration`: on URLSession, the idle timeout does that.
  static func connecting(within duration: Duration) -> HTTPTimeouts {
    TestedHTTPClient.isURLSession ? HTTPTimeouts(idle: duration) : HTTPTimeouts(connect: duration)
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test of something that the client on URLSession does not promise.
  static func unlessURLSession(_ reason: Comment) -> Self {
    .disabled(if: TestedHTTPClient.isURLSession, reason)
  }

  /// Skips a test of something that URLSession cannot do on Linux.
  static func unlessURLSessionOnLinux(_ reason: Comment) -> Self {
    .disabled(if: TestedHTTPClient.isURLSessionOnLinux, "URLSession on Linux: \(reason)")
  }
}
