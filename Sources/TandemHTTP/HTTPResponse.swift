#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// The status line and fields of a response.
public struct HTTPResponseHead: Hashable, Sendable {
  /// The status code, such as 200.
  public var status: Int
  /// The fields as received. A body that came compressed has been decoded, although
  /// `Content-Encoding` and `Content-Length` still describe what was sent.
  public var fields: HTTPFields
  /// Where the response came from: the request's address, or where redirects led.
  public var url: String
  /// Whether a body that breaks off is told from a whole one: by its `Content-Length`, by its chunks,
  /// or by HTTP/2 and later. Any other ends wherever the server, or whoever is between, closes.
  public var declaresEnd = true

  /// A head as a server might send it.
  public init(status: Int, fields: HTTPFields = [:], url: String) {
    self.status = status
    self.fields = fields
    self.url = url
  }

  /// Whether the status is 2xx.
  public var isSuccess: Bool { 200..<300 ~= status }

  /// Whether the server says that what the request's ``HTTPValidators`` describe is still current.
  public var isNotModified: Bool { status == 304 }

  /// Whether the body was sent in an encoding, such as gzip, be it the content's or the connection's.
  /// Some of them do not show where they end: content that was cut off before it was sent is decoded as
  /// far as it goes.
  ///
  /// `identity`, `none` and nothing at all are how servers say that there is no encoding; chunks do show
  /// where they end.
  public var isEncoded: Bool {
    let codings = fields.values(of: "Content-Encoding") + fields.values(of: "Transfer-Encoding")
    let names = codings.joined(separator: ",").lowercased().split { ", \t".contains($0) }
    return !names.allSatisfy { ["identity", "none", "chunked"].contains($0) }
  }

  /// How many bytes the body will have once decoded, if the server said so.
  public var bodyByteCount: Int? { isEncoded ? nil : fields.contentLength }

  /// Why a body that broke off would not be told from a whole one; `nil` if it would.
  package var uncertainty: EndUncertainty? {
    if isEncoded { return .encoded }
    return declaresEnd ? nil : .undeclared
  }

  /// Lets a success pass.
  ///
  /// - Throws: ``TransportError/Code/badStatus`` for any status but 2xx, with what it means and how
  ///   long the server asks to wait.
  public func requireSuccess() throws(TransportError) {
    guard isSuccess else { throw badStatus }
  }

  /// Lets a success pass that brings all of what was asked for: 200, or 203, as by a proxy.
  ///
  /// - Throws: ``TransportError/Code/badStatus`` for any other status, as of ``requireSuccess()``: a
  ///   part (206), or the news that what was asked for is yet to come (202), is not it.
  public func requireContent() throws(TransportError) {
    guard status == 200 || status == 203 else { throw badStatus }
  }

  private var badStatus: TransportError {
    var error = TransportError(.badStatus, "the server answered \(status): \(meaning)", url: url)
    error.status = status
    error.retryDelay = retryDelay
    return error
  }

  private var meaning: String {
    switch status {
    case 202: "what is asked for is not ready; try again later"
    case 206: "this is a part, which was not asked for"
    case 200..<300: "this is not what is asked for; check the address"
    case 300..<400: "what is asked for is elsewhere or unchanged; check the address"
    case 401, 403, 407: "access is refused; check the credentials"
    case 404, 410: "there is nothing at this address; check it"
    case 408, 429, 503: "it is too busy; try again later"
    case 400..<500: "it does not accept the request"
    case 500..<600: "it has a fault of its own; try again later"
    default: "this status has no known meaning"
    }
  }
}

extension HTTPResponseHead {
  /// The wait that the server asks for before the next attempt (`Retry-After`, RFC 9110, section
  /// 10.2.3); `nil` if it does not ask or cannot be understood, zero if the moment has passed.
  ///
  /// Bound the wait: a server may ask for years.
  public var retryDelay: Duration? { retryDelay(at: Int64(time(nil))) }

  /// - Parameter now: Seconds since 1970. The moment asked for is compared with the server's own `Date`,
  ///   so that wrong clocks do no harm, and with `now` only if there is none.
  func retryDelay(at now: Int64) -> Duration? {
    guard let value = fields["Retry-After"] else { return nil }
    if let seconds = httpNumber(value) { return .seconds(seconds) }
    guard let moment = SystemParser.date(value) else { return nil }
    let start = fields["Date"].flatMap { SystemParser.date($0) } ?? now
    let (delay, isTooFar) = moment.subtractingReportingOverflow(start)
    return .seconds(isTooFar ? 0 : max(0, delay))
  }
}

/// Why a body that broke off would not be told from a whole one.
package enum EndUncertainty {
  case encoded, undeclared

  package var reason: String {
    switch self {
    case .encoded: "the server compresses it although it was asked not to"
    case .undeclared: "the server does not say how long it is"
    }
  }

  /// How to have the body sent instead.
  package var remedy: String {
    switch self {
    case .encoded: "uncompressed"
    case .undeclared: "with a Content-Length"
    }
  }
}

/// A response with its whole body.
public struct HTTPResponse: Hashable, Sendable {
  /// Status and fields.
  public var head: HTTPResponseHead
  /// The decoded content.
  public var body: [UInt8]

  /// A response as a server might send it.
  public init(head: HTTPResponseHead, body: [UInt8] = []) {
    self.head = head
    self.body = body
  }
}

/// A response whose body is still arriving.
public struct HTTPResponseStream: Sendable {
  /// Status and fields.
  public var head: HTTPResponseHead
  /// The decoded content, to be read once.
  public var body: HTTPBody

  /// A response as a client hands it out.
  public init(head: HTTPResponseHead, body: HTTPBody) {
    self.head = head
    self.body = body
  }
}
