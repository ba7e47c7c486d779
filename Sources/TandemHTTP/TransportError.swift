/// Why bytes could not be fetched or sent.
///
/// `message` says what happened and what to do about it, ready to be shown to whoever typed the
/// address. Credentials in the address (`https://user:password@host`) are never part of the error.
public struct TransportError: Error {
  /// The kind of failure: an open set, to be compared, with room for kinds to come.
  public struct Code: Hashable, Sendable {
    private enum Kind: String {
      case invalidURL, unsupportedScheme, invalidField
      case unresolvedHost, cannotConnect, tlsFailure
      case timedOut, connectionLost, truncated, malformedResponse, tooLarge
      case tooManyRedirects, refusedRedirect, badStatus, unavailable, cannotRead
      case cannotWrite, contentMismatch, listChanged, uncertainEnd, tooManyOpenFiles
    }

    private let kind: Kind

    /// The address is not a URL.
    public static let invalidURL = Self(kind: .invalidURL)
    /// The address is a URL, but not an http or https one.
    public static let unsupportedScheme = Self(kind: .unsupportedScheme)
    /// The method or a header field of the request cannot be sent as it is.
    public static let invalidField = Self(kind: .invalidField)
    /// No address is known for the host's name.
    public static let unresolvedHost = Self(kind: .unresolvedHost)
    /// The host is known, but nothing there accepts the connection.
    public static let cannotConnect = Self(kind: .cannotConnect)
    /// No trusted, encrypted connection can be made.
    public static let tlsFailure = Self(kind: .tlsFailure)
    /// One of ``HTTPTimeouts`` ran out.
    public static let timedOut = Self(kind: .timedOut)
    /// The connection broke before the response was complete, or before it was encrypted.
    public static let connectionLost = Self(kind: .connectionLost)
    /// The response ended in good order, but before the end that it had declared.
    public static let truncated = Self(kind: .truncated)
    /// The response breaks the rules of HTTP or of its content encoding.
    public static let malformedResponse = Self(kind: .malformedResponse)
    /// The response is longer than the limit the caller set, or its header than the client's limit.
    public static let tooLarge = Self(kind: .tooLarge)
    /// More redirects than ``HTTPClientOptions/maxRedirectCount``.
    public static let tooManyRedirects = Self(kind: .tooManyRedirects)
    /// A redirect to something that is not followed: another scheme, or from https to http.
    public static let refusedRedirect = Self(kind: .refusedRedirect)
    /// The server answered with a status that is no success.
    public static let badStatus = Self(kind: .badStatus)
    /// The machine or the library lacks what the client needs: memory, threads, a feature.
    public static let unavailable = Self(kind: .unavailable)
    /// A file or standard input cannot be read.
    public static let cannotRead = Self(kind: .cannotRead)
    /// A file or directory cannot be created, written, moved or removed.
    public static let cannotWrite = Self(kind: .cannotWrite)
    /// Content does not have the length or the digest that it was declared to have.
    public static let contentMismatch = Self(kind: .contentMismatch)
    /// A list changed while its pages were read, again and again.
    public static let listChanged = Self(kind: .listChanged)
    /// Nothing shows whether a list or a content is whole: neither its format, nor what it can be checked
    /// by, nor the response has an end of its own.
    public static let uncertainEnd = Self(kind: .uncertainEnd)
    /// The process, or the machine, cannot have a further socket before others are closed.
    public static let tooManyOpenFiles = Self(kind: .tooManyOpenFiles)
  }

  /// The kind of failure.
  public var code: Code
  /// What happened and what to do, without the address.
  public var message: String
  /// The address that was asked for, without credentials.
  public var url: String
  /// What the library below reported: a ``CurlError``, an `NSError`, or nothing.
  public var cause: (any Error)?
  /// For content that is ``Code/tooLarge``, the limit that it passed, in bytes.
  public var maxByteCount: Int?
  /// For ``Code/badStatus``, the status.
  public var status: Int?
  /// How long the server asks to wait before the next attempt, if it does; it may ask for years.
  public var retryDelay: Duration?

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
  /// Whether the same request may succeed later: the connection failed, the server is busy or has a
  /// passing fault, or sent something else than was declared.
  public var isTransient: Bool {
    switch code {
    case .cannotConnect, .unresolvedHost, .timedOut, .connectionLost, .truncated,
      .tooManyOpenFiles:
      true
    case .badStatus: status.map { [202, 408, 425, 429, 500, 502, 503, 504].contains($0) } ?? false
    // A proxy, or a server in the middle of a change, may have mixed things up.
    case .contentMismatch: true
    default: false
    }
  }
}

extension TransportError: CustomStringConvertible {
  /// The address and the message, as in "https://a.example/list: the host is not known; …".
  public var description: String { "\(url): \(message)" }
}

extension TransportError.Code: CustomStringConvertible {
  /// The code's name, such as "timedOut".
  public var description: String { kind.rawValue }
}
