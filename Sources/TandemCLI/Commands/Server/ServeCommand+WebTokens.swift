import Tandem
import TandemServer

/// The options of `tandem serve` for tokens of an identity provider.
extension ServeCommand {
  enum WebTokenOption {
    static let keys = ValueOption<String>(
      "jwt-keys", "FILE|URL",
      help: """
        Accept JSON Web Tokens too: the keys that sign them, as a
        JSON Web Key Set. A URL (jwks_uri) is read again when its
        time is over, a file each minute. It needs librhonabwy.
        """)
    static let issuer = ValueOption<String>(
      "jwt-issuer", "TEXT", help: "The provider, exactly as tokens name it by iss.")
    static let audience = ValueOption<String>(
      "jwt-audience", "TEXT", help: "The name of this server, as tokens have it in aud.")
    static let algorithms = ValueOption<Set<WebTokenAlgorithm>>(
      "jwt-algorithms", "NAME[,NAME]",
      takes: "some of RS256, ES256, EdDSA and HS256, with commas between them",
      help: "The algorithms that are accepted\n(default: RS256,ES256,EdDSA; not HS256)."
    ) { text in
      let names = text.split(separator: ",", omittingEmptySubsequences: false)
      let algorithms = names.compactMap { WebTokenAlgorithm(rawValue: String($0)) }
      return algorithms.count == names.count ? Set(algorithms) : nil
    }
    static let claim = ValueOption<String>(
      "jwt-claim", "NAME",
      help: """
        The claim with the rights (default: tandem), an object as
        {"read":["shared-*"],"write":"notes-alice"}.
        """)
    static let all: [any CommandOption] = [keys, issuer, audience, algorithms, claim]
  }

  /// The source of tokens of an identity provider; `nil` if there is none.
  ///
  /// - Parameter hasOthers: True if there are other access tokens. Then a provider that does not answer at the start is
  ///   asked again later.
  static func webTokens(
    _ arguments: ParsedArguments, hasOthers: Bool, _ log: @escaping @Sendable (ServerEvent) -> Void
  ) async throws -> WebTokenSource? {
    let (issuer, audience) = (
      arguments[WebTokenOption.issuer], arguments[WebTokenOption.audience]
    )
    guard let place = arguments[WebTokenOption.keys] else {
      try arguments.checkAbsent(WebTokenOption.all, "belongs to --jwt-keys")
      return nil
    }
    guard let issuer, let audience, !issuer.isEmpty, !audience.isEmpty else {
      throw arguments.error(
        "--jwt-keys needs --jwt-issuer and --jwt-audience: a token for another server is not for this one"
      )
    }
    var rules = WebTokenRules(issuer: issuer, audience: audience)
    rules.algorithms = arguments[WebTokenOption.algorithms] ?? rules.algorithms
    rules.rightsClaim = arguments[WebTokenOption.claim] ?? rules.rightsClaim
    return try await WebTokenSource(
      rules, keysAt: place, mayStartWithoutKeys: hasOthers && isURL(place),
      log: { log(ServerEvent(.warning, $0)) }, reading: try reading(place, arguments))
  }

  private static func isURL(_ place: String) -> Bool {
    ["https", "http"].contains(place.prefix { $0 != ":" }.lowercased())
  }

  /// The function that reads the keys.
  private static func reading(
    _ place: String, _ arguments: ParsedArguments
  ) throws -> @Sendable () async throws -> WebTokenSource.KeyText {
    guard isURL(place) else {
      return {
        let bytes = try FileBytes.read(place, maxByteCount: WebTokenSource.maxKeyByteCount, .keys)
        return (bytes, .seconds(60))
      }
    }
    guard place.prefix(while: { $0 != ":" }).lowercased() == "https" || isLoopback(place) else {
      throw arguments.error("--jwt-keys takes a URL with https: whoever changes the keys is let in")
    }
    let client = try SystemHTTPClient(
      options: HTTPClientOptions(timeouts: HTTPTimeouts(total: .seconds(30))))
    return {
      let response = try await client.response(
        to: HTTPRequest(url: place), maxBodyByteCount: WebTokenSource.maxKeyByteCount)
      try response.head.requireSuccess()
      return (response.body, maxAge(response.head.fields))
    }
  }

  /// True if only programs of this machine answer at a URL with http.
  static func isLoopback(_ url: String) -> Bool {
    let authority = url.dropFirst("http://".count).prefix { !"/?#".contains($0) }
    return authority.wholeMatch(of: /(127\.0\.0\.1|localhost|\[::1\])(:[0-9]+)?/) != nil
  }

  /// The time for which a response may be kept (RFC 9111, section 5.2.2.1).
  private static func maxAge(_ fields: HTTPFields) -> Duration? {
    for directive in fields.values(of: "Cache-Control").joined(separator: ",").split(separator: ",")
    {
      let parts = directive.split(separator: "=").map { $0.filter { $0 != " " && $0 != "\"" } }
      if parts.count == 2, parts[0].lowercased() == "max-age", let seconds = Int64(parts[1]) {
        return .seconds(seconds)
      }
    }
    return nil
  }
}
