/// A request to an HTTP server.
public struct HTTPRequest: Hashable, Sendable {
  /// A request method: one of the constants, or any other token, such as `"REPORT"`.
  public struct Method: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    /// The method as it is sent, in its exact case.
    public var rawValue: String

    /// The method called `rawValue`.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The method called `value`.
    public init(stringLiteral value: String) { rawValue = value }

    /// Fetch.
    public static let get: Self = "GET"
    /// Fetch the head only.
    public static let head: Self = "HEAD"
    /// Hand over for processing.
    public static let post: Self = "POST"
    /// Store under the address.
    public static let put: Self = "PUT"
    /// Remove what is at the address.
    public static let delete: Self = "DELETE"

    /// True if redirects are followed: repeating the request elsewhere must change nothing.
    var followsRedirects: Bool { self == .get || self == .head }
  }

  /// The method; GET by default.
  public var method: Method
  /// An absolute http or https address. Characters beyond ASCII in path and query are
  /// percent-encoded when sent.
  public var url: String
  /// The fields to send; the client adds those it needs where they are not given. A redirect to another
  /// scheme, host or port takes along only those that negotiate content, such as `Accept` and `Range`.
  public var fields: HTTPFields
  /// The content to send, if any; as `application/octet-stream` unless `fields` name another type.
  public var body: [UInt8]?
  /// The maximum length of a response body, in decoded bytes; `nil` accepts any, as a reader who
  /// does not keep it may. Exceeding it is ``TransportError/Code/tooLarge``.
  public var maxBodyByteCount: Int?
  /// The maximum length of a response body, in decoded bytes, if it comes in an encoding such as gzip, in
  /// which few bytes may stand for very many; `nil` if `maxBodyByteCount` says it.
  public var maxDecompressedByteCount: Int?
  /// Timeouts for this request, in place of the client's.
  public var timeouts: HTTPTimeouts?
  /// True to send no field that the server does not need: no `User-Agent`, `Accept` and
  /// `Accept-Encoding` unless `fields` has them. For many small messages to one server.
  package var isBrief = false

  /// A request for `url`.
  public init(
    _ method: Method = .get, url: String, fields: HTTPFields = [:], body: [UInt8]? = nil,
    maxBodyByteCount: Int? = nil, timeouts: HTTPTimeouts? = nil
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    self.maxBodyByteCount = maxBodyByteCount
    self.timeouts = timeouts
  }

  /// The request as a client with `options` sends it: its address in the form to send, and the
  /// fields that every request has.
  ///
  /// - Throws: ``TransportError`` for an address, a method or a field that cannot be sent.
  func prepared(by options: HTTPClientOptions) throws(TransportError) -> HTTPRequest {
    var request = self
    request.url = try HTTPURL.validated(url)
    if !isBrief { request.fields.addUnlessPresent("User-Agent", options.userAgent) }
    if body != nil { request.fields.addUnlessPresent("Content-Type", "application/octet-stream") }
    guard isHTTPToken(method.rawValue) else {
      let message = "\"\(method.rawValue)\" is no request method; use a word such as GET"
      throw TransportError(.invalidField, message, url: url)
    }
    for field in request.fields {
      guard let defect = field.defect else { continue }
      let message = "the field \"\(field.name)\" cannot be sent: \(defect)"
      throw TransportError(.invalidField, message, url: url)
    }
    return request
  }
}
