import TandemDigests
import TandemServer
import Testing

@Suite struct TokenListTests {
  private let token = AccessToken.of("one", "ann", .read, ["notes"])
  private let other = AccessToken.of("two", "bob", .write, ["*"])

  @Test("Lines end as on any system, and the last one need not", arguments: ["\n", "\r\n", "\r"])
  func lineEnds(end: String) throws {
    let lines = ["# a comment", line(token), "", line(other)]
    for text in [lines.joined(separator: end), lines.joined(separator: end) + end] {
      var list = try TokenList(text: text)
      #expect(list.tokens == [token, other])
      #expect(list.token(ofSecret: "one") == token)
      #expect(list.token(ofSecret: "two") == other)
      #expect(list.token(ofSecret: "three") == nil)
      let third = AccessToken.of("three", "cat", .read, ["x"])
      try list.add(third)
      #expect(try TokenList(text: list.text).tokens == [token, other, third])
    }
    #expect(throws: ServerError.self) {
      try TokenList(text: ["# a comment", "nonsense"].joined(separator: end))
    }
  }

  @Test("Comments and empty lines are kept where they are")
  func comments() throws {
    let text = "# phones\n\(line(token))\n\n  # laptops\n\(line(other))\n# the end\n"
    var list = try TokenList(text: text)
    #expect(list.text == text)
    #expect(list.revoke { $0 == other } == [other])
    #expect(list.text == "# phones\n\(line(token))\n\n  # laptops\n# the end\n")
    #expect(list.token(ofSecret: "two") == nil)
    try list.add(other)
    #expect(list.text.hasSuffix("# the end\n\(line(other))\n"))
    #expect(TokenList().text.hasPrefix("# Access tokens"))
  }

  private func line(_ token: AccessToken) -> String {
    "\(token.hash) \(token.account) \(token.access.rawValue) \(token.scopeText)"
  }
}
