import Foundation
import TandemRecords
import TestRandom
import Testing

@testable import TandemServer

/// The tokens of Tests/Vectors/web-tokens.json, which another implementation signed.
struct WebTokenVectors {
  let keys: JSONValue
  let rules: WebTokenRules
  let now: Double
  private let vectors: JSONValue

  init() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    vectors = try JSONValue(
      parsing: Data(contentsOf: folder.appending(path: "Vectors/web-tokens.json")))
    keys = try #require(vectors["keys"])
    var rules = WebTokenRules(
      issuer: try #require(vectors["issuer"]?.text),
      audience: try #require(vectors["audience"]?.text))
    rules.algorithms = Set(WebTokenAlgorithm.allCases)
    self.rules = rules
    guard case .number(let digits)? = vectors["now"] else { throw CocoaError(.coderInvalidValue) }
    now = try #require(Double(digits))
  }

  /// The tokens by their names.
  func tokens(_ kind: String) throws -> [String: String] {
    guard case .object(let fields)? = vectors[kind] else { throw CocoaError(.coderInvalidValue) }
    return try fields.mapValues { try #require($0.text) }
  }

  func accepted(_ name: String) throws -> String { try #require(try tokens("accepted")[name]) }
  func refused(_ name: String) throws -> String { try #require(try tokens("refused")[name]) }
}

/// JSON Web Tokens, one by one.
@Suite struct WebTokenTests {
  private static let all = Set(WebTokenAlgorithm.allCases)
  private let vectors: WebTokenVectors
  init() throws { vectors = try WebTokenVectors() }

  private func keys(_ algorithms: Set<WebTokenAlgorithm> = all) throws -> WebKeys {
    try WebKeys(Array(vectors.keys.description.utf8), for: algorithms)
  }

  private func outcome(
    _ token: String, _ keys: WebKeys, _ rules: WebTokenRules? = nil
  ) -> Result<AcceptedWebToken, WebTokenError> {
    Result { () throws(WebTokenError) in
      try WebToken(token).accepted(by: rules ?? vectors.rules, keys, now: vectors.now).token
    }
  }

  @Test("Tokens in the shapes of well-known providers are accepted")
  func accepted() throws {
    let tokens = try vectors.tokens("accepted")
    #expect(tokens.count >= 14)
    for (name, token) in tokens {
      let accepted = try outcome(token, keys()).get()
      #expect(!accepted.account.isEmpty, "\(name)")
      #expect(
        accepted.writable == (name == "without rights" ? [] : ["notes-alice", "lists-alice-*"]))
      #expect(accepted.readable == (name == "without rights" ? [] : ["shared-*"]))
    }
  }

  @Test("Forged, expired and foreign tokens are refused")
  func refused() throws {
    let tokens = try vectors.tokens("refused")
    #expect(tokens.count >= 45)
    let keys = try keys()
    for (name, token) in tokens {
      #expect(throws: WebTokenError.self, "\(name)") { try outcome(token, keys).get() }
    }
  }

  @Test("An algorithm that is not accepted is refused, although there is a key for it")
  func algorithms() throws {
    let tokens = try vectors.tokens("accepted")
    for algorithm in WebTokenAlgorithm.allCases {
      let token = try #require(tokens[algorithm.rawValue])
      var rules = vectors.rules
      rules.algorithms = Self.all.subtracting([algorithm])
      #expect(throws: WebTokenError.self) { try outcome(token, keys(), rules).get() }
      // Nor is the key taken from the set.
      let others = try keys(rules.algorithms)
      #expect(throws: WebTokenError.self) { try outcome(token, others).get() }
    }
    #expect(!WebTokenRules(issuer: "", audience: "").algorithms.contains(.hs256))
  }

  @Test("A key that is not known is told from a wrong signature")
  func unknownKey() throws {
    let refused = try vectors.tokens("refused")
    let other = try WebKeys(
      Array(#"{"kty":"oct","kid":"x","k":"\#(String(repeating: "A", count: 43))"}"#.utf8),
      for: Self.all)
    guard case .failure(let error) = outcome(try vectors.accepted("EdDSA"), other) else {
      Issue.record("a token of an unknown key was accepted")
      return
    }
    #expect(error.isOfUnknownKey)
    for (name, isUnknown) in [
      ("its own address of keys", false), ("another RSA key", false), ("expired", false),
    ] {
      guard case .failure(let error) = outcome(try #require(refused[name]), try keys()) else {
        Issue.record("\(name) was accepted")
        continue
      }
      #expect(error.isOfUnknownKey == isUnknown, "\(name)")
    }
  }

  @Test("No byte of a token can be changed, and none left out or repeated")
  func changedBytes() throws {
    let keys = try keys()
    let letters = Array(
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.".utf8)
    var random = SplitMix64(seed: UInt64.random(in: 0 ... .max))
    for (_, token) in try vectors.tokens("accepted") {
      for _ in 0..<200 {
        var bytes = Array(token.utf8)
        let place = Int.random(in: bytes.indices, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[place] = letters.randomElement(using: &random) ?? 0
        case 1: bytes.remove(at: place)
        default: bytes.insert(bytes[place], at: place)
        }
        let changed = String(decoding: bytes, as: UTF8.self)
        guard changed != token else { continue }
        #expect(throws: WebTokenError.self, "\(changed)") { try outcome(changed, keys).get() }
      }
    }
  }

  @Test("Long and deep tokens are refused at once")
  func large() throws {
    let keys = try keys()
    let head = Data(#"{"alg":"RS256"}"#.utf8).base64EncodedString()
    let deep =
      String(repeating: #"{"a":"#, count: 1_000) + "1" + String(repeating: "}", count: 1_000)
    let payloads = [deep, #"{"sub":""# + String(repeating: "a", count: 1 << 20) + #""}"#]
    for payload in payloads {
      let token = "\(head).\(Data(payload.utf8).base64EncodedString()).AAAA"
        .replacingOccurrences(of: "=", with: "")
      #expect(throws: WebTokenError.self) { try outcome(token, keys).get() }
    }
  }

  @Test(
    "Sets without a key that can be used are refused",
    arguments: [
      "", "[]", "{}", #"{"keys":[]}"#, #"{"keys":{}}"#, #"{"keys":[{"kty":"future"}]}"#,
      #"{"keys":[1,null,"x",[]]}"#, #"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#,
      #"{"keys":[{"kty":"RSA","e":"AQAB"}]}"#, #"{"keys":[{"kty":"oct","k":"c2hvcnQ"}]}"#,
      #"{"keys":[{"kty":"EC","crv":"P-256","x":"!","y":"!"}]}"#,
      #"{"keys":[{"kty":"EC","crv":"P-256","x":1,"y":2}]}"#, #"{"keys":[{"kty":"oct"}]}"#,
    ])
  func wrongSets(text: String) {
    #expect(throws: ServerError.self) { try WebKeys(Array(text.utf8), for: Self.all) }
  }

  @Test("One key alone is a set, and private halves and addresses are left out")
  func oneKey() throws {
    let key = #"""
      {"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
       "d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x5u":"http://127.0.0.1:1/"}
      """#
    let keys = try WebKeys(Array(key.utf8), for: Self.all)
    #expect(keys.keys.count == 1)
    #expect(
      keys.keys[0].text
        == #"{"crv":"Ed25519","kty":"OKP","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#)
  }
}
