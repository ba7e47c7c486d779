import Testing

@testable import TandemHTTP

@Suite("HTTP head parser")
struct HTTPHeadParserTests {
  private func steps(
    _ lines: [String], followsRedirects: Bool = true, maxFieldByteCount: Int = 1000
  ) -> [HTTPHeadParser.Step] {
    var parser = HTTPHeadParser(
      followsRedirects: followsRedirects, maxFieldByteCount: maxFieldByteCount)
    return lines.map { line in Array(line.utf8).withUnsafeBytes { parser.receive($0) } }
      .filter { $0 != .incomplete }
  }

  @Test("lines up to the blank one make a head, and trailers after it do not")
  func simple() {
    let lines = [
      "HTTP/1.1 200 OK\r\n", "A:  b \t\r\n", "C:\r\n", "D: e: f\n", "\r\n", "T: u\r\n", "\r\n",
    ]
    #expect(steps(lines) == [.complete(status: 200, fields: ["A": "b", "C": "", "D": "e: f"])])
  }

  @Test("HTTP/2 and a missing reason are understood")
  func statusLines() {
    for line in ["HTTP/2 204 \r\n", "HTTP/1.0 204\r\n", "HTTP/1.1   204 No\r\n"] {
      #expect(steps([line, "\r\n"]) == [.complete(status: 204, fields: [:])])
    }
  }

  @Test(
    "a body's end is declared by its length, by chunks, or by HTTP/2",
    arguments: [
      (["HTTP/1.1 200 OK"], false), (["HTTP/1.0 200 OK"], false), (["HTTP/x 200 OK"], false),
      (["HTTP/1.1 200 OK", "Content-Length: 7"], true), (["HTTP/2 200 "], true),
      (["HTTP/3 200 "], true), (["HTTP/1.1 200 OK", "Transfer-Encoding: gzip, Chunked"], true),
      (["HTTP/1.1 200 OK", "Transfer-Encoding: identity"], false),
      (["HTTP/2 302 ", "Location: /", "", "HTTP/1.1 200 OK"], false),
      (["HTTP/1.1 302 Found", "Location: /", "Content-Length: 0", "", "HTTP/1.1 200 OK"], false),
    ])
  func ends(lines: [String], isDeclared: Bool) {
    var parser = HTTPHeadParser(followsRedirects: true, maxFieldByteCount: 1000)
    for line in lines + [""] {
      Array("\(line)\r\n".utf8).withUnsafeBytes { _ = parser.receive($0) }
    }
    #expect(parser.isComplete && parser.declaresEnd == isDeclared)
  }

  @Test("a continued line lengthens the value before it")
  func continuation() {
    let lines = ["HTTP/1.1 200 OK\r\n", "A: b\r\n", "  c\r\n", "\t d\r\n", "\r\n"]
    #expect(steps(lines) == [.complete(status: 200, fields: ["A": "b c d"])])
    #expect(
      steps(["HTTP/1.1 200 OK\r\n", " c\r\n", "\r\n"]) == [.complete(status: 200, fields: [:])])
  }

  @Test("interim heads and redirects that are followed leave nothing behind")
  func earlierHeads() {
    let lines = [
      "HTTP/1.1 103 Early\r\n", "A: b\r\n", "\r\n",
      "HTTP/1.1 301 Moved\r\n", "location: /x\r\n", "\r\n",
      "HTTP/1.1 200 OK\r\n", "C: d\r\n", "\r\n",
    ]
    #expect(steps(lines) == [.complete(status: 200, fields: ["C": "d"])])
    #expect(
      steps(lines, followsRedirects: false) == [.complete(status: 301, fields: ["Location": "/x"])])
  }

  @Test("a 3xx without a location is final")
  func unredirecting() {
    #expect(steps(["HTTP/1.1 304 x\r\n", "\r\n"]) == [.complete(status: 304, fields: [:])])
  }

  @Test("the limit counts all lines, earlier heads and trailers included")
  func limit() {
    let lines = [
      "HTTP/1.1 100 C\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "A: b\r\n", "\r\n", "T: u\r\n",
    ]
    let byteCount = lines.reduce(0) { $0 + $1.utf8.count }
    #expect(steps(lines, maxFieldByteCount: byteCount).count == 1)
    #expect(steps(lines, maxFieldByteCount: byteCount - 1).last == .tooLarge)
    #expect(steps(lines, maxFieldByteCount: 20).first == .tooLarge)
  }

  @Test("bytes that are no text are replaced, not refused")
  func invalidText() {
    var parser = HTTPHeadParser(followsRedirects: true, maxFieldByteCount: 1000)
    let lines: [[UInt8]] = [Array("HTTP/1.1 200 OK\r\n".utf8), [65, 58, 0xFF, 13, 10], [13, 10]]
    let last = lines.map { line in line.withUnsafeBytes { parser.receive($0) } }.last
    #expect(last == .complete(status: 200, fields: ["A": "\u{FFFD}"]))
  }
}
