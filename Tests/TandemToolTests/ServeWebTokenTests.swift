import Foundation
import Tandem
import TestFolder
import TestTool
import Testing

/// `tandem serve` with tokens of an identity provider, which openssl signs here.
@Suite(.serialized) struct ServeWebTokenTests {
  /// A provider with one key of RSA.
  private struct Provider {
    let folder: TemporaryFolder
    let id: String

    init(_ folder: TemporaryFolder, id: String) async throws {
      self.folder = folder
      self.id = id
      let made = try await Tool.shell(
        "openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out \(id).pem", in: folder)
      #expect(made.status == 0, "\(made.error)")
    }

    /// The key as a member of a set.
    func jwk() async throws -> String {
      let text = try await Tool.shell("openssl rsa -in \(id).pem -noout -modulus", in: folder)
      let digits = text.output.dropFirst("Modulus=".count).filter(\.isHexDigit)
      let bytes = stride(from: 0, to: digits.count, by: 2).map { place in
        UInt8(digits.dropFirst(place).prefix(2), radix: 16) ?? 0
      }
      return #"{"kty":"RSA","kid":"\#(id)","n":"\#(Self.url(Data(bytes)))","e":"AQAB"}"#
    }

    func token(_ claims: String, header more: String = "") async throws -> String {
      let header = Self.url(Data(#"{"alg":"RS256","kid":"\#(id)"\#(more)}"#.utf8))
      let content = "\(header).\(Self.url(Data(claims.utf8)))"
      try folder.write(content, to: "content")
      let signed = try await Tool.shell(
        "openssl dgst -sha256 -sign \(id).pem -out signature content", in: folder)
      #expect(signed.status == 0, "\(signed.error)")
      let signature = try Data(contentsOf: URL(filePath: folder.path(of: "signature")))
      return "\(content).\(Self.url(signature))"
    }

    private static func url(_ data: Data) -> String {
      data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        .replacing("=", with: "")
    }
  }

  private func claims(expiresIn seconds: Int, audience: String = "tandem") -> String {
    let end = Int(Date().timeIntervalSince1970) + seconds
    return #"{"iss":"https://id.example/","aud":"\#(audience)","sub":"auth0|ada","exp":\#(end),"#
      + #""app":{"read":"shared","write":["notes-*"],"create":"lists-*"}}"#
  }

  private static let tables =
    #"[{"name":"t","key":["id"],"columns":["a"],"granularity":"field"}]"#

  @Test(
    "A person who logged in elsewhere has the spaces that the token names, until it expires",
    arguments: [false, true])
  func rights(isDatabase: Bool) async throws {
    let folder = try TemporaryFolder()
    let provider = try await Provider(folder, id: "first")
    try folder.write(#"{"keys":[\#(try await provider.jwk())]}"#, to: "keys.json")
    let store = try ServedStore(isDatabase: isDatabase, folder)
    let own = try await store.makeToken("eve", "--space shared --write")
    try await store.start([
      "--jwt-keys", folder.path(of: "keys.json"), "--jwt-issuer", "https://id.example/",
      "--jwt-audience", "tandem", "--jwt-claim", "app",
    ])
    let url = store.url
    func status(_ space: String, _ secret: String, isDeclaration: Bool = false) async throws -> Int
    {
      try await answer(
        "\(url)/v1/spaces/\(space)" + (isDeclaration ? "/tables" : ""), secret: secret,
        body: isDeclaration ? Self.tables : nil
      ).status
    }
    let token = try await provider.token(claims(expiresIn: 86_400))
    #expect(try await status("notes-ada", token, isDeclaration: true) == 200)
    #expect(try await status("notes-ada", token) == 200)
    // Tokens of the server itself are accepted beside.
    #expect(try await status("shared", own, isDeclaration: true) == 200)
    #expect(try await status("shared", token) == 200)
    #expect(try await status("notes-ada", own) == 404)
    #expect(try await status("other", token) == 404)
    // The account, not the token, owns what it creates.
    #expect(try await status("lists-1", token, isDeclaration: true) == 200)
    #expect(try await status("other", token, isDeclaration: true) == 404)
    let later = try await provider.token(claims(expiresIn: 90_000))
    let members = try await answer("\(url)/v1/spaces/lists-1/members", secret: later)
    #expect(members.text == #"{"members":[{"account":"auth0|ada","role":"owner"}]}"#)
    let expired = try await answer(
      "\(url)/v1/spaces/notes-ada", secret: provider.token(claims(expiresIn: -61)))
    #expect(expired.status == 401)
    #expect(expired.text.contains("it has expired"))
    // The server reads neither keys nor their addresses in a token.
    for more in [
      #","jwk":\#(try await provider.jwk())"#, #","jku":"http://127.0.0.1:1/""#,
      #","x5u":"http://127.0.0.1:1/""#, #","x5c":["AA"]"#,
    ] {
      let answer = try await answer(
        "\(url)/v1/spaces/notes-ada",
        secret: provider.token(claims(expiresIn: 86_400), header: more))
      #expect(answer.status == 401 && answer.text.contains("its header has a key"), "\(more)")
    }
    let foreign = try await provider.token(claims(expiresIn: 86_400, audience: "other"))
    #expect(try await status("notes-ada", foreign) == 401)
    // After SIGHUP, another key counts.
    let second = try await Provider(folder, id: "second")
    try folder.write(#"{"keys":[\#(try await second.jwk())]}"#, to: "keys.json")
    // A token of a key that the server has not read yet may become right.
    let new = try await answer(
      "\(url)/v1/spaces/notes-ada", secret: second.token(claims(expiresIn: 86_400)))
    #expect(new.status == 503 && new.text.contains("its key is not known"), "\(new.text)")
    store.server?.signal(SIGHUP)
    #expect(await store.server?.line() == #"{"event":"reloaded"}"#)
    #expect(try await status("notes-ada", token) == 401)
    #expect(try await status("notes-ada", second.token(claims(expiresIn: 86_400))) == 200)
    await store.stop()
  }

  @Test("A provider that does not answer stops the start only of a server without other tokens")
  func absentProvider() async throws {
    let folder = try TemporaryFolder()
    let serve =
      "\"$tandem\" serve --data spaces --listen 127.0.0.1:0 --jwt-keys http://127.0.0.1:1/ --jwt-issuer i "
      + "--jwt-audience a"
    let alone = try await Tool.shell("\(serve); \(serve) --check-config", in: folder)
    #expect(alone.status == 1 && alone.error.contains("the server stops: http://127.0.0.1:1/"))
    let checked = try await Tool.shell(
      "\"$tandem\" token create --tokens t --account ada --space x >secret; \(serve) --tokens t --check-config",
      in: folder)
    #expect(checked.status == 0, "\(checked.error)")
    #expect(checked.error.contains("warning: http://127.0.0.1:1/"), "\(checked.error)")
    let secret = try folder.text(of: "secret").trimmingCharacters(in: .whitespacesAndNewlines)
    let tool = try RunningTool([
      "serve", "--data", folder.path(of: "spaces"), "--listen", "127.0.0.1:0", "--tokens",
      folder.path(of: "t"), "--jwt-keys", "http://127.0.0.1:1/", "--jwt-issuer", "i",
      "--jwt-audience",
      "a", "--json",
    ])
    let url = try await tool.servedURL()
    #expect(try await answer("\(url)/v1/spaces", secret: secret).status == 200)
    #expect(try await answer("\(url)/v1/spaces", secret: "e30.e30.eA").status == 503)
    #expect(try await answer("\(url)/v1/spaces", secret: "a.b.c").status == 401)
    tool.signal(SIGTERM)
    #expect(await tool.end() == 0)
  }

  private static let issuer = ["--jwt-issuer", "i", "--jwt-audience", "a"]

  @Test(
    "What cannot be kept safely is refused at the start",
    arguments: [
      (["--jwt-keys", "keys.json"], "--jwt-issuer and --jwt-audience"),
      (["--jwt-issuer", "x"], "--jwt-issuer belongs to --jwt-keys"),
      (["--jwt-keys", "http://id.example/keys"] + issuer, "https"),
      (["--jwt-keys", "http://127.0.0.1.id.example/keys"] + issuer, "https"),
      (["--jwt-keys", "nothing"] + issuer, "cannot read nothing"),
      (["--jwt-keys", "empty.json"] + issuer, "no key of the set"),
      (["--jwt-keys", "empty.json", "--jwt-algorithms", "none"] + issuer, "RS256"),
      (["--jwt-keys", "empty.json", "--jwt-algorithms", "RS256,"] + issuer, "RS256"),
    ])
  func refusals(arguments: [String], part: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write(#"{"keys":[]}"#, to: "empty.json")
    let result = try await Tool.shell(
      "\"$tandem\" serve --data spaces --listen 127.0.0.1:0 "
        + arguments.map { "'\($0)'" }.joined(separator: " "), in: folder)
    #expect(result.status == 1 || result.status == 2)
    #expect(result.error.contains(part), "\(result.error)")
    #expect(result.output == "")
  }
}
