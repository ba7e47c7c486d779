import TandemDigests
import TandemSync
import Testing

@testable import TandemServer

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

  @Test("A line that cannot be used is named by its number only, kept, and stops no other one")
  func badLines() throws {
    let secret = TokenList.newSecret()
    for bad in [
      secret, "\(secret) ann read notes", line(token) + " more", line(token) + " expires=soon",
      line(token) + " expires=2027-02-29", line(token) + " expires=2027-01-01 12:00",
      line(token) + " expires=2027-01-01 expires=2028-01-01", line(token) + " # a\u{1B}[2J",
      line(token).replacing("read", with: "own"), line(token).replacing("notes", with: "n*tes"),
      line(token).replacing("notes", with: "notes,*"),
    ] {
      let text = "\u{FEFF}# the file of an editor\n\(bad)\n\(line(other))\n"
      var list = try TokenList(text: text)
      #expect(list.tokens == [other], "\(bad)")
      #expect(list.faults.count == 1 && list.faults[0].hasPrefix("line 2 "), "\(bad)")
      #expect(!list.faults[0].contains(secret) && list.text == text)
      #expect(list.token(ofSecret: "one") == nil)
      #expect(list.revoke { $0 == other } == [other])
      #expect(list.text == "\u{FEFF}# the file of an editor\n\(bad)\n")
    }
  }

  @Test("Of two lines for one token, neither counts if they differ; a repeated one counts once")
  func doubledLines() throws {
    let wider = AccessToken.of("one", "ann", .write, ["*"])
    let list = try TokenList(
      text: [token, other, wider, token].map { line($0) + "\n" }.joined())
    #expect(list.tokens == [other] && list.faults.map { $0.prefix(6) } == ["line 3", "line 4"])
    #expect(list.token(ofSecret: "one") == nil)
    let same = try TokenList(text: "\(line(token))\n\(line(token))\n")
    #expect(same.tokens == [token] && same.faults.count == 1)
  }

  @Test(
    "An end is read in each form that has one meaning, and written in UTC",
    arguments: [
      ("2027-01-31", "2027-01-31T00:00:00Z"), ("2028-02-29", "2028-02-29T00:00:00Z"),
      ("2027-01-31T12:30", "2027-01-31T12:30:00Z"),
      ("2027-01-31T12:00:00+02:00", "2027-01-31T10:00:00Z"),
      ("2027-01-01T00:30:00.5+14:00", "2026-12-31T10:30:00Z"),
      ("9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59Z"),
      ("0000-01-01", "0000-01-01T00:00:00Z"), ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
    ])
  func ends(text: String, utc: String) throws {
    let list = try TokenList(text: "\(line(token)) expires=\(text) # Ann's phone # 2")
    let read = try #require(list.tokens.first)
    #expect(read.expiryText == utc && read.note == "Ann's phone # 2")
    let time = try #require(read.expiry)
    #expect(read.hasExpired(at: time) && !read.hasExpired(at: time - 1))
    #expect(
      read.definition == "ann read notes expires=\(utc) # Ann's phone # 2" && list.faults.isEmpty)
  }

  @Test("The spaces that an account may create, and a token without spaces, are read and written")
  func creation() throws {
    for (text, spaces, creates, isCreated) in [
      ("ann read - create=lists-*", [], ["lists-*"], [true, false]),
      ("ann write notes create=lists-1,x-*", ["notes"], ["lists-1", "x-*"], [true, false]),
      ("ann read - create=*", [], ["*"], [true, true]), ("ann read -", [], [], [false, false]),
      ("ann inspect * create=*", ["*"], ["*"], [false, false]),
    ] {
      let line = "\(token.hash) \(text) expires=2027-01-01T00:00:00Z # phone"
      let list = try TokenList(text: line)
      let read = try #require(list.tokens.first)
      #expect(read.scope.names == spaces && read.creates.names == creates)
      #expect(["lists-1", "notes"].map { read.mayCreate($0) } == isCreated)
      #expect(self.line(read) == line && list.text == line + "\n")
    }
    for text in [
      "read - create=", "read - create=a*b", "read - create=*,a", "read -,a", "read a,-",
    ] {
      #expect(throws: ServerError.self) { try TokenList(text: "\(token.hash) ann \(text)") }
    }
    let late = "\(token.hash) ann read - expires=2027-01-01 create=a"
    #expect(throws: ServerError.self) { try TokenList(text: late) }
  }

  @Test("A space may end with a star, which stands for all names that begin so")
  func patterns() throws {
    let token = try #require(
      try TokenList(text: line(.of("x", "ann", .write, ["a-*", "b"]))).tokens.first)
    for (name, access) in [("a-", SpaceListing.Access.write), ("a-1", .write), ("b", .write)] {
      #expect(token.access(to: name) == access)
    }
    for name in ["a", "A-1", "b1", "ab"] { #expect(token.access(to: name) == nil) }
    for names in [["*-a"], ["a*b"], ["a**"], ["**"], ["-*"], ["a", "*"], [], [""], ["a,b"]] {
      #expect(AccessToken.scope(names) == nil)
    }
    let both = AccessToken(
      hash: token.hash, account: "ann", access: .write, scope: .spaces(["mine"]),
      alsoReads: ["shared-*", "mine"])
    #expect(both.access(to: "mine") == .write && both.access(to: "shared-1") == .read)
    #expect(both.access(to: "other") == nil && !both.mayInspect("mine"))
  }

  private func line(_ token: AccessToken) -> String {
    "\(token.hash) \(token.definition)"
  }
}
