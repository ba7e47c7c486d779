/// The reason why a truncated body could not be recognised.
package enum EndUncertainty {
  case encoded, undeclared

  package var reason: String {
    switch self {
    case .encoded: "the server compresses it although it was asked not to"
    case .undeclared: "the server does not say how long it is"
    }
  }

  /// The form in which the server should send the body instead.
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

  /// Creates a response, for clients of your own and for tests.
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
