/// The validators of a response, with which a later request asks for a newer version (RFC 9110, section
/// 8.8).
///
/// Store them together with the content, after the content is safe: while they are current, the server
/// answers 304 without content (``HTTPResponseHead/isNotModified``). They belong to one address.
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

  /// The validators of a response, of which there may be none.
  ///
  /// A validator with a control character is left out, because it cannot be sent back. A date without a
  /// tag is left out if another version may have the same date.
  public init(of head: HTTPResponseHead) {
    func sendable(_ name: String) -> String? {
      head.fields[name].flatMap { Self.isSendable($0) ? $0 : nil }
    }
    let tag = sendable("ETag")
    self.init(
      entityTag: tag,
      lastModified: tag == nil ? head.provenModificationDate : sendable("Last-Modified"))
  }

  /// True if there is neither an entity tag nor a date.
  public var isEmpty: Bool { entityTag == nil && lastModified == nil }

  /// True if a request can carry them.
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
