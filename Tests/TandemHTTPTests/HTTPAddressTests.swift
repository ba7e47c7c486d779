import Testing

@testable import TandemHTTP

@Suite("HTTP address")
struct HTTPAddressTests {
  private func code(of url: String) -> TransportError.Code? {
    do throws(TransportError) {
      _ = try HTTPAddress.validated(url)
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
    ])
  func accepted(url: String) throws {
    #expect(try HTTPAddress.validated(url) == url)
  }

  @Test(
    "anything else is refused by name",
    arguments: [
      ("", TransportError.Code.invalidURL), ("a.example", .invalidURL),
      ("a.example:80/x", .invalidURL),
      ("/x", .invalidURL), ("//a.example", .invalidURL), ("https://", .invalidURL),
      ("https:///x", .invalidURL), ("http://:80/", .invalidURL), ("http://u:p@/x", .invalidURL),
      ("http://a b", .invalidURL), ("http://a/\u{0}", .invalidURL),
      ("http://a/\r\nX: y", .invalidURL),
      ("://a", .invalidURL), ("1http://a", .invalidURL),
      ("ftp://a.example/x", .unsupportedScheme), ("file:///x", .unsupportedScheme),
      ("mailto:a@b.example", .unsupportedScheme), ("file:/x", .unsupportedScheme),
      ("https:a.example", .unsupportedScheme),
    ])
  func refused(url: String, code: TransportError.Code) {
    #expect(self.code(of: url) == code)
  }

  @Test("characters beyond ASCII are encoded after the host, and left to IDNA in it")
  func encoding() throws {
    #expect(
      try HTTPAddress.validated("http://é.example/é?ß=1") == "http://é.example/%C3%A9?%C3%9F=1")
  }

  @Test("no five parts of an address trap, and those that pass have a scheme and a host")
  func exhaustive() {
    let parts = ["", "http", ":", "/", "@", "?", "a", "é", "\\"]
    var urls: Set<String> = [""]
    for _ in 0..<5 { urls = Set(urls.flatMap { url in parts.map { url + $0 } }) }
    let accepted = urls.filter { code(of: $0) == nil }
    #expect(accepted == ["http://a", "http://é", "http://http"])
  }
}

@Suite("Transport error")
struct TransportErrorTests {
  @Test("credentials in the address are left out of the error, and only those")
  func credentials() {
    let url = "https://user:p@ss@a.example/x@y?z=u:v@w"
    let error = TransportError(.timedOut, "too slow", url: url)
    #expect(error.url == "https://a.example/x@y?z=u:v@w")
    #expect(error.description == "https://a.example/x@y?z=u:v@w: too slow")
    #expect(TransportError(.timedOut, "", url: "a@b").url == "a@b")
  }

  @Test("codes are compared by kind and print their names")
  func codes() {
    #expect(TransportError.Code.tooLarge == .tooLarge)
    #expect(TransportError.Code.tooLarge != .timedOut)
    #expect("\(TransportError.Code.refusedRedirect)" == "refusedRedirect")
  }
}
