/// An event of a server, for the log of its operator: a request that has ended, or a message.
///
/// It contains no access token, and no field of a record. Texts of clients are as they were sent: a log that writes
/// lines has to escape their control characters.
public struct ServerEvent: Hashable, Sendable {
  /// The importance of an event. The numbers are those of `syslog(3)`.
  public enum Level: Int, CaseIterable, Comparable, Sendable {
    /// The server cannot do its work, or a part of it.
    case error = 3
    /// Access was refused, a limit was reached, or the server is not protected.
    case warning
    /// The server started, read its files again, or stopped; a request was refused for another reason.
    case notice
    /// A request was answered.
    case info

    /// True if the first level is the more important one.
    public static func < (first: Level, second: Level) -> Bool { first.rawValue < second.rawValue }

    /// The name.
    public var name: String { "\(self)" }
  }

  /// The importance.
  public var level: Level
  /// A sentence for people; empty for a request that was answered.
  public var message: String
  /// The code of a request that was refused, as the protocol has it, such as `unauthenticated`.
  public var reason: String?
  /// The account of the client; `nil` if it is unknown.
  public var account: String?
  /// The number of the client's address, such as `203.0.113.7`.
  public var address: String?
  /// The space.
  public var space: String?
  /// The method of the request.
  public var method: String?
  /// The path of the request, percent-encoded and without the query; long ones are shortened.
  public var path: String?
  /// The status code of the answer; `nil` if there was none.
  public var status: Int?
  /// The time from the line of the request to the end of its answer.
  public var duration: Duration?
  /// The length of the answer's body as it was sent, in bytes.
  public var byteCount: Int?

  /// A message.
  public init(_ level: Level, _ message: String = "", space: String? = nil) {
    self.level = level
    self.message = message
    self.space = space
  }
}

extension ServerEvent {
  /// The maximum number of characters of a path and of a method.
  private static let maxPathLength = 200
  private static let maxMethodLength = 20

  /// Adds the line of a request, as a log may have it.
  mutating func add(method: String, target: String) {
    self.method = String(TokenRedaction.redacted(method).prefix(Self.maxMethodLength))
    let path = TokenRedaction.redacted(String(target.prefix { $0 != "?" }))
    let isShortened = path.utf8.count > Self.maxPathLength
    self.path = isShortened ? path.prefix(Self.maxPathLength) + "…" : path
  }

  /// Makes the event of a request one of its refusal.
  mutating func add(_ refusal: ServerEvent) {
    level = refusal.level
    message = refusal.message
    reason = refusal.reason
    status = refusal.status
  }

  /// The event without access tokens in the space and in the message, which may quote a request.
  var redacted: ServerEvent {
    var event = self
    event.space = space.map(TokenRedaction.redacted)
    event.message = TokenRedaction.redacted(message)
    return event
  }
}
