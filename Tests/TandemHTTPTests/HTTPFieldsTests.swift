import Testing

@testable import TandemHTTP

@Suite("HTTP fields")
struct HTTPFieldsTests {
  @Test("names are looked up without regard to case, values joined in order")
  func lookup() {
    let fields: HTTPFields = ["Accept": "a", "ETag": "\"1\"", "accept": "b"]
    #expect(fields["ACCEPT"] == "a, b")
    #expect(fields.values(of: "Accept") == ["a", "b"])
    #expect(fields["etag"] == "\"1\"")
    #expect(fields["Accep"] == nil)
    #expect(fields.map(\.name) == ["Accept", "ETag", "accept"])
  }

  @Test("setting a field leaves one of its name, and nil none")
  func setting() {
    var fields: HTTPFields = ["A": "1", "B": "2", "a": "3"]
    fields["a"] = "4"
    #expect(fields == ["B": "2", "A": "4"])
    fields["b"] = nil
    #expect(fields == ["a": "4"])
    #expect(fields.hashValue == (["A": "4"] as HTTPFields).hashValue)
    #expect(fields != ["a": "5"])
  }

  @Test("only ASCII case is disregarded")
  func asciiCase() {
    let fields: HTTPFields = ["[": "1"]
    #expect(fields["{"] == nil)
    #expect(HTTPFields.Field(name: "@", value: "") != HTTPFields.Field(name: "`", value: ""))
  }

  @Test("every byte is allowed or forbidden in names and values as the grammar says")
  func grammar() {
    let token = Set("!#$%&'*+-.^_`|~0123456789".utf8)
    for byte in UInt8.min...127 {
      let text = String(decoding: [byte], as: UTF8.self)
      let isLetter = 65...90 ~= byte || 97...122 ~= byte
      #expect(isHTTPToken(text) == (isLetter || token.contains(byte)), "\(byte)")
      let isText = byte == 9 || 32...126 ~= byte
      #expect((HTTPFields.Field(name: "A", value: text).defect == nil) == isText, "\(byte)")
    }
    #expect(!isHTTPToken(""))
    #expect(HTTPFields.Field(name: "A", value: "é").defect == nil)
    #expect(HTTPFields.Field(name: "A b", value: "").defect != nil)
  }
}

@Suite("HTTP validators")
struct HTTPValidatorsTests {
  private func head(_ fields: HTTPFields) -> HTTPResponseHead {
    HTTPResponseHead(status: 200, fields: fields, url: "http://a")
  }

  @Test("validators go from a response into a request, in place of earlier ones")
  func roundTrip() {
    let validators = HTTPValidators(of: head(["etag": "W/\"x\"", "Last-Modified": "today"]))
    #expect(validators == HTTPValidators(entityTag: "W/\"x\"", lastModified: "today"))
    var request = HTTPRequest(url: "http://a")
    request.makeConditional(on: HTTPValidators(entityTag: "old", lastModified: "old"))
    request.makeConditional(on: validators)
    #expect(request.fields == ["If-None-Match": "W/\"x\"", "If-Modified-Since": "today"])
    request.makeConditional(on: HTTPValidators())
    #expect(request.fields.isEmpty)
  }

  @Test(
    "a date is trusted alone if it is at least a second older than the response",
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT", true),
      ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", false),
      ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:36 GMT", false),
      ("Sun, 06 Nov 1994 08:49:37 GMT", nil, false), ("today", "tomorrow", false),
      ("Sun, 06 Nov 1994 08:49:37 GMT", "tomorrow", false),
    ])
  func youngDates(modified: String, date: String?, isTrusted: Bool) {
    var fields: HTTPFields = ["Last-Modified": modified]
    fields["Date"] = date
    #expect(HTTPValidators(of: head(fields)).lastModified == (isTrusted ? modified : nil))
    fields["ETag"] = "\"1\""
    #expect(
      HTTPValidators(of: head(fields)) == HTTPValidators(entityTag: "\"1\"", lastModified: modified)
    )
  }

  @Test("a response without validators, or with unsendable ones, leaves none")
  func none() {
    #expect(HTTPValidators(of: head([:])).isEmpty)
    #expect(HTTPValidators(of: head(["ETag": "\"\u{1}\""])).isEmpty)
    #expect(!HTTPValidators(of: head(["ETag": ""])).isEmpty)
  }
}

@Suite("HTTP response head")
struct HTTPResponseHeadTests {
  @Test("2xx is success", arguments: 200..<300)
  func success(status: Int) throws {
    let head = HTTPResponseHead(status: status, url: "http://a")
    #expect(head.isSuccess)
    try head.requireSuccess()
  }

  @Test(
    "anything but 2xx is an error that says so, when asked",
    arguments: (100..<600).filter { $0 / 100 != 2 })
  func failure(status: Int) {
    let head = HTTPResponseHead(status: status, url: "http://a")
    #expect(!head.isSuccess)
    let error = #expect(throws: TransportError.self) { try head.requireSuccess() }
    #expect(error?.code == .badStatus && error?.message.contains("\(status)") == true)
  }

  @Test("200 and 203 bring what was asked for", arguments: [200, 203])
  func content(status: Int) throws {
    try HTTPResponseHead(status: status, url: "http://a").requireContent()
  }

  @Test(
    "no status but 200 and 203 brings what was asked for",
    arguments: (100..<600).filter { ![200, 203].contains($0) })
  func noContent(status: Int) {
    let head = HTTPResponseHead(status: status, url: "http://a")
    let error = #expect(throws: TransportError.self) { try head.requireContent() }
    #expect(error?.code == .badStatus && error?.status == status)
    #expect(error?.message.contains("\(status)") == true)
    let others = [202, 408, 425, 429, 500, 502, 503, 504, 530, 598, 599]
    #expect(error?.isTransient == (others.contains(status) || 520..<530 ~= status))
  }

  @Test("the body's length is known unless it is encoded, or said wrongly")
  func bodyByteCount() {
    func count(_ fields: HTTPFields) -> Int? {
      HTTPResponseHead(status: 200, fields: fields, url: "http://a").bodyByteCount
    }
    #expect(count(["Content-Length": "12"]) == 12)
    for encoding in ["Identity", "", "none", "None, identity", ","] {
      #expect(count(["Content-Length": "12", "Content-Encoding": encoding]) == 12, "\(encoding)")
    }
    for encoding in ["gzip", "none, gzip", "nonesuch"] {
      #expect(count(["Content-Length": "12", "Content-Encoding": encoding]) == nil, "\(encoding)")
    }
    #expect(count(["Content-Length": "99999999999999999999"]) == nil)
    #expect(count(["Content-Length": "-1"]) == nil)
    #expect(count([:]) == nil)
  }
}
