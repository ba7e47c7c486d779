package import TandemDigests
package import TandemRecords
internal import TandemSpace
package import TandemSync

/// An access token, as a server knows it: without the secret.
package struct AccessToken: Hashable, Sendable {
  /// The spaces that a token is for.
  package enum Scope: Hashable, Sendable {
    case all
    /// The spaces of patterns (``TandemSync/SpaceName/isPattern(_:)``).
    case spaces([String])

    /// No spaces.
    package static let noSpaces = Scope.spaces([])

    /// True if it has a space.
    func contains(_ space: String) -> Bool {
      switch self {
      case .all: true
      case .spaces(let patterns): patterns.contains { SpaceName.matches($0, space) }
      }
    }

    /// The patterns; `*` for all.
    package var names: [String] {
      switch self {
      case .all: ["*"]
      case .spaces(let names): names
      }
    }

    /// The patterns, as the file has them; `-` if there are none.
    package var text: String { self == .noSpaces ? "-" : names.joined(separator: ",") }

    /// The spaces of a text of a file; `nil` for any other text.
    init?(text: some StringProtocol) {
      let names = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
      guard let scope = text == "-" ? Scope.noSpaces : AccessToken.scope(names) else { return nil }
      self = scope
    }
  }

  /// The rights of a token in its spaces.
  package enum Access: String, CaseIterable, Sendable {
    case read
    /// To read, to change, and to create the spaces.
    case write
    /// To see in ``Inspector`` who changed the spaces when, and nothing else: no records.
    case inspect
    /// To inspect, and to administer in ``Inspector`` the members, the names and the histories of the spaces; with all
    /// spaces, also the access tokens.
    case admin
    /// To copy the spaces with all that they have, for another server, and nothing else.
    case follow
    /// To read the metrics, and nothing else.
    case metrics
  }

  /// The SHA-256 of the secret.
  package let hash: SHA256Digest
  /// The account that the token stands for.
  package let account: String
  /// The rights in the spaces.
  package let access: Access
  /// The spaces.
  package let scope: Scope
  /// Patterns of more spaces, which the token may only read.
  package let alsoReads: [String]
  /// The spaces that the account may create, and then owns.
  package let creates: Scope
  /// The time from which on the token is not accepted, in seconds since 1970; `nil` for a token without end.
  package var expiry: Double?
  /// A text for people; `nil` if there is none.
  package let note: String?
  /// The token's name in lists: the first digits of its hash.
  package let id: String

  /// A token.
  package init(
    hash: SHA256Digest, account: String, access: Access, scope: Scope, alsoReads: [String] = [],
    creates: Scope = .noSpaces, expiry: Double? = nil, note: String? = nil
  ) {
    self.hash = hash
    self.account = account
    self.access = access
    self.scope = scope
    self.alsoReads = alsoReads
    self.creates = creates
    self.expiry = expiry
    self.note = note
    id = String(hash.description.prefix(12))
  }

  /// The token of a secret.
  package init(
    secret: String, account: String, access: Access, scope: Scope, creates: Scope = .noSpaces,
    expiry: Double? = nil, note: String? = nil
  ) {
    self.init(
      hash: SHA256Digest(of: secret.utf8), account: account, access: access, scope: scope,
      creates: creates, expiry: expiry, note: note)
  }

  /// The rights of a replica in a space by the token itself; `nil` if there are none.
  package func access(to space: String) -> SpaceListing.Access? {
    guard hasRoles else { return nil }
    if scope.contains(space) { return access == .write ? .write : .read }
    return alsoReads.contains { SpaceName.matches($0, space) } ? .read : nil
  }

  /// True if the token permits to inspect a space.
  func mayInspect(_ space: String) -> Bool { isForInspector && scope.contains(space) }

  /// True if the token is for ``Inspector``.
  var isForInspector: Bool { access == .inspect || access == .admin }

  /// True if the token permits to administer a space.
  func mayAdminister(_ space: String) -> Bool { access == .admin && scope.contains(space) }

  /// True if the token permits to make and to revoke access tokens, which may be for any space.
  var mayChangeTokens: Bool { access == .admin && scope == .all }

  /// True if the roles of the account as a member of spaces are rights of the token.
  package var hasRoles: Bool { access == .read || access == .write }

  /// True if the account may create a space, and then owns it.
  func mayCreate(_ space: String) -> Bool { hasRoles && creates.contains(space) }

  /// True if the token permits to copy all spaces, with what is not for replicas.
  var mayFollow: Bool { access == .follow && scope == .all }

  /// True if the token is not accepted any more.
  ///
  /// - Parameter time: The present, in seconds since 1970.
  package func hasExpired(at time: Double) -> Bool { expiry.map { $0 <= time } ?? false }

  /// The time from which on the token is not accepted, by RFC 3339.
  package var expiryText: String? {
    expiry.map { TimeText.text(seconds: Int(min($0, 1e12))) }
  }

  /// Writes the fields of an object: the token without its hash, and its last use in seconds since 1970.
  package func writeFields(to json: inout JSONWriter, used: Int?) {
    json.field("id", id)
    json.field("account", account)
    json.field("access", access.rawValue)
    json.field("spaces", scope.names)
    json.field("create", creates.names)
    json.field("expires", expiryText)
    json.field("used", used.map { TimeText.text(seconds: $0) })
    json.field("note", note)
  }

  /// True if a text can be the name of an account.
  package static func isAccount(_ text: String) -> Bool {
    let isAllowed: (UInt8) -> Bool = { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }
    return !text.isEmpty && text.utf8.count <= 128 && text.utf8.allSatisfy(isAllowed)
  }

  /// True if a text can be a note: a line of up to 200 characters.
  package static func isNote(_ text: String) -> Bool {
    let isControl: (Unicode.Scalar) -> Bool = { scalar in
      [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
    }
    return !text.isEmpty && text.count <= 200 && !text.unicodeScalars.contains(where: isControl)
      && text.first?.isWhitespace == false && text.last?.isWhitespace == false
  }

  /// The spaces of patterns, or `*` for all; `nil` if one is no pattern.
  package static func scope(_ names: [String]) -> Scope? {
    if names == ["*"] { return .all }
    return !names.isEmpty && names.allSatisfy { SpaceName.isPattern($0) } ? .spaces(names) : nil
  }
}

// MARK: - The form in a file

extension AccessToken {
  /// The token as text without its hash: the account, the rights, the spaces with commas between them, then those that
  /// it may create, the end and the note if there are some.
  package var definition: String { words + (note.map { " # \($0)" } ?? "") }

  /// The definition without the note.
  package var words: String {
    "\(account) \(access.rawValue) \(scope.text)"
      + (creates == .noSpaces ? "" : " create=\(creates.text)")
      + (expiryText.map { " expires=\($0)" } ?? "")
  }

  /// The token of its hash in hexadecimal digits and its definition, with a space between them; `nil` for any other text.
  init?(line: some StringProtocol) {
    let parts = line.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    var words = parts[0].split(whereSeparator: \.isWhitespace).map { String($0) }
    var expiry: Double?
    if words.count > 4, let word = words.last, word.hasPrefix("expires=") {
      guard let time = TimeText.seconds(String(word.dropFirst(8))) else { return nil }
      expiry = Double(time)
      words.removeLast()
    }
    var creates = Scope.noSpaces
    if words.count > 4, let word = words.last, word.hasPrefix("create=") {
      guard let scope = Scope(text: word.dropFirst(7)) else { return nil }
      creates = scope
      words.removeLast()
    }
    guard words.count == 4, let hash = SHA256Digest(hexadecimal: words[0]),
      Self.isAccount(words[1]), let access = Access(rawValue: words[2]),
      let scope = Scope(text: words[3])
    else { return nil }
    var note = parts.dropFirst().first?.drop(while: \.isWhitespace)
    while note?.last?.isWhitespace == true { note?.removeLast() }
    guard note?.isEmpty != false || note.map({ Self.isNote(String($0)) }) == true else {
      return nil
    }
    self.init(
      hash: hash, account: words[1], access: access, scope: scope, creates: creates,
      expiry: expiry, note: note.flatMap { $0.isEmpty ? nil : String($0) })
  }
}

/// The time of this machine's calendar.
package enum WallClock {
  /// The present, in seconds since 1970.
  @Sendable package static func seconds() -> Double { Double(millisecondsSince1970()) / 1_000 }
}
