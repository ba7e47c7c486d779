/// What goes where redirects lead.
extension HTTPRequest {
  /// The fields that any server may see; all others are between the caller and the server that was
  /// asked, and may be secrets.
  private static let publicFields: Set<String> = [
    "accept", "accept-encoding", "accept-language", "content-type", "expect", "if-modified-since",
    "if-none-match", "if-range", "range", "user-agent",
  ]

  /// Whether all its fields are for any server.
  var isForAnyServer: Bool { fields.allSatisfy { Self.isPublic($0.name) } }

  /// Whether redirects of it may be followed without looking at them.
  var leavesRedirectsToClient: Bool { method.followsRedirects && isForAnyServer }

  /// Whether any server may see a field of that name.
  package static func isPublic(_ field: String) -> Bool {
    publicFields.contains(field.lowercased())
  }

  /// What to ask instead, if an answer to this request says so; at another origin only with fields that
  /// any server may see.
  ///
  /// - Throws: ``TransportError`` with code `refusedRedirect` for a redirect to anything but the web, or
  ///   from https to http.
  func redirected(by head: HTTPResponseHead) throws(TransportError) -> HTTPRequest? {
    guard method.followsRedirects, [301, 302, 303, 307, 308].contains(head.status),
      let location = head.fields["Location"]
    else { return nil }
    let target = HTTPURL.resolved(location, against: url)
    let isSecure = url.prefix(6).lowercased() == "https:"
    let schemes = isSecure ? ["https:"] : ["https:", "http:"]
    guard schemes.contains(where: target.lowercased().hasPrefix),
      let address = try? HTTPURL.validated(target)
    else {
      throw TransportError(
        .refusedRedirect,
        "this leads elsewhere, and is not followed there; ask for that address yourself if"
          + " you trust it (redirected to \(HTTPURL.withoutCredentials(location)))", url: url)
    }
    return readdressed(to: address)
  }

  /// The same request of another address; at another origin, only with fields that any server may see.
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
}
