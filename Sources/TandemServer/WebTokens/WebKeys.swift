internal import TandemRecords

/// An algorithm that signs JSON Web Tokens (RFC 7518, section 3.1, and RFC 8037).
package enum WebTokenAlgorithm: String, CaseIterable, Sendable {
  /// RSA with SHA-256.
  case rs256 = "RS256"
  /// ECDSA on the curve P-256 with SHA-256.
  case es256 = "ES256"
  /// Edwards curve 25519.
  case edDSA = "EdDSA"
  /// HMAC with SHA-256: who checks tokens by the key can make them.
  case hs256 = "HS256"
}

/// The keys of an identity provider that sign tokens: a JSON Web Key Set (RFC 7517).
struct WebKeys: Sendable {
  /// A key, for one algorithm.
  struct Key: Sendable {
    let id: String?
    let algorithm: WebTokenAlgorithm
    /// The members that are needed to check signatures, as JSON. A key of the provider may have others, such as
    /// addresses of certificates.
    let text: String
  }

  /// The maximum length of a set, in bytes.
  static let maxByteCount = 1 << 20
  /// The maximum number of keys that sign.
  static let maxCount = 100
  /// The minimum lengths of an RSA modulus and of a symmetric key, in bytes (RFC 7518, sections 3.2 and 3.3).
  static let minByteCounts = (modulus: 256, secret: 32)

  let keys: [Key]

  /// No keys.
  init() { keys = [] }

  /// The keys of a text that are for an algorithm. Keys for other uses are left out.
  ///
  /// - Throws: ``ServerError`` with code `keys` if no key is left, or a key that would be left cannot be used.
  init(
    _ text: [UInt8], for algorithms: Set<WebTokenAlgorithm>
  ) throws(ServerError) {
    let library = try SignatureLibrary.load()
    let set: JSONValue
    do throws(TextFault) {
      set = try JSONValue(parsing: text)
    } catch {
      throw ServerError(.keys, "the keys are not JSON: \(error)")
    }
    let elements: [JSONValue]
    switch set["keys"] {
    case .array(let keys)?: elements = keys
    // One key alone.
    default: elements = set["kty"] == nil ? [] : [set]
    }
    var keys: [Key] = []
    for (number, element) in elements.enumerated() {
      guard let key = try Self.key(element, number + 1), algorithms.contains(key.algorithm) else {
        continue
      }
      guard library.accepts(key.text) else {
        throw ServerError(.keys, "key \(number + 1) of the set is damaged")
      }
      keys.append(key)
    }
    guard !keys.isEmpty else {
      let names = algorithms.map(\.rawValue).sorted().joined(separator: ", ")
      throw ServerError(
        .keys, "no key of the set signs by \(names): give a JSON Web Key Set, as at jwks_uri")
    }
    guard keys.count <= Self.maxCount else {
      throw ServerError(.keys, "the set has more than \(Self.maxCount) keys")
    }
    self.keys = keys
  }

  /// The keys that may have signed a token.
  func candidates(id: String?, _ algorithm: WebTokenAlgorithm) -> [Key] {
    keys.filter { $0.algorithm == algorithm && (id == nil || $0.id == id) }
  }

  /// The key of an element; `nil` if it is for something else.
  private static func key(_ element: JSONValue, _ number: Int) throws(ServerError) -> Key? {
    let (algorithm, members): (WebTokenAlgorithm, [String])
    switch (element["kty"]?.text, element["crv"]?.text) {
    case ("RSA", _): (algorithm, members) = (.rs256, ["kty", "n", "e"])
    case ("EC", "P-256"): (algorithm, members) = (.es256, ["kty", "crv", "x", "y"])
    case ("OKP", "Ed25519"): (algorithm, members) = (.edDSA, ["kty", "crv", "x"])
    case ("oct", _): (algorithm, members) = (.hs256, ["kty", "k"])
    default: return nil
    }
    if let use = element["use"], use.text != "sig" { return nil }
    if case .array(let uses)? = element["key_ops"], !uses.contains(.string("verify")) { return nil }
    if let named = element["alg"], named.text != algorithm.rawValue { return nil }
    var key: [String: JSONValue] = [:]
    for member in members {
      guard let value = element[member], value.text != nil else {
        throw ServerError(.keys, "key \(number) of the set has no \(member)")
      }
      key[member] = value
    }
    let (secret, minimum) =
      algorithm == .hs256 ? (key["k"], minByteCounts.secret) : (key["n"], minByteCounts.modulus)
    if let secret = secret?.text, ([UInt8](base64URL: secret) ?? []).count < minimum {
      throw ServerError(
        .keys,
        "key \(number) of the set is too short: \(algorithm.rawValue) needs \(minimum * 8) bits")
    }
    return Key(
      id: element["kid"]?.text, algorithm: algorithm, text: JSONValue.object(key).description)
  }
}

extension JSONValue {
  /// The value of a field; `nil` if there is none.
  subscript(name: String) -> JSONValue? {
    if case .object(let fields) = self { fields[name] } else { nil }
  }

  /// The text, if it is one.
  var text: String? {
    if case .string(let text) = self { text } else { nil }
  }
}
