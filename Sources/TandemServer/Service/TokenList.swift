package import TandemDigests
package import TandemSync

/// The name of a space: a letter or a digit, then up to 127 letters, digits, points, lines and
/// underscores of ASCII.
package enum SpaceName {
  /// The names as a regular expression.
  package static let pattern = "[A-Za-z0-9][A-Za-z0-9._-]{0,127}"

  /// True if a text can be the name of a space.
  package static func isValid(_ text: String) -> Bool {
    let isLetter: (UInt8) -> Bool = { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      default: false
      }
    }
    guard let first = text.utf8.first, isLetter(first), text.utf8.count <= 128 else { return false }
    return text.utf8.allSatisfy { isLetter($0) || "._-".utf8.contains($0) }
  }
}

/// An access token, as a server knows it: without the secret.
package struct AccessToken: Hashable, Sendable {
  /// The spaces that a token is for.
  package enum Scope: Hashable, Sendable {
    case all
    case spaces([String])
  }

  /// The rights of a token in its spaces.
  package enum Access: String, CaseIterable, Sendable {
    case read
    /// To read, to change, and to create the spaces.
    case write
    /// To see in ``Inspector`` who changed the spaces when, and nothing else: no records.
    case inspect
  }

  /// The SHA-256 of the secret.
  package let hash: SHA256Digest
  /// The account that the token stands for.
  package let account: String
  /// The rights in the spaces.
  package let access: Access
  /// The spaces.
  package let scope: Scope
  /// The token's name in lists: the first digits of its hash.
  package let id: String

  /// A token.
  package init(
    hash: SHA256Digest, account: String, access: Access, scope: Scope
  ) {
    self.hash = hash
    self.account = account
    self.access = access
    self.scope = scope
    id = String(hash.description.prefix(12))
  }

  /// The token of a secret.
  package init(
    secret: String, account: String, access: Access, scope: Scope
  ) {
    self.init(
      hash: SHA256Digest(of: secret.utf8), account: account, access: access, scope: scope)
  }

  /// The rights of a replica in a space; `nil` if there are none.
  package func access(to space: String) -> SpaceListing.Access? {
    guard isFor(space) else { return nil }
    return switch access {
    case .read: .read
    case .write: .write
    case .inspect: nil
    }
  }

  /// True if the token permits to inspect a space.
  func mayInspect(_ space: String) -> Bool { access == .inspect && isFor(space) }

  private func isFor(_ space: String) -> Bool {
    switch scope {
    case .all: true
    case .spaces(let names): names.contains { $0.utf8.elementsEqual(space.utf8) }
    }
  }

  /// The names of the spaces; `*` for all.
  package var scopeNames: [String] {
    switch scope {
    case .all: ["*"]
    case .spaces(let names): names
    }
  }

  /// The names of the spaces, as the file has them.
  package var scopeText: String { scopeNames.joined(separator: ",") }

  /// True if a text can be the name of an account.
  package static func isAccount(_ text: String) -> Bool {
    let isAllowed: (UInt8) -> Bool = { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }
    return !text.isEmpty && text.utf8.count <= 128 && text.utf8.allSatisfy(isAllowed)
  }

  /// The spaces of names, or `*` for all; `nil` if one is no name.
  package static func scope(_ names: [String]) -> Scope? {
    if names == ["*"] { return .all }
    return !names.isEmpty && names.allSatisfy { SpaceName.isValid($0) } ? .spaces(names) : nil
  }
}

