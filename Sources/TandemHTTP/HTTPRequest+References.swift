extension HTTPRequest {
  /// The address that `reference` means in a document at `base` (RFC 3986, section 5.2).
  package static func url(_ reference: String, relativeTo base: String) -> String {
    URLReference.resolved(reference, against: base)
  }

  /// Whether two addresses are of one scheme, host and port, so that what one server is told, the
  /// other may know.
  package static func haveSameOrigin(_ first: String, _ second: String) -> Bool {
    URLReference.haveSameOrigin(first, second)
  }
}
