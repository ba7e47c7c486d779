/// The secret by which a program identifies itself to a server of spaces.
///
/// It is not part of any description, so that it does not get into a log by accident.
public enum ServerToken: Hashable, Sendable {
  /// The secret.
  case text(String)
  /// The path of a file with the secret on its first line. It is read for each request, so the secret
  /// can be replaced at any time.
  case file(String)
}

extension ServerToken: CustomStringConvertible, CustomReflectable {
  /// The place of the secret, without the secret.
  public var description: String {
    switch self {
    case .text: "a token"
    case .file(let path): "the token in \(path)"
    }
  }

  /// No children: the secret is not shown.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension ServerToken {
  /// The maximum number of bytes of a file with a token.
  private static let maxFileByteCount = 64 << 10

  /// The secret.
  ///
  /// - Throws: ``RemoteError`` if the file cannot be read, or has no token.
  func secret() throws(RemoteError) -> String {
    switch self {
    case .text(let text): return try Self.checked(text, from: "the token")
    case .file(let path):
      guard let bytes = try LockedFile(path: path).bytes(maxByteCount: Self.maxFileByteCount) else {
        throw RemoteError(
          .file, path, "the file with the token does not exist; store the token there again")
      }
      let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
      return try Self.checked(String(decoding: line, as: UTF8.self), from: path)
    }
  }

  private static func checked(_ text: String, from place: String) throws(RemoteError) -> String {
    guard !text.isEmpty, text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw RemoteError(
        .malformed, place,
        "it has no token: a line without spaces, as tandem token create prints it")
    }
    return text
  }
}
