package import TandemDigests

/// The access tokens of a server, as their file lists them.
///
/// The file has one line for each token: the SHA-256 of its secret, the account, `read`, `write`,
/// `inspect`, `admin` or `follow`, and the spaces with commas between them, `*` for all, or `-` for none. After them, `create=SPACES`,
/// `expires=TIME` and `# NOTE` may follow. Empty lines and lines that begin with `#` are comments, which are kept. Lines may end as on any system.
package struct TokenList: Sendable {
  private struct Line {
    var text: String
    /// The token; `nil` for a comment, an empty line, and a line that cannot be used.
    var token: AccessToken?

    init(_ text: String) { self.text = text }

    init(_ token: AccessToken) {
      text = "\(token.hash) \(token.definition)"
      self.token = token
    }
  }

  /// The maximum number of tokens.
  package static let maxTokenCount = 10_000
  /// The maximum length of the file, in bytes.
  package static let maxByteCount = 64 << 20

  /// The lines that cannot be used, each as a clause that names its number. Their texts are not in it: somebody may have
  /// written a secret there.
  package private(set) var faults: [String] = []
  private var lines: [Line] = []
  private var tokensByHash: [SHA256Digest: AccessToken] = [:]

  /// No tokens.
  package init() {
    lines = [
      Line("# Access tokens of tandem serve. Change this file by: tandem token create, revoke")
    ]
  }

  /// The tokens in the order of the file.
  package var tokens: [AccessToken] { lines.compactMap(\.token) }

  /// The tokens of a file's text.
  ///
  /// - Throws: ``ServerError`` with code `tokens` that names a line, if no line has a token and some cannot be used.
  package init(text: String) throws(ServerError) {
    // A carriage return and a line feed are one character, which is no line feed.
    var texts = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    if texts.last?.isEmpty == true { texts.removeLast() }
    var places: [SHA256Digest: Int] = [:]
    for (place, text) in texts.enumerated() {
      lines.append(Line(String(text)))
      // Some editors begin a file by a mark.
      let line = text.drop { $0.isWhitespace || place == 0 && $0 == "\u{FEFF}" }
      if line.isEmpty || line.hasPrefix("#") { continue }
      guard let token = AccessToken(line: line) else {
        faults.append(
          "line \(place + 1) is not \"HASH ACCOUNT read|write|inspect|admin|follow SPACE[,SPACE] [create=SPACE] [expires=TIME] "
            + "[# NOTE]\": correct or remove it")
        continue
      }
      if let first = places.updateValue(place, forKey: token.hash) {
        places[token.hash] = first
        // Nobody knows which of two rights was meant.
        let isSame = lines[first].token == token
        if !isSame { lines[first].token = nil }
        if !isSame { tokensByHash[token.hash] = nil }
        faults.append(
          "line \(place + 1) lists the token of line \(first + 1)"
            + (isSame ? "" : " with other words, so that none of them counts") + ": remove one")
      } else if tokensByHash.count < Self.maxTokenCount {
        lines[place].token = token
        tokensByHash[token.hash] = token
      } else {
        faults.append("line \(place + 1) is beyond the first \(Self.maxTokenCount) tokens")
      }
    }
    if tokensByHash.isEmpty, let fault = faults.first { throw ServerError(.tokens, fault) }
  }

  /// Adds a token.
  package mutating func add(_ token: AccessToken) throws(ServerError) {
    guard tokensByHash.count < Self.maxTokenCount else {
      throw ServerError(
        .tokens, "a server has at most \(Self.maxTokenCount) tokens: revoke some")
    }
    guard tokensByHash.updateValue(token, forKey: token.hash) == nil else {
      throw ServerError(.tokens, "the token \(token.id) is listed already")
    }
    lines.append(Line(token))
  }

  /// Removes the tokens that a condition holds for; returns them.
  package mutating func revoke(where condition: (AccessToken) -> Bool) -> [AccessToken] {
    let revoked = tokens.filter(condition)
    for token in revoked { tokensByHash[token.hash] = nil }
    lines.removeAll { $0.token.map { tokensByHash[$0.hash] == nil } ?? false }
    return revoked
  }

  /// Ends a token at a time, in seconds since 1970, unless it ends earlier.
  package mutating func end(_ token: AccessToken, at time: Double) {
    guard let place = lines.firstIndex(where: { $0.token?.hash == token.hash }),
      var token = lines[place].token, !token.hasExpired(at: time)
    else { return }
    token.expiry = time
    lines[place] = Line(token)
    tokensByHash[token.hash] = token
  }

  /// The text of the file.
  package var text: String { lines.map { "\($0.text)\n" }.joined() }

  /// The token of a hash, as the list has it now; `nil` if it was revoked.
  package func token(hash: SHA256Digest) -> AccessToken? { tokensByHash[hash] }

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
