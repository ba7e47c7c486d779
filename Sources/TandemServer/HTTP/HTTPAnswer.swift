/// The answer to a ``ServedRequest``.
public struct HTTPAnswer: Sendable {
  /// The body of an answer.
  public enum Content: Sendable {
    /// All bytes. The server compresses large ones if the client accepts that.
    case bytes([UInt8])
    /// Bytes that follow as they arise, such as an event stream. They are never compressed.
    case stream(AnswerStream)
  }

  /// The status code.
  public var status: Int
  /// The header, besides the fields that the server adds: the length, the date and the compression.
  public var fields: [(name: String, value: String)]
  /// The body.
  public var content: Content
  /// The event for the log, which the server completes when the answer has been sent.
  public var event = ServerEvent(.info)

  /// An answer.
  public init(status: Int, fields: [(name: String, value: String)] = [], content: Content) {
    self.status = status
    self.fields = fields
    self.content = content
  }

  /// An answer with a body of a media type.
  public init(status: Int = 200, type: String, _ bytes: [UInt8]) {
    self.init(status: status, fields: [("Content-Type", type)], content: .bytes(bytes))
  }

  /// An answer with a text.
  public init(status: Int = 200, _ text: String) {
    self.init(status: status, type: "text/plain; charset=utf-8", Array(text.utf8))
  }
}

/// The program behind an ``HTTPServer``.
public protocol HTTPResponder: Sendable {
  /// Decides by the header of a request whether to receive its body.
  ///
  /// Called on the server's thread: it must neither wait nor compute for long.
  func admission(of head: ServedRequestHead) -> HTTPAdmission

  /// Answers a request. Called in a task of its own.
  func answer(_ request: ServedRequest) async -> HTTPAnswer

  /// The answer that the server itself gives when it reaches a limit or stops.
  func answer(to trouble: ServerTrouble) -> HTTPAnswer

  /// Does the work that belongs to no single request, until the task is cancelled; it may also return
  /// before. ``HTTPServer/run()`` calls it, once for each server of the responder.
  func run() async
}

extension HTTPResponder {
  /// Does nothing: all work belongs to requests.
  public func run() async {}
}

/// The decision about a request by its header alone.
public enum HTTPAdmission: Sendable {
  /// The request gets this answer.
  case refused(HTTPAnswer)
  /// The request is answered when its body has arrived.
  ///
  /// The bodies and the answers of all requests with the same `client` take at most a share of the
  /// memory that the server's limits allow, so that one client does not keep others from being
  /// served. Requests without a `client` have no such share.
  case accepted(client: String?)
}

/// The reasons for an answer that an ``HTTPServer`` gives by itself.
public enum ServerTrouble: Hashable, Sendable {
  /// The end of the request cannot be told for sure: its header is not valid, or has two lengths.
  case malformedHead
  /// The request has a body, but not the method `POST`, `PUT` or `PATCH`.
  case unexpectedBody
  /// The body of the request is longer than ``HTTPServerLimits/maxBodyByteCount``.
  case bodyTooLong
  /// ``HTTPServerLimits/maxConcurrentRequestCount``, ``HTTPServerLimits/maxTotalBodyByteCount`` or
  /// ``HTTPServerLimits/maxTotalAnswerByteCount`` is reached.
  case overloaded
  /// The client has used up its share of one of these lengths.
  case clientOverloaded
  /// The server stops.
  case stopping
}

/// The bounds of an ``HTTPServer``. All counts are positive.
public struct HTTPServerLimits: Hashable, Sendable {
  /// The maximum number of open connections. More wait until others close.
  public var maxConnectionCount = 10_000
  /// The maximum number of open connections of one address. More are closed at once.
  public var maxAddressConnectionCount = 5_000
  /// The bytes of memory for each connection. The line and the header of a request must fit.
  public var connectionByteCount = 8 << 10
  /// The maximum length of the body of a request, in bytes.
  public var maxBodyByteCount = 16 << 20
  /// The maximum length of the bodies of all requests that are not answered, in bytes. The share of
  /// one client is a quarter.
  public var maxTotalBodyByteCount = 256 << 20
  /// The maximum length of all answers that are being sent, in bytes. The share of one client is a
  /// quarter. Answers that are no longer than ``connectionByteCount`` do not count, so that a small
  /// answer is always sent; nor do streams, which have bounds of their own.
  public var maxTotalAnswerByteCount = 256 << 20
  /// The maximum number of requests that are not answered.
  public var maxConcurrentRequestCount = 1_000
  /// The maximum time from the begin of a connection, or the end of the answer before, until the
  /// header of a request is complete; and the maximum time in which no byte arrives or leaves.
  public var maxIdleTime = Duration.seconds(60)
  /// The maximum time for the body of a request.
  public var maxBodyTime = Duration.seconds(120)
  /// The maximum time for an answer that is no stream to be read by the client.
  public var maxSendTime = Duration.seconds(300)
  /// The maximum time for a client to read the end of a stream, and then to send another request.
  public var maxStreamEndTime = Duration.seconds(5)
  /// The maximum time that stopping waits for requests to be answered and read.
  public var maxStopTime = Duration.milliseconds(700)
  /// The least length of an answer that is compressed, in bytes.
  public var minCompressedByteCount = 4 << 10

  /// The usual limits.
  public init() {}
}
