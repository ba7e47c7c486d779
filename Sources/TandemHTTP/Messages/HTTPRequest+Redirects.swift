extension HTTPRequest {
  /// Sends this request with `send`, and again wherever redirects lead: the one way in which all clients
  /// follow them, so that one parser decides what is the same origin.
  ///
  /// - Throws: ``TransportError``, with code `tooManyRedirects` or `refusedRedirect` for a redirect that is
  ///   not followed.
  func followingRedirects(
    _ options: HTTPClientOptions, send: (HTTPRequest) async throws -> HTTPResponseStream
  ) async throws -> HTTPResponseStream {
    var request = try prepared(by: options)
    let total = (timeouts ?? options.timeouts).total
    let start = ContinuousClock.now
    for _ in 0...max(0, options.maxRedirectCount) {
      try Task.checkCancellation()
      let stream = try await send(request)
      guard let next = try request.redirected(by: stream.head) else { return stream }
      // A connection can be used again only if the response is read to its end.
      _ = try? await stream.body.collected(maxByteCount: Self.maxRedirectBodyByteCount)
      request = next
      if let total {
        request.timeouts = timeouts ?? options.timeouts
        request.timeouts?.total = max(.zero, total - (.now - start))
      }
    }
    throw TransportError(
      .tooManyRedirects, "too many redirects, perhaps in a circle; ask for the final address",
      url: request.url)
  }

  private static let maxRedirectBodyByteCount = 64 << 10

  /// The request to send instead if `head` is a redirect to follow, otherwise `nil`; to another origin only
  /// with fields that any server may see.
  ///
  /// - Throws: ``TransportError`` with code `refusedRedirect` for a redirect to another scheme than http and
  ///   https, or from https to http.
  func redirected(by head: HTTPResponseHead) throws(TransportError) -> HTTPRequest? {
    guard method.followsRedirects, [301, 302, 303, 307, 308].contains(head.status),
      let location = head.fields["Location"], !location.isEmpty
    else { return nil }
    let target = HTTPURL.resolved(location, against: url)
    let isSecure = url.prefix(6).lowercased() == "https:"
    let schemes = isSecure ? ["https:"] : ["https:", "http:"]
    guard schemes.contains(where: target.lowercased().hasPrefix),
      let address = try? HTTPURL.validated(target)
    else {
      throw TransportError(
        .refusedRedirect,
        "the server redirects to \(HTTPURL.withoutCredentials(location)), which is not followed; ask for"
          + " that address yourself if you trust it", url: url)
    }
    return readdressed(to: address)
  }

  /// The same request for another address; at another origin, only with fields that any server may see.
  package func readdressed(to address: String) -> HTTPRequest {
    var request = self
    request.url = address
    if !HTTPURL.haveSameOrigin(url, address) {
      request.fields = HTTPFields()
      for field in fields where Self.isPublic(field.name) {
        request.fields.append(field.name, field.value)
      }
    }
    return request
  }

  /// The fields that any server may see. All others may be secrets between the caller and one server.
  private static let publicFields: Set<String> = [
    "accept", "accept-encoding", "accept-language", "content-type", "expect", "if-modified-since",
    "if-none-match", "if-range", "range", "user-agent",
  ]

  /// Returns true if any server may see a field of that name.
  package static func isPublic(_ field: String) -> Bool {
    publicFields.contains(field.lowercased())
  }
}
