/// The error of a request that a space refuses as a whole. Nothing of it was applied. A commit that its account may not
/// send, or that is beyond a quota, consumes its sequence; others consume none.
public struct SyncRequestError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of error. Codes that this version does not know are kept.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code.
    public let name: String
    /// The name.
    public var description: String { name }

    /// A code of this name, which may be one of a later version.
    package init(name: String) { self.name = name }

    /// The request is not a message of this protocol.
    public static let malformed = Code(name: "malformed")
    /// The request exceeds a limit of `SyncLimits`.
    public static let overLimit = Code(name: "overLimit")
    /// The space would exceed its quota of records or bytes. Every commit that makes no more of them is accepted.
    public static let overQuota = Code(name: "overQuota")
    /// The request names nobody.
    public static let unauthenticated = Code(name: "unauthenticated")
    /// The request is not permitted to whom it names.
    public static let unauthorized = Code(name: "unauthorized")
    /// There is no such space.
    public static let unknownSpace = Code(name: "unknownSpace")
    /// The server has no such address.
    public static let unknownRoute = Code(name: "unknownRoute")
    /// The address exists, but not with this method.
    public static let methodNotAllowed = Code(name: "methodNotAllowed")
    /// The body is not JSON by its `Content-Type`, or it is compressed.
    public static let unsupportedMedia = Code(name: "unsupportedMedia")
    /// The tables of the replica are not those of the space.
    public static let differentTables = Code(name: "differentTables")
    /// The account is the only owner of the space, which has to keep one.
    public static let lastOwner = Code(name: "lastOwner")
    /// The client has too many requests under way. The same bytes may be sent again.
    public static let tooManyRequests = Code(name: "tooManyRequests")
    /// The space cannot answer now. The outcome is unknown; the same bytes may be sent again.
    public static let unavailable = Code(name: "unavailable")
  }

  /// The kind of error.
  public let code: Code
  /// A sentence for people that says what to do.
  public let message: String
  /// The time after which to send the request again, if the space said so.
  public let retryAfter: Duration?

  /// How a message begins that ends with the reason for which a token is refused.
  package static let refusedTokenPrefix = "the access token is not accepted: "

  package init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
  }

  /// True if the same request may succeed later.
  public var isTransient: Bool { code == .unavailable || code == .tooManyRequests }

  /// The message.
  public var description: String { message }
}