/// The access tokens of a server, as their file lists them.
///
/// The file has one line for each token: the SHA-256 of its secret, the account, `read`, `write` or
/// `inspect`, and the spaces with commas between them, or `*` for all. Empty lines and lines that
/// begin with `#` are comments, which are kept. Lines may end as on any system.
package struct TokenList: Sendable {
  private enum Line {
    case token(AccessToken)
    /// A comment or an empty line.
    case other(String)
  }

  /// The maximum number of tokens.
  package static let maxTokenCount = 10_000
  /// The maximum length of the file, in bytes.
  package static let maxByteCount = 64 << 20

  private var lines: [Line] = []
  private var tokensByHash: [SHA256Digest: AccessToken] = [:]

  /// No tokens.
  package init() {
    lines = [
      .other("# Access tokens of tandem serve. Change this file by: tandem token create, revoke")
    ]
  }

  /// The tokens in the order of the file.
  package var tokens: [AccessToken] {
    lines.compactMap { line in
      if case .token(let token) = line { token } else { nil }
    }
  }

  /// The tokens of a file's text.
  ///
  /// - Throws: ``ServerError`` with code `tokens` that names the line.
  package init(text: String) throws(ServerError) {
    // A carriage return and a line feed are one character, which is no line feed.
    var texts = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    if texts.last?.isEmpty == true { texts.removeLast() }
    for (number, line) in texts.enumerated() {
      let words = line.split(whereSeparator: \.isWhitespace).map { String($0) }
      guard let first = words.first, !first.hasPrefix("#") else {
        lines.append(.other(String(line)))
        continue
      }
      guard words.count == 4, let hash = SHA256Digest(hexadecimal: words[0]),
        AccessToken.isAccount(words[1]), let access = AccessToken.Access(rawValue: words[2]),
        let scope = AccessToken.scope(
          words[3].split(separator: ",", omittingEmptySubsequences: false).map { String($0) })
      else {
        throw ServerError(
          .tokens,
          "line \(number + 1) is not \"HASH ACCOUNT read|write|inspect SPACE[,SPACE]\": correct or remove it"
        )
      }
      try add(AccessToken(hash: hash, account: words[1], access: access, scope: scope))
    }
  }

  /// Adds a token.
  package mutating func add(_ token: AccessToken) throws(ServerError) {
    guard tokensByHash.count < Self.maxTokenCount else {
      throw ServerError(.tokens, "a file has at most \(Self.maxTokenCount) tokens: revoke some")
    }
    guard tokensByHash.updateValue(token, forKey: token.hash) == nil else {
      throw ServerError(.tokens, "the token \(token.id) is listed twice: remove a line")
    }
    lines.append(.token(token))
  }

  /// Removes the tokens that a condition holds for; returns them.
  package mutating func revoke(where condition: (AccessToken) -> Bool) -> [AccessToken] {
    let revoked = tokens.filter(condition)
    for token in revoked { tokensByHash[token.hash] = nil }
    lines.removeAll { line in
      if case .token(let token) = line { tokensByHash[token.hash] == nil } else { false }
    }
    return revoked
  }

  /// The text of the file.
  package var text: String {
    lines.map { line in
      switch line {
      case .token(let token):
        "\(token.hash) \(token.account) \(token.access.rawValue) \(token.scopeText)\n"
      case .other(let text): "\(text)\n"
      }
    }.joined()
  }

  /// The token of a hash, as the file has it now; `nil` if it was revoked.
  func token(hash: SHA256Digest) -> AccessToken? { tokensByHash[hash] }

  /// The token of a secret; `nil` if there is none.
  ///
  /// The time tells nothing of use about the secrets: it may depend on the bits of a hash that are
  /// right, and nobody can choose the hash of a guess bit by bit.
  package func token(ofSecret secret: String) -> AccessToken? {
    token(hash: SHA256Digest(of: secret.utf8))
  }

  /// The begin of every secret.
  static let secretPrefix = "tandem_"

  /// A new secret: 256 random bits.
  package static func newSecret() -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var generator = SystemRandomNumberGenerator()
    // 43 letters of 6 bits hold 256 bits.
    let secret = (0..<43).map { _ in letters[Int.random(in: 0..<64, using: &generator)] }
    return secretPrefix + String(decoding: secret, as: UTF8.self)
  }
}
