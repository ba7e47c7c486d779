/// Sends requests over HTTP.
///
/// Any status is a response, 404 and 304 included; an error means that there is no valid
/// response. ``SystemHTTPClient`` is the one to use; conform a type of your own to answer from memory.
public protocol HTTPClient: Sendable {
  /// Sends `request` and returns as soon as the head of the response has arrived.
  ///
  /// Redirects of GET and HEAD are followed, to http and https only, never from https to http, and
  /// without credentials where they lead to another host; other methods get the redirect as the
  /// response. Content in gzip is decoded.
  ///
  /// - Throws: ``TransportError``; `CancellationError` if the task is cancelled, which ends the
  ///   transfer.
  func stream(_ request: HTTPRequest) async throws -> HTTPResponseStream
}

extension HTTPClient {
  /// Sends `request` and returns the response with its whole body.
  ///
  /// A body that is cut short is an error where the response shows it: by its `Content-Length`, by
  /// its chunks, by HTTP/2. A response that has none of these (``HTTPResponseHead/declaresEnd``) ends
  /// wherever the server closes, and compressed content that was cut before it was sent
  /// (``HTTPResponseHead/isEncoded``) ends where it was cut, unless the client verifies its end
  /// (``HTTPResponseHead/verifiesEncoding``).
  ///
  /// - Parameters:
  ///   - request: The request to send.
  ///   - maxBodyByteCount: The longest body to accept, in decoded bytes; the smaller of this and the
  ///     request's own limit holds.
  /// - Throws: ``TransportError``, ``TransportError/Code/tooLarge`` as soon as the limit is passed,
  ///   with no more than the limit ever held; `CancellationError` if the task is cancelled, which
  ///   ends the transfer.
  public func response(
    to request: HTTPRequest, maxBodyByteCount: Int
  ) async throws -> HTTPResponse {
    var request = request
    let limit = min(request.maxBodyByteCount ?? .max, max(0, maxBodyByteCount))
    request.maxBodyByteCount = limit
    let stream = try await stream(request)
    guard let body = try await stream.body.collected(maxByteCount: limit) else {
      throw TransportError.bodyTooLarge(url: request.url, maxByteCount: limit)
    }
    return HTTPResponse(head: stream.head, body: body)
  }
}

extension TransportError {
  /// The error for a body of more than `maxByteCount` decoded bytes.
  package static func bodyTooLarge(
    url: String, maxByteCount: Int, isCompressed: Bool = false
  ) -> TransportError {
    let kind = isCompressed ? " for what comes compressed" : ""
    var error = TransportError(
      .tooLarge,
      "the content is longer than the limit of \(maxByteCount) bytes\(kind); raise the limit if you "
        + "trust the source", url: url)
    error.maxByteCount = maxByteCount
    return error
  }
}
