internal import TandemRecords
internal import TandemSync

/// The fields of an action that were not read yet.
struct InspectorFields {
  var rest: [String: JSONValue]

  mutating func text(_ name: String) throws(SyncRequestError) -> String {
    guard let text = rest.removeValue(forKey: name)?.text else {
      throw SyncRequestError(.malformed, "the field \(name) is missing, or no text")
    }
    return text
  }

  mutating func value<Value>(
    _ name: String, _ kind: String, _ convert: (String) -> Value?
  ) throws(SyncRequestError) -> Value {
    guard let value = convert(try text(name)) else {
      throw SyncRequestError(.malformed, "the field \(name) is not \(kind)")
    }
    return value
  }

  /// A value that may be absent or null.
  mutating func optional<Value>(
    _ name: String, _ kind: String, _ convert: (String) -> Value?
  ) throws(SyncRequestError) -> Value? {
    switch rest[name] {
    case nil, .null?:
      rest[name] = nil
      return nil
    default: return try value(name, kind, convert)
    }
  }

  mutating func account() throws(SyncRequestError) -> String {
    try value("account", "the name of an account: 1 to 128 characters from ! to ~ but #") {
      AccessToken.isAccount($0) ? $0 : nil
    }
  }

  mutating func space() throws(SyncRequestError) -> String {
    try value("space", "the name of a space") { SpaceName.isValid($0) ? $0 : nil }
  }

  /// A space whose name was typed once more.
  mutating func confirmedSpace() throws(SyncRequestError) -> String {
    let space = try space()
    guard try text("confirm") == space else {
      throw SyncRequestError(.malformed, "the name that was typed is not that of the space")
    }
    return space
  }

  /// Patterns of spaces, with commas between them; none if the text is empty.
  mutating func scope(_ name: String) throws(SyncRequestError) -> AccessToken.Scope {
    try value(name, "names of spaces with commas between them, the begin of names and a star, or *")
    {
      $0.isEmpty ? AccessToken.Scope.noSpaces : AccessToken.Scope(text: $0)
    }
  }
}
