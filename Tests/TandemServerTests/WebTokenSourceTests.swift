import Foundation
import Synchronization
import TandemRecords
import TandemSync
import Testing

@testable import TandemServer

/// Keys of an identity provider that change while a server runs.
@Suite(.timeLimit(.minutes(20))) struct WebTokenSourceTests {
  private let vectors: WebTokenVectors
  init() throws { vectors = try WebTokenVectors() }

  /// A provider whose keys a test changes.
  private final class Provider: Sendable {
    private let state: Mutex<(text: String?, count: Int)>
    init(_ text: String) { state = Mutex((text, 0)) }

    /// The number of times that the keys were read.
    var count: Int { state.withLock { $0.count } }

    func publish(_ text: String?) { state.withLock { $0.text = text } }

    func read() throws -> WebTokenSource.KeyText {
      try state.withLock { state in
        state.count += 1
        guard let text = state.text else { throw ServerError(.keys, "the provider is away") }
        return (Array(text.utf8), nil)
      }
    }
  }

  private func source(
    _ provider: Provider, at now: Double? = nil
  ) async throws -> WebTokenSource {
    let now = now ?? vectors.now
    return try await WebTokenSource(
      vectors.rules, keysAt: "keys.json", now: { now }, log: { _ in },
      reading: { try provider.read() })
  }

  private func keys(without ids: [String]) throws -> String {
    guard case .array(let keys)? = vectors.keys["keys"] else {
      throw CocoaError(.coderInvalidValue)
    }
    let rest = keys.filter { key in !ids.contains { key["kid"]?.text == $0 } }
    return JSONValue.object(["keys": .array(rest)]).description
  }

  @Test("A token becomes an access token of its account, with its rights and its end")
  func accepted() async throws {
    let source = try await source(Provider(vectors.keys.description))
    let token = try #require(try source.token(ofSecret: vectors.accepted("RS256")))
    #expect(token.account == "alice")
    #expect(token.access(to: "notes-alice") == .write)
    #expect(token.access(to: "lists-alice-1") == .write)
    #expect(token.access(to: "shared-team") == .read)
    #expect(token.access(to: "notes-bob") == nil)
    #expect(token.access(to: "notes-alice2") == nil)
    #expect(!token.mayInspect("notes-alice"))
    #expect(source.current(token) == token)
    // The same again, without checking its signature.
    #expect(try source.token(ofSecret: vectors.accepted("RS256")) == token)
    let none = try #require(try source.token(ofSecret: vectors.accepted("without rights")))
    #expect(none.access(to: "notes-alice") == nil)
  }

  @Test("What is no web token is left to others")
  func others() async throws {
    let source = try await source(Provider(vectors.keys.description))
    #expect(try source.token(ofSecret: "tandem_abc") == nil)
    #expect(try source.token(ofSecret: "") == nil)
  }

  @Test("A refusal says why, and nothing of the token")
  func refusal() async throws {
    let source = try await source(Provider(vectors.keys.description))
    for (name, reason, isGuess) in [
      ("expired", "it has expired", false),
      ("another audience", "it is for another audience", false),
      ("none with a signature", "it is signed by an algorithm that is not accepted", true),
      ("another RSA key", "its signature is not right", true),
    ] {
      let error = #expect(throws: TokenRefusal.self) {
        try source.token(ofSecret: vectors.refused(name))
      }
      #expect(error == TokenRefusal(reason: reason, isGuess: isGuess))
    }
  }

  @Test("The tokens of a key that is gone are accepted no more, nor go their streams on")
  func goneKey() async throws {
    let provider = Provider(vectors.keys.description)
    let source = try await source(provider)
    let token = try #require(try source.token(ofSecret: vectors.accepted("RS256")))
    let other = try #require(try source.token(ofSecret: vectors.accepted("ES256")))
    provider.publish(try keys(without: ["rsa-1"]))
    try await source.reload()
    #expect(source.current(token) == nil)
    #expect(source.current(other) == other)
    #expect(throws: (any Error).self) { try source.token(ofSecret: vectors.accepted("RS256")) }
  }

  @Test("Keys that cannot be read again leave the former ones in use")
  func failedReading() async throws {
    let provider = Provider(vectors.keys.description)
    let source = try await source(provider)
    for text in [nil, "", #"{"keys":[]}"#] as [String?] {
      provider.publish(text)
      let error = await #expect(throws: ServerError.self) { try await source.reload() }
      #expect(text == nil || error?.message.hasPrefix("keys.json: ") == true)
      #expect(try source.token(ofSecret: vectors.accepted("EdDSA")) != nil)
    }
  }

  @Test("A token of a new key is asked to try again, and the keys are read once, whatever is sent")
  func newKey() async throws {
    let provider = Provider(try keys(without: ["ed-1"]))
    let source = try await source(provider)
    let running = Task { await source.run() }
    defer { running.cancel() }
    source.forgetLastReading()
    provider.publish(vectors.keys.description)
    var token: AccessToken?
    var count = 0
    while token == nil {
      do {
        token = try source.token(ofSecret: vectors.accepted("EdDSA"))
      } catch let refusal as TokenRefusal {
        #expect(refusal.reason == "its key is not known" && !refusal.isGuess)
        #expect(refusal.retryAfter != nil)
        count += 1
        await Task.yield()
      }
    }
    #expect(count > 0)
    #expect(provider.count == 2)
  }

  @Test("A token of a key that is never published is asked to try again until the next reading")
  func unknownKey() async throws {
    let provider = Provider(try keys(without: ["ed-1"]))
    let source = try await source(provider)
    // Such tokens do not make the server read again and again.
    for _ in 0..<100 {
      let error = #expect(throws: TokenRefusal.self) {
        try source.token(ofSecret: vectors.accepted("EdDSA"))
      }
      let pause = try #require(error?.retryAfter)
      #expect(error?.isGuess == false && pause > .zero && pause <= .seconds(32))
    }
    #expect(provider.count == 1)
    try await source.reload()
    for _ in 0..<2 {
      let error = #expect(throws: TokenRefusal.self) {
        try source.token(ofSecret: vectors.accepted("EdDSA"))
      }
      #expect(error == TokenRefusal(reason: "its key is not known", isGuess: true))
    }
    #expect(provider.count == 2)
    // The provider may publish the key later than it signs: such a token makes the server read again.
    provider.publish(vectors.keys.description)
    source.forgetLastReading()
    let running = Task { await source.run() }
    defer { running.cancel() }
    while (try? source.token(ofSecret: vectors.accepted("EdDSA"))) == nil { await Task.yield() }
    #expect(provider.count == 3)
  }

  @Test(
    "Tokens of unknown keys are answered 503 with a time, and count for bans when the keys were read"
  )
  func unknownKeyBan() async throws {
    let test = try TestService()
    var limits = SyncService.Limits()
    limits.maxFailureCount = 3
    let source = try await source(Provider(try keys(without: ["ed-1"])))
    let service = SyncService(spaces: test.spaces, tokens: source, limits: limits)
    let head = ServedRequestHead(
      method: "GET", target: "/v1/spaces",
      fields: [("Authorization", "Bearer \(try vectors.accepted("EdDSA"))")], address: "192.0.2.1")
    for number in 1...8 {
      if number == 5 { try await source.reload() }
      guard case .refused(let answer) = service.admission(of: head) else {
        Issue.record("a token of an unknown key was accepted")
        return
      }
      #expect(answer.status == (number < 5 ? 503 : number < 8 ? 401 : 429))
      if number < 5 { #expect(answer.field("Retry-After").flatMap { Int($0) } ?? 0 > 0) }
    }
  }

  @Test("A server with other tokens starts without the keys, and reads them as soon as it can")
  func startWithoutKeys() async throws {
    let provider = Provider("")
    provider.publish(nil)
    let messages = Mutex<[String]>([])
    let now = vectors.now
    let source = try await WebTokenSource(
      vectors.rules, keysAt: "keys.json", mayStartWithoutKeys: true, now: { now },
      log: { message in messages.withLock { $0.append(message) } }, reading: { try provider.read() }
    )
    #expect(messages.withLock { $0 }.count == 1)
    let error = #expect(throws: SyncRequestError.self) {
      try source.token(ofSecret: vectors.accepted("EdDSA"))
    }
    #expect(error?.code == .unavailable)
    #expect(throws: TokenRefusal(reason: "it is no JSON Web Token with a signature", isGuess: true))
    {
      try source.token(ofSecret: "a.b")
    }
    let running = Task { await source.run() }
    defer { running.cancel() }
    provider.publish(vectors.keys.description)
    source.forgetLastReading()
    while (try? source.token(ofSecret: vectors.accepted("EdDSA"))) == nil { await Task.yield() }
    // What can be read, but has no keys, is a mistake.
    provider.publish("")
    await #expect(throws: ServerError.self) {
      try await WebTokenSource(
        vectors.rules, keysAt: "keys.json", mayStartWithoutKeys: true, log: { _ in },
        reading: { try provider.read() })
    }
  }

  @Test("A token ends when it expires, although it was accepted before")
  func expiry() async throws {
    let clock = Mutex(vectors.now)
    let provider = Provider(vectors.keys.description)
    let source = try await WebTokenSource(
      vectors.rules, keysAt: "keys.json", now: { clock.withLock { $0 } }, log: { _ in },
      reading: { try provider.read() })
    let token = try #require(try source.token(ofSecret: vectors.accepted("RS256")))
    clock.withLock { $0 += 359 }
    #expect(source.current(token) == token)
    clock.withLock { $0 += 1 }
    #expect(source.current(token) == nil)
    #expect(throws: (any Error).self) { try source.token(ofSecret: vectors.accepted("RS256")) }
  }
}
