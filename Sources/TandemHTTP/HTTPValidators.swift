/// What a server said of the version it sent, to ask later whether there is a newer one (RFC 9110,
/// section 8.8).
///
/// Keep it beside what was made of the response, and only once that is safe: a request with these
/// validators is answered by 304 and no content (``HTTPResponseHead/isNotModified``) while they are
/// current. They belong to the one address they came from.
public struct HTTPValidators: Hashable, Codable, Sendable {
  /// The `ETag`, exactly as received, quotes and a `W/` included.
  public var entityTag: String?
  /// The `Last-Modified` date, exactly as received.
  public var lastModified: String?

  /// The given validators.
  public init(entityTag: String? = nil, lastModified: String? = nil) {
    self.entityTag = entityTag
    self.lastModified = lastModified
  }

  /// The validators of a response, of which there may be none. One that could not be sent back, for
  /// a control character in it, is left out; so is a date without a tag beside it, if another version
  /// may have the same (``HTTPResponseHead/provenModificationDate``).
  public init(of head: HTTPResponseHead) {
    func sendable(_ name: String) -> String? {
      head.fields[name].flatMap { Self.isSendable($0) ? $0 : nil }
    }
    let tag = sendable("ETag")
    self.init(
      entityTag: tag,
      lastModified: tag == nil ? head.provenModificationDate : sendable("Last-Modified"))
  }

  /// Whether there is nothing to ask with.
  public var isEmpty: Bool { entityTag == nil && lastModified == nil }

  /// Whether a request can have them.
  package var isSendable: Bool {
    [entityTag, lastModified].allSatisfy { $0.map(Self.isSendable) ?? true }
  }

  private static func isSendable(_ value: String) -> Bool {
    HTTPFields.Field(name: "ETag", value: value).defect == nil
  }
}

extension HTTPResponseHead {
  /// The `Last-Modified` date, as received, if no later version can have it: it must be at least a
  /// second older than the response, because what is younger may change without a change of its date
  /// (RFC 9110, section 8.8.2.2).
  package var provenModificationDate: String? {
    guard let text = fields["Last-Modified"], let modified = SystemParser.date(text),
      let date = fields["Date"].flatMap({ SystemParser.date($0) }), modified < date
    else { return nil }
    return text
  }
}

extension HTTPRequest {
  /// Asks for the content only if it is not the version that `validators` describe.
  public mutating func makeConditional(on validators: HTTPValidators) {
    fields["If-None-Match"] = validators.entityTag
    fields["If-Modified-Since"] = validators.lastModified
  }
}
