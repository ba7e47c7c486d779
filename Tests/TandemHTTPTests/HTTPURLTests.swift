import Testing

@testable import TandemHTTP

@Suite("URLs: what may be sent")
struct HTTPURLTests {
  private func code(of url: String) -> TransportError.Code? {
    do throws(TransportError) {
      _ = try HTTPURL.validated(url)
      return nil
    } catch {
      return error.code
    }
  }

  @Test(
    "an http or https address passes as it is",
    arguments: [
      "http://a", "https://a.example/", "HTTPS://A.example:8443/x?y#z", "http://[::1]:80/",
      "https://user:p%40ss@a.example/x", "http://a?x=http://b", "http://a.example/x:y@z",
      #"https://user:pa\ss@a.example/"#,
    ])
  func accepted(url: String) throws {
    #expect(try HTTPURL.validated(url) == url)
  }

  @Test(
    "an address of another scheme, or without a host, is refused by name",
    arguments: [
      ("", TransportError.Code.invalidURL), ("a.example", .invalidURL),
      ("a.example:80/x", .invalidURL), ("user:pass@a.example/x", .invalidURL),
      ("/x", .invalidURL), ("//a.example", .invalidURL), ("https://", .invalidURL),
      ("https:///x", .invalidURL), ("https:/x", .invalidURL), ("http://:80/", .invalidURL),
      ("http://u:p@/x", .invalidURL), ("http://u:p@ss@a/x", .invalidURL),
      ("http://a:99999/", .invalidURL), (#"http://a\b/"#, .invalidURL),
      ("http://a b", .invalidURL), ("http://a/\u{0}", .invalidURL),
      ("http://a/\r\nX: y", .invalidURL), ("://a", .invalidURL),
      ("mailto:a@b.example", .invalidURL), ("https:a.example", .invalidURL),
      ("file:/x", .unsupportedScheme), ("1http://a", .unsupportedScheme),
      ("ftp://a.example/x", .unsupportedScheme), ("file:///x", .unsupportedScheme),
    ])
  func refused(url: String, code: TransportError.Code) {
    #expect(self.code(of: url) == code)
  }

  @Test("characters beyond ASCII are encoded after the host, and by IDNA in it, in any locale")
  func encoding() throws {
    #expect(
      try HTTPURL.validated("http://é.example/é?ß=1") == "http://xn--9ca.example/%C3%A9?%C3%9F=1")
    #expect(
      try HTTPURL.validated("http://BÜCHER.example:81/") == "http://xn--bcher-kva.example:81/")
    #expect(HTTPURL.haveSameOrigin("http://bücher.example/", "http://xn--bcher-kva.example/x"))
    #expect(
      HTTPURL.resolved("/ä", against: "http://u:p@bücher.example/b")
        == "http://u:p@xn--bcher-kva.example/%C3%A4")
    #expect(
      try HTTPURL.validated("http://[fe80::1%25eth0]:80/é") == "http://[fe80::1%25eth0]:80/%C3%A9")
  }

  @Test(
    "what no URL may have is encoded in path and query as browsers encode it, and spaces around it are left out",
    arguments: [
      ("http://a/b c?d e#f", "http://a/b%20c?d%20e#f"), ("  http://a/b  ", "http://a/b"),
      (#"http://a/"<{`^}>?"<{`^}>"#, "http://a/%22%3C%7B%60%5E%7D%3E?%22%3C{`^}%3E"),
      ("http://u:p@a/ ?x= y", "http://u:p@a/%20?x=%20y"), ("http://a?b c", "http://a?b%20c"),
      ("http://a/%20 |'", "http://a/%20%20|'"),
    ])
  func unsafe(url: String, sent: String) throws {
    #expect(try HTTPURL.validated(url) == sent)
  }

  @Test(
    "references are encoded as browsers encode path and query",
    arguments: [
      ("b c.jpg", "http://a/d/b%20c.jpg"), (" /b c", "http://a/b%20c"),
      ("//b/c d", "http://b/c%20d"), ("http://b/c d?e f", "http://b/c%20d?e%20f"),
      ("?x= //y", "http://a/d/e?x=%20//y"), ("  ", "http://a/d/e"),
    ])
  func unsafeReference(reference: String, url: String) {
    #expect(HTTPURL.resolved(reference, against: "http://a/d/e") == url)
    #expect(HTTPURL.resolved("//b c/", against: "http://a/") == "//b c/")
  }

  @Test(
    "an address on the same host takes scheme, port and credentials of another",
    arguments: [
      ("http://A/2?x", "https://u:p@a/1", "https://u:p@A/2?x"),
      ("http://a:8080/2", "http://a/1", "http://a/2"),
      ("https://a/2", "http://a:81/1", "http://a:81/2"), ("http://b/2", "https://a/1", nil),
      ("ftp://a/2", "https://a/1", nil), ("?", "https://a/1", nil),
    ] as [(String, String, String?)])
  func readdressing(text: String, base: String, url: String?) {
    #expect(HTTPURL.readdressed(text, toOriginOf: base) == url)
  }

  @Test("no five parts of an address trap, and those that pass have a scheme and a host")
  func exhaustive() {
    let parts = ["", "http", ":", "/", "@", "?", "a", "é", "\\"]
    var urls: Set<String> = [""]
    for _ in 0..<5 { urls = Set(urls.flatMap { url in parts.map { url + $0 } }) }
    let accepted = urls.filter { code(of: $0) == nil }
    #expect(accepted == ["http://a", "http://é", "http://http"])
  }

  #if os(Linux)
    @Test(
      "both libraries split alike what both accept",
      arguments: [
        "http://a", "HTTP://u:p%40@A:80/b/../c?d=e", "https://[::1]/", "http://@a/",
        "http://u@a?b",
      ])
    func agreement(text: String) throws {
      let foundation = try #require(FoundationParser.url(text, relativeTo: nil))
      let curl = try #require(CurlParser.url(text, relativeTo: nil))
      #expect(foundation.host == curl.host && foundation.port == curl.port)
      #expect(foundation.user == curl.user && foundation.password == curl.password)
      #expect(foundation.query == curl.query)
    }

    @Test(
      "at least one of both libraries refuses it",
      arguments: ["https://user:pa#ss@host/", "http://a/é", "http://a:x/", "http://u:p@ss@a/", ""])
    func refusal(text: String) {
      let foundation = FoundationParser.url(text, relativeTo: nil)
      #expect(foundation == nil || CurlParser.url(text, relativeTo: nil) == nil)
    }
  #endif
}

