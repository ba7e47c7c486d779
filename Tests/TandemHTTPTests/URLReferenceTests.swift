import Testing

@testable import TandemHTTP

@Suite("References to addresses")
struct URLReferenceTests {
  @Test(
    "the examples of RFC 3986, section 5.4, are resolved, without their fragments",
    arguments: [
      ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"),
      ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"), ("//g", "http://g"),
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
    #expect(URLReference.resolved(reference, against: "http://a/b/c/d;p?q") == address)
  }

  @Test(
    "credentials are carried over within an origin, and nowhere else",
    arguments: [
      ("g", "http://u:p@a/b/g"), ("/g", "http://u:p@a/g"), ("http://a/g", "http://u:p@a/g"),
      ("HTTP://A:80/g", "HTTP://u:p@A:80/g"), ("//a/g?x", "http://u:p@a/g?x"),
      ("http://v@a/g", "http://v@a/g"), ("http://@a/g", "http://@a/g"),
      ("http://a:81/g", "http://a:81/g"), ("https://a/g", "https://a/g"),
      ("http://b/g", "http://b/g"), ("//b/g", "http://b/g"), ("mailto:a", "mailto:a"),
    ])
  func credentials(reference: String, address: String) {
    #expect(URLReference.resolved(reference, against: "http://u:p@a/b/c") == address)
  }

  @Test("a parameter takes the place of those of its name, and is encoded")
  func parameters() {
    #expect(
      URLReference.setting("p", to: "a b&=é", in: "http://a") == "http://a/?p=a%20b%26%3D%C3%A9")
    #expect(
      URLReference.setting("p", to: "2", in: "http://a/x?p=1&q=3&p=4") == "http://a/x?q=3&p=2")
    #expect(URLReference.setting("p", to: "2", in: "http://a/x?pp=1#f") == "http://a/x?pp=1&p=2")
    #expect(URLReference.parameter("p", in: "http://a/x?pp=1&p=7") == "7")
    #expect(URLReference.parameter("p", in: "http://a/x?pp=1&p") == "")
    #expect(URLReference.parameter("p", in: "http://a/x") == nil)
  }

  @Test("an origin is scheme, host and port")
  func origins() {
    #expect(URLReference.haveSameOrigin("http://a/x", "HTTP://u:p@A:80/y?z"))
    #expect(URLReference.haveSameOrigin("https://a", "https://a:443"))
    #expect(!URLReference.haveSameOrigin("http://a/x", "https://a/x"))
    #expect(!URLReference.haveSameOrigin("http://a/x", "http://a:81/x"))
    #expect(!URLReference.haveSameOrigin("http://a/x", "http://b/x"))
    #expect(!URLReference.haveSameOrigin("http://a/x", "http://a@b/x"))
  }
}
