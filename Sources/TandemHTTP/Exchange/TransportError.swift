/// An error of a transfer over HTTP, or of a file that takes part in one.
///
/// `message` names the failure and the remedy, for the person who typed the address. Credentials in the
/// address (`https://user:password@host`) are never part of the error.
public struct TransportError: Error {
  /// The kind of failure: an open set, to which later versions may add.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code, as in `timedOut`.
    public let name: String
    /// The name.
    public var description: String { name }

    /// The address is not a URL.
    public static let invalidURL = Code(name: "invalidURL")
    /// The address is a URL, but not an http or https one.
    public static let unsupportedScheme = Code(name: "unsupportedScheme")
    /// The method or a header field of the request cannot be sent as it is.
    public static let invalidField = Code(name: "invalidField")
    /// No address is known for the host's name.
    public static let unresolvedHost = Code(name: "unresolvedHost")
    /// The host is known, but nothing there accepts the connection.
    public static let cannotConnect = Code(name: "cannotConnect")
    /// No trusted, encrypted connection can be made.
    public static let tlsFailure = Code(name: "tlsFailure")
    /// One of ``HTTPTimeouts`` ran out.
    public static let timedOut = Code(name: "timedOut")
    /// The connection broke before the response was complete, or before it was encrypted.
    public static let connectionLost = Code(name: "connectionLost")
    /// The response ended in good order, but before the end that it had declared.
    public static let truncated = Code(name: "truncated")
    /// The response breaks the rules of HTTP or of its content encoding.
    public static let malformedResponse = Code(name: "malformedResponse")
    /// The response is longer than the limit the caller set, or its header than the client's limit.
    public static let tooLarge = Code(name: "tooLarge")
    /// More redirects than ``HTTPClientOptions/maxRedirectCount``.
    public static let tooManyRedirects = Code(name: "tooManyRedirects")
    /// A redirect to something that is not followed: another scheme, or from https to http.
    public static let refusedRedirect = Code(name: "refusedRedirect")
    /// The server answered with a status that is no success.
    public static let badStatus = Code(name: "badStatus")
    /// The machine or the library lacks what the client needs: memory, threads, a feature.
    public static let unavailable = Code(name: "unavailable")
    /// A file or standard input cannot be read.
    public static let cannotRead = Code(name: "cannotRead")
    /// A file or directory cannot be created, written, moved or removed.
    public static let cannotWrite = Code(name: "cannotWrite")
    /// Content does not have the length or the digest that it was declared to have.
    public static let contentMismatch = Code(name: "contentMismatch")
    /// A list changed while its pages were read, again and again.
    public static let listChanged = Code(name: "listChanged")
    /// A list or a content cannot be verified to be complete: neither its format, nor a length or digest,
    /// nor the response marks an end.
    public static let uncertainEnd = Code(name: "uncertainEnd")
    /// The list goes on after the only page that was asked for.
    public static let unreadPages = Code(name: "unreadPages")
    /// The process, or the machine, cannot have a further socket before others are closed.
    public static let tooManyOpenFiles = Code(name: "tooManyOpenFiles")
  }

  /// The kind of failure.
  public var code: Code
  /// The failure and the remedy, without the address.
  public var message: String
  /// The address of the request, without credentials; for a file, its path.
  public var url: String
  /// The error of the library below: libcurl's error, an `NSError`, or `nil`.
  public var cause: (any Error)?
  /// For content that is ``Code/tooLarge``, the limit that it passed, in bytes.
  public var maxByteCount: Int?
  /// For ``Code/badStatus``, the status.
  public var status: Int?
  /// The wait that the server asks for before the next attempt; it may be years.
  public var retryDelay: Duration?
  /// True if the machine of the server answered that nobody listens there. An address that cannot be reached, a name
  /// without an address, and the failure of a proxy say nothing about the server.
  package var isRefused = false

  /// A failure at `url`, from which credentials are removed.
  public init(_ code: Code, _ message: String, url: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.url = HTTPURL.withoutCredentials(url)
    self.cause = cause
  }

  /// A failure at a file or directory.
  package init(_ code: Code, _ message: String, path: String) {
    self.code = code
    self.message = message
    url = path
  }
}

extension TransportError {
  /// True if the same request may succeed later: the connection failed, the server is busy or has a
  /// temporary fault, or the content is not the declared one.
  public var isTransient: Bool {
    switch code {
    case .cannotConnect, .unresolvedHost, .timedOut, .connectionLost, .truncated,
      .tooManyOpenFiles:
      true
    case .badStatus: status.map(isTransient) ?? false
    // A proxy, or a server in the middle of a change, may have mixed things up.
    case .contentMismatch: true
    default: false
    }
  }
}

extension TransportError {
  private func isTransient(_ status: Int) -> Bool {
    switch status {
    case 202, 408, 425, 429, 500, 502, 503, 504: true
    // A limit for requests is not always a 429. A refusal for good asks for no wait.
    case 403: retryDelay != nil
    // Proxies answer so for a server that they do not reach.
    case 520..<531, 598, 599: true
    default: false
    }
  }
}

extension TransportError: CustomStringConvertible {
  /// The address and the message, as in "https://a.example/list: the host is not known; …", in one line:
  /// both may have texts of a server, so control characters are escaped.
  public var description: String { "\(url): \(message)".escapingControls() }
}
