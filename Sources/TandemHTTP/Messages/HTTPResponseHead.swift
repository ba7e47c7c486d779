/// The status line and fields of a response.
public struct HTTPResponseHead: Hashable, Sendable {
  /// The status code, such as 200.
  public var status: Int
  /// The fields as received. A body that came compressed has been decoded, although
  /// `Content-Encoding` and `Content-Length` still describe what was sent.
  public var fields: HTTPFields
  /// The address of the response: that of the request, or the target of its redirects.
  public var url: String
  /// True if a truncated body can be recognised: by its `Content-Length`, by its chunks, or by HTTP/2 and
  /// later. Any other body ends wherever the server or a proxy closes the connection.
  public var declaresEnd = true
  /// True if the client verifies the end of an encoded body: gzip ends with a checksum and a length. A body
  /// that was truncated before it was sent is then an error. The client on libcurl does so for gzip;
  /// URLSession verifies none.
  public var verifiesEncoding = false

  /// Creates a head, for clients of your own and for tests.
  public init(status: Int, fields: HTTPFields = [:], url: String) {
    self.status = status
    self.fields = fields
    self.url = url
  }

  /// True if the status is 2xx.
  public var isSuccess: Bool { 200..<300 ~= status }

  /// True if the version that the request's ``HTTPValidators`` describe is still current.
  public var isNotModified: Bool { status == 304 }

  /// True if the body was sent in an encoding such as gzip, of the content or of the connection. Some
  /// encodings do not mark their end: content that was truncated before it was sent is decoded without an
  /// error.
  ///
  /// The codings `identity`, `none` and `chunked` do not count.
  public var isEncoded: Bool { !contentEncodings.isEmpty || isTransferEncoded }

  /// The encodings of the content, in lower case.
  var contentEncodings: [String] { encodings(in: "Content-Encoding") }

  /// True if the connection added an encoding.
  var isTransferEncoded: Bool { !encodings(in: "Transfer-Encoding").isEmpty }

  private func encodings(in field: String) -> [String] {
    fields.values(of: field).joined(separator: ",").lowercased()
      .split { ", \t".contains($0) }.map(String.init)
      .filter { !["identity", "none", "chunked"].contains($0) }
  }

  /// The length of the decoded body in bytes, if the server declares it.
  public var bodyByteCount: Int? { isEncoded ? nil : fields.contentLength }

  /// The reason why a truncated body could not be recognised; `nil` if it could.
  package var uncertainty: EndUncertainty? {
    if isEncoded, !verifiesEncoding { return .encoded }
    return declaresEnd ? nil : .undeclared
  }

  /// Checks that the status is 2xx.
  ///
  /// - Throws: ``TransportError/Code/badStatus`` for any status but 2xx, with what it means and how
  ///   long the server asks to wait.
  public func requireSuccess() throws(TransportError) {
    guard isSuccess else { throw badStatus }
  }

  /// Checks that the response has the whole content: status 200, or 203 from a proxy.
  ///
  /// - Throws: ``TransportError/Code/badStatus`` for any other status, as of ``requireSuccess()``: a
  ///   part (206) or the promise of a later answer (202) is an error.
  package func requireContent() throws(TransportError) {
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
    case 403 where retryDelay != nil: "the limit for requests is reached; try again later"
    case 401, 403, 407: "access is refused; check the credentials"
    case 404, 410: "there is nothing at this address; check it"
    case 408, 429, 503: "it is too busy; try again later"
    case 400..<500: "it does not accept the request"
    case 520..<531, 598, 599: "it is a proxy, and gets no good answer; try again later"
    case 500..<600: "it has a fault of its own; try again later"
    default: "this status has no known meaning"
    }
  }
}
