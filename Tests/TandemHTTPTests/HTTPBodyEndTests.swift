import Testing

@testable import TandemHTTP

@Suite("Ends of HTTP bodies")
struct HTTPBodyEndTests {
  @Test(
    "a length counts if there is one, however often it is said",
    arguments: [
      ([:], nil), (["Content-Length": "0"], 0), (["content-length": "12"], 12),
      (["Content-Length": "12, 12"], 12), (["Content-Length": "12", "Content-Length": "12"], 12),
      (["Content-Length": "12", "Content-Length": "13"], nil), (["Content-Length": "12, 13"], nil),
      (["Content-Length": ""], nil), (["Content-Length": "12,"], nil),
      (["Content-Length": "-1"], nil), (["Content-Length": "+1"], nil),
      (["Content-Length": "1 bytes"], nil), (["Content-Length": "99999999999999999999"], nil),
    ] as [(HTTPFields, Int?)])
  func length(fields: HTTPFields, length: Int?) {
    #expect(fields.contentLength == length)
    var head = HTTPResponseHead(status: 200, fields: fields, url: "http://a")
    #expect(head.bodyByteCount == length)
    head.fields.append("Content-Encoding", "br")
    #expect(head.bodyByteCount == nil)
  }

  @Test(
    "different lengths are a conflict, however they are written; equal ones are none",
    arguments: [
      ([:], false), (["Content-Length": "12, 12"], false), (["Content-Length": "12, 012"], false),
      (["Content-Length": "12", "content-length": "13"], true),
      (["Content-Length": "12, 13"], true),
      (["Content-Length": "12", "Content-Length": "x"], true),
    ] as [(HTTPFields, Bool)])
  func conflict(fields: HTTPFields, isConflict: Bool) {
    #expect(fields.hasConflictingLengths == isConflict)
  }

  @Test(
    "a body that was encoded, by whomever, or has no declared end, may have been cut off",
    arguments: [
      ([:], nil), (["Content-Encoding": "identity", "Transfer-Encoding": "chunked"], nil),
      (["Content-Encoding": "gzip"], "compresses"), (["Content-Encoding": "x-gzip"], "compresses"),
      (["Transfer-Encoding": "gzip, chunked"], "compresses"),
      (["Transfer-Encoding": "gzip", "Transfer-Encoding": "chunked"], "compresses"),
      (["Content-Encoding": "none", "Content-Encoding": "BR"], "compresses"),
    ] as [(HTTPFields, String?)])
  func uncertainty(fields: HTTPFields, word: String?) {
    var head = HTTPResponseHead(status: 200, fields: fields, url: "http://a")
    #expect(head.isEncoded == (word != nil))
    if let word {
      #expect(head.uncertainty?.reason.contains(word) == true)
    } else {
      #expect(head.uncertainty == nil)
    }
    head.verifiesEncoding = true
    #expect(head.uncertainty == nil)
    head.verifiesEncoding = false
    head.declaresEnd = false
    #expect(head.uncertainty?.reason.contains(word ?? "how long") == true)
  }
}
