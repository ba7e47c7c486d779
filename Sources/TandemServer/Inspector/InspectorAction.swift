internal import TandemRecords
internal import TandemSpace
internal import TandemSync

/// What an administrator asks an ``Inspector`` to do, as the body of a request has it: an object with the name of the
/// action.
enum InspectorAction: Equatable {
  /// To list the access tokens whose account or ID has a part.
  case tokens(search: String)
  case createToken(
    account: String, AccessToken.Access, AccessToken.Scope, creates: AccessToken.Scope,
    expiry: Double?, note: String?)
  case revokeToken(id: String)
  /// To give an account a role in a space, or none.
  case setMember(space: String, account: String, SpaceRole?)
  /// To forget all commits but the last ones.
  case forget(space: String, keptCount: Int)
  case rename(space: String, to: String)
  case delete(space: String)

  /// The space that it changes; `nil` if it changes none.
  var space: String? {
    switch self {
    case .tokens, .createToken, .revokeToken: nil
    case .setMember(let space, _, _), .forget(let space, _), .rename(let space, _),
      .delete(let space):
      space
    }
  }

  /// The maximum length of a body, in bytes.
  static let maxByteCount = 64 << 10

  /// Reads an action.
  ///
  /// - Throws: `SyncRequestError` with code `malformed`.
  init(_ body: [UInt8]) throws(SyncRequestError) {
    guard body.count <= Self.maxByteCount, let value = try? JSONValue(parsing: body),
      case .object(let all) = value
    else { throw SyncRequestError(.malformed, "the body is no JSON object with an action") }
    var fields = InspectorFields(rest: all)
    switch try fields.text("action") {
    case "tokens": self = .tokens(search: try fields.text("search").asciiLowercased)
    case "createToken":
      self = .createToken(
        account: try fields.account(),
        try fields.value("access", "read, write, inspect, admin, follow or metrics") {
          AccessToken.Access(rawValue: $0)
        },
        try fields.scope("spaces"), creates: try fields.scope("create"),
        expiry: try fields.optional("expires", "a time in RFC 3339") {
          TimeText.seconds($0).map { Double($0) }
        },
        note: try fields.optional("note", "a line of up to 200 characters") {
          AccessToken.isNote($0) ? $0 : nil
        })
    case "revokeToken": self = .revokeToken(id: try fields.text("id"))
    case "setMember":
      guard fields.rest["role"] != nil else {
        throw SyncRequestError(.malformed, "the field role is missing; null removes the member")
      }
      self = .setMember(
        space: try fields.space(), account: try fields.account(),
        try fields.optional("role", "reader, writer or owner") { SpaceRole(rawValue: $0) })
    case "forget":
      self = .forget(
        space: try fields.space(),
        keptCount: try fields.value("keep", "a number of commits") { text in
          Int(text).flatMap { $0 >= 0 ? $0 : nil }
        })
    case "rename":
      self = .rename(
        space: try fields.confirmedSpace(),
        to: try fields.value("name", "a name that matches \(SpaceName.pattern)") {
          SpaceName.isValid($0) ? $0 : nil
        })
    case "delete": self = .delete(space: try fields.confirmedSpace())
    default: throw SyncRequestError(.malformed, "there is no such action")
    }
    guard let name = fields.rest.keys.min() else { return }
    throw SyncRequestError(.malformed, "the action has no field \(name)")
  }
}
