internal import TandemRecords

/// The reason why a JSON Web Token is not accepted.
package struct WebTokenError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A clause about the token, without anything of its content.
  package let description: String
  /// True if other keys may accept the token: the provider may sign with a new one.
  let isOfUnknownKey: Bool
  /// True if a key has signed the token.
  let isSigned: Bool

  init(_ description: String, isOfUnknownKey: Bool = false, isSigned: Bool = false) {
    self.description = description
    self.isOfUnknownKey = isOfUnknownKey
    self.isSigned = isSigned
  }
}

/// The tokens that a server accepts from an identity provider.
package struct WebTokenRules: Sendable {
  /// The provider, as tokens name it by `iss`.
  package var issuer: String
  /// The name of this server, among those in `aud`.
  package var audience: String
  /// The algorithms that are accepted.
  package var algorithms: Set<WebTokenAlgorithm> = [.rs256, .es256, .edDSA]
  /// The claim with the rights.
  package var rightsClaim = "tandem"

  /// The difference between clocks that is tolerated, in seconds.
  static let leeway = 60.0
  /// The maximum length of a token, in bytes.
  static let maxByteCount = 16 << 10

  /// Rules.
  package init(issuer: String, audience: String) {
    self.issuer = issuer
    self.audience = audience
  }
}

/// A JSON Web Token in the compact form (RFC 7519 and RFC 7515): its header and its claims, before anything was checked.
struct WebToken {
  private let text: String
  private let algorithm: String?
  private let keyID: String?
  private let claims: JSONValue

  /// True if a text may be a token of this kind. An access token of the server itself has no point.
  static func isOne(_ text: String) -> Bool { text.utf8.contains(UInt8(ascii: ".")) }

  init(_ text: String) throws(WebTokenError) {
    guard text.utf8.count <= WebTokenRules.maxByteCount else {
      throw WebTokenError("it is longer than \(WebTokenRules.maxByteCount) bytes")
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[2].isEmpty, [UInt8](base64URL: String(parts[2])) != nil,
      let header = Self.object(parts[0]), let claims = Self.object(parts[1])
    else { throw WebTokenError("it is no JSON Web Token with a signature") }
    // What a critical header says must be understood, and none is.
    guard header["crit"] == nil, header["zip"] == nil else {
      throw WebTokenError("its header has members that are not supported: crit, zip")
    }
    // Only keys that the server has read itself count.
    guard ["jwk", "jku", "x5u", "x5c"].allSatisfy({ header[$0] == nil }) else {
      throw WebTokenError("its header has a key or its address: jwk, jku, x5u, x5c")
    }
    if let id = header["kid"], id.text == nil {
      throw WebTokenError("its header names its key by something that is no text")
    }
    self.text = text
    self.claims = claims
    algorithm = header["alg"]?.text
    keyID = header["kid"]?.text
  }

  private static func object(_ part: Substring) -> JSONValue? {
    guard let bytes = [UInt8](base64URL: String(part)),
      let value = try? JSONValue(parsing: bytes), case .object = value
    else { return nil }
    return value
  }

  /// Checks the signature, then the claims. Returns the key that made the signature, too.
  ///
  /// - Parameter now: The seconds since 1970.
  func accepted(
    by rules: WebTokenRules, _ keys: WebKeys, now: Double
  ) throws(WebTokenError) -> (token: AcceptedWebToken, key: String) {
    guard let algorithm = algorithm.flatMap(WebTokenAlgorithm.init),
      rules.algorithms.contains(algorithm)
    else { throw WebTokenError("it is signed by an algorithm that is not accepted") }
    let candidates = keys.candidates(id: keyID, algorithm)
    guard !candidates.isEmpty else {
      throw WebTokenError("its key is not known", isOfUnknownKey: true)
    }
    guard let library = try? SignatureLibrary.load(),
      let key = candidates.first(where: { library.isSigned(text, by: $0.text) })
    else { throw WebTokenError("its signature is not right", isOfUnknownKey: keyID == nil) }
    do throws(WebTokenError) {
      return (try accepted(by: rules, now: now), key.text)
    } catch {
      throw WebTokenError(error.description, isSigned: true)
    }
  }

  private func accepted(
    by rules: WebTokenRules, now: Double
  ) throws(WebTokenError) -> AcceptedWebToken {
    guard claims["iss"]?.text == rules.issuer else {
      throw WebTokenError("it is of another issuer")
    }
    let audiences: [JSONValue] =
      switch claims["aud"] {
      case .array(let audiences)?: audiences
      case let audience?: [audience]
      case nil: []
      }
    guard audiences.contains(.string(rules.audience)) else {
      throw WebTokenError("it is for another audience")
    }
    guard let expiry = Self.time(claims["exp"]) else {
      throw WebTokenError("it has no time at which it expires")
    }
    guard now < expiry + WebTokenRules.leeway else { throw WebTokenError("it has expired") }
    if let start = claims["nbf"] {
      guard let start = Self.time(start), start - WebTokenRules.leeway <= now else {
        throw WebTokenError("it is not valid yet")
      }
    }
    guard let account = claims["sub"]?.text, AccessToken.isAccount(account) else {
      throw WebTokenError(
        "its sub is no name of an account: 1 to 128 letters, digits and signs of ASCII but #")
    }
    let rights = claims[rules.rightsClaim]
    switch rights {
    case nil, .null?: break
    case .object(let members)? where members.keys.allSatisfy(["read", "write", "create"].contains):
      break
    default:
      throw WebTokenError("its rights are no object that has read, write and create only")
    }
    return AcceptedWebToken(
      account: account, expiry: expiry + WebTokenRules.leeway,
      readable: try Self.spaces(rights?["read"]), writable: try Self.spaces(rights?["write"]),
      creatable: try Self.spaces(rights?["create"]))
  }

  /// The seconds since 1970 of a date, which may have a fraction.
  private static func time(_ value: JSONValue?) -> Double? {
    guard case .number(let digits)? = value, let seconds = Double(digits), seconds.isFinite
    else { return nil }
    return seconds
  }

  /// The patterns of a right: one, or an array of them.
  private static func spaces(_ right: JSONValue?) throws(WebTokenError) -> [String] {
    let values: [JSONValue] =
      switch right {
      case nil, .null?: []
      case .array(let values)?: values
      case let value?: [value]
      }
    let patterns = values.compactMap(\.text)
    guard patterns.count == values.count,
      patterns.isEmpty || AccessToken.scope(patterns) != nil
    else { throw WebTokenError("its rights name something that is no space") }
    return patterns
  }
}

/// The facts of a token whose signature and claims are right.
struct AcceptedWebToken: Hashable, Sendable {
  let account: String
  /// The end, in seconds since 1970, with the tolerated difference between clocks.
  let expiry: Double
  let readable: [String]
  let writable: [String]
  let creatable: [String]
}
