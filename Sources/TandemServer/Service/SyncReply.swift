internal import TandemRecords
package import TandemSpace
package import TandemSync

/// The answer to a request, before it is encoded.
package enum SyncReply: Hashable, Sendable {
  case health
  case text(String, type: String)
  /// Lines of JSON arrays.
  case lines([UInt8])
  /// The health of a server that follows another one.
  case following(secondsBehind: Int)
  case spaces([SpaceListing])
  case state(SpaceState)
  case tables([SpaceTable])
  case outcome(SyncOutcome)
  case members([SpaceMember])
  case page(SyncPage)
  case refusal(SyncRequestError)

  /// The reply to a pull.
  package init(_ answer: SyncPullAnswer) {
    switch answer {
    case .page(let page): self = .page(page)
    case .gone(let reason): self = .outcome(.gone(reason))
    }
  }

  /// The status code.
  package var status: Int {
    switch self {
    case .health, .text, .lines, .following, .spaces, .state, .tables, .page, .members: 200
    case .outcome(.accepted), .outcome(.parts): 200
    case .outcome(.conflict), .outcome(.sequence): 409
    case .outcome(.gone): 410
    case .outcome(.refused): 422
    case .refusal(let refusal): refusal.status
    }
  }

  /// The body.
  package var body: [UInt8] {
    switch self {
    case .health: Array(#"{"status":"ok"}"#.utf8)
    case .text(let text, _): Array(text.utf8)
    case .lines(let bytes): bytes
    case .following(let seconds):
      Array(#"{"status":"following","secondsBehind":\#(seconds)}"#.utf8)
    case .spaces(let listings): SyncMessageWriter.bytes(listings)
    case .state(let state): SyncMessageWriter.bytes(state)
    case .tables(let tables): SyncMessageWriter.bytes(tables)
    case .outcome(let outcome): SyncMessageWriter.bytes(outcome)
    case .page(let page): SyncMessageWriter.bytes(page)
    case .members(let members): Self.bytes(members)
    case .refusal(let refusal): SyncMessageWriter.bytes(refusal)
    }
  }

  private static func bytes(_ members: [SpaceMember]) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.objects("members", of: members) { member, json in
        json.field("account", member.account)
        json.field("role", member.role.rawValue)
      }
    }
    return json.bytes
  }

  /// The encoded answer.
  package var answer: HTTPAnswer {
    var type = "application/json"
    if case .text(_, let other) = self { type = other }
    if case .lines = self { type = "application/x-ndjson" }
    var answer = HTTPAnswer(status: status, type: type, body)
    // No cache may keep records, nor an answer for one access token for another one. Answers to
    // commits need no such word: a cache keeps an answer to POST only if that says so (RFC 9110,
    // section 9.3.3).
    switch self {
    case .outcome(.gone): answer.fields.append(("Cache-Control", "no-store"))
    case .outcome: break
    default: answer.fields.append(("Cache-Control", "no-store"))
    }
    // Browsers guess the type of a text, but not that of JSON.
    if case .text = self { answer.fields.append(("X-Content-Type-Options", "nosniff")) }
    if case .refusal(let refusal) = self {
      answer.event = refusal.event
      if let pause = refusal.retryAfter {
        answer.fields.append(("Retry-After", "\(pause.wholeSeconds)"))
      }
      if refusal.code == .unauthenticated {
        answer.fields.append(("WWW-Authenticate", "Bearer realm=\"Tandem\""))
      }
    }
    return answer
  }
}

extension SyncRequestError {
  /// The event for the log. Only messages about access and limits are in it: others may quote the request.
  fileprivate var event: ServerEvent {
    let isWarning = [401, 403, 413, 429, 503].contains(status) || code == .unknownSpace
    var event = ServerEvent(
      isWarning ? .warning : .notice, isWarning && code != .overLimit ? message : "")
    event.reason = code.name
    return event
  }

  /// The refusal of a client that has too many requests under way.
  static let tooManyRequests = SyncRequestError(
    .tooManyRequests, "this client has too many requests under way; send them one after the other",
    retryAfter: .seconds(1))

  /// The status code of the refusal.
  package var status: Int {
    switch code {
    case .malformed: 400
    case .unauthenticated: 401
    case .unauthorized: 403
    case .unknownSpace, .unknownRoute: 404
    case .methodNotAllowed: 405
    case .differentTables, .lastOwner: 409
    case .overLimit, .overQuota: 413
    case .unsupportedMedia: 415
    case .tooManyRequests: 429
    default: 503
    }
  }
}

extension Duration {
  /// The seconds, rounded up, at least 1.
  fileprivate var wholeSeconds: Int {
    let (seconds, attoseconds) = components
    return max(1, Int(seconds) + (attoseconds > 0 ? 1 : 0))
  }
}