@Suite("URLs: credentials that must not be shown")
struct HTTPURLCredentialsTests {
  @Test(
    "credentials are left out of what is shown, and only those",
    arguments: [
      ("https://user:secret@a.example/x@y?z=u:v@w", "https://a.example/x@y?z=u:v@w"),
      (#"https://user:sec\ret@a.example/list"#, "https://a.example/list"),
      ("https://user:sec%40ret@a.example/list", "https://a.example/list"),
      ("https://user:secret@[::1]:8443/list", "https://[::1]:8443/list"),
      ("https://:secret@a.example/", "https://a.example/"),
      ("https://secret@a.example/", "https://a.example/"),
      ("HTTPS://user:secret@A.example", "https://A.example/"),
      ("ftp://user:secret@a.example/x", "ftp://a.example/x"),
      ("https://a.example/x?mail=a@b", "https://a.example/x?mail=a@b"),
      ("https://a.example/x y", "https://a.example/x y"),
      ("https://user:secret@a.example/li st", "https://a.example/li%20st"),
    ])
  func shown(url: String, text: String) {
    #expect(HTTPURL.withoutCredentials(url) == text)
    #expect(TransportError(.timedOut, "too slow", url: url).description == "\(text): too slow")
  }

  @Test(
    "a text that cannot be parsed shows nothing before its last @",
    arguments: [
      ("https://user:sec@ret@a.example/list", "a.example/list"),
      ("https://user:sec#ret@a.example/list", "a.example/list"),
      ("https://user:sec?ret@a.example/list", "a.example/list"),
      ("https://user:sec/ret@a.example/list", "a.example/list"),
      ("https://user:sec ret@a.example/list", "a.example/list"),
      ("https://user:secret@a .example/li st", "a .example/li st"),
      ("https:///user:secret@a.example/list", "a.example/list"),
      ("https://user:secret@[::1/list", "[::1/list"),
      (#"https://user:secret@a\b/list"#, #"a\b/list"#),
      ("user:secret@a.example/list", "a.example/list"), ("a@b", "b"), ("@", ""), ("", ""),
    ])
  func unparsable(url: String, text: String) {
    #expect(HTTPURL.withoutCredentials(url) == text)
  }

  @Test("the fragment, which may be the rest of a password, is not shown beside an @")
  func fragment() {
    #expect(HTTPURL.withoutCredentials("https://user:12#ret@host/") == "https://user:12/")
  }

  @Test("no five parts of an address show a password before an @")
  func exhaustive() {
    let parts = ["://", "u:secret", "@", "/", "#", "?", "\\", "[", "h", " "]
    var tails: Set<String> = [""]
    for _ in 0..<3 { tails = Set(tails.flatMap { tail in parts.map { tail + $0 } }) }
    for tail in tails {
      let url = "https://u:secret\(tail)@h/"
      // A path or a query that begins after a host called "u" is not hidden: it is sent as one.
      guard HTTPURL(url).map({ $0.user != nil }) ?? true else { continue }
      #expect(!HTTPURL.withoutCredentials(url).contains("secret"), "\(url)")
    }
  }

  @Test("the path of a file is shown as it is")
  func path() {
    #expect(TransportError(.cannotRead, "", path: "me@home/a.csv").url == "me@home/a.csv")
  }

  @Test("codes are compared by kind and print their names")
  func codes() {
    #expect(TransportError.Code.tooLarge == .tooLarge)
    #expect(TransportError.Code.tooLarge != .timedOut)
    #expect("\(TransportError.Code.refusedRedirect)" == "refusedRedirect")
  }
}

@Suite("URLs: references")
struct HTTPURLReferenceTests {
  @Test(
    "the examples of RFC 3986, section 5.4, are resolved, without their fragments",
    arguments: [
      ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"),
      ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"), ("//g", "http://g/"),
      ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"),
      ("g#s", "http://a/b/c/g"), (";x", "http://a/b/c/;x"), ("", "http://a/b/c/d;p?q"),
      (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
      ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
      ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("/./g", "http://a/g"),
      ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), ("..g", "http://a/b/c/..g"),
      ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/../h", "http://a/b/c/h"),
      ("g?y/../x", "http://a/b/c/g?y/../x"),
    ])
  func resolution(reference: String, address: String) {
    #expect(HTTPURL.resolved(reference, against: "http://a/b/c/d;p?q") == address)
  }

  @Test(
    "credentials are carried over within an origin, and nowhere else",
    arguments: [
      ("g", "http://u:p@a/b/g"), ("/g", "http://u:p@a/g"), ("http://a/g", "http://u:p@a/g"),
      ("HTTP://A:80/g", "http://u:p@A:80/g"), ("//a/g?x", "http://u:p@a/g?x"),
      ("http://v@a/g", "http://v@a/g"), ("http://@a/g", "http://@a/g"),
      ("http://a:81/g", "http://a:81/g"), ("https://a/g", "https://a/g"),
      ("http://b/g", "http://b/g"), ("//b/g", "http://b/g"), ("mailto:a", "mailto:a"),
    ])
  func credentials(reference: String, address: String) {
    #expect(HTTPURL.resolved(reference, against: "http://u:p@a/b/c") == address)
  }

  @Test("a parameter takes the place of those of its name, and is encoded")
  func parameters() {
    #expect(
      HTTPURL.setting("p", to: "a b&=é", in: "http://a") == "http://a/?p=a%20b%26%3D%C3%A9")
    #expect(
      HTTPURL.setting("p", to: "2", in: "http://a/x?p=1&q=3&p=4") == "http://a/x?q=3&p=2")
    #expect(HTTPURL.setting("p", to: "2", in: "http://a/x?pp=1#f") == "http://a/x?pp=1&p=2")
    #expect(HTTPURL.parameter("p", in: "http://a/x?pp=1&p=7") == "7")
    #expect(HTTPURL.parameter("p", in: "http://a/x?pp=1&p") == "")
    #expect(HTTPURL.parameter("p", in: "http://a/x") == nil)
  }

  @Test("an origin is scheme, host and port")
  func origins() {
    #expect(HTTPURL.haveSameOrigin("http://a/x", "HTTP://u:p@A:80/y?z"))
    #expect(HTTPURL.haveSameOrigin("https://a", "https://a:443"))
    #expect(!HTTPURL.haveSameOrigin("http://a/x", "https://a/x"))
    #expect(!HTTPURL.haveSameOrigin("http://a/x", "http://a:81/x"))
    #expect(!HTTPURL.haveSameOrigin("http://a/x", "http://b/x"))
    #expect(!HTTPURL.haveSameOrigin("http://a/x", "http://a@b/x"))
    #expect(!HTTPURL.haveSameOrigin("mailto:a", "mailto:a"))
  }
}
