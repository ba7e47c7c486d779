import TandemHTTP
import TandemRecords
import TestFolder
import TestHTTPServer
import Testing

@testable import TandemMirror

@Suite("Responses whose status, length and range contradict each other", .timeLimit(.minutes(20)))
struct PartialAnswerTests {
  let client: SystemHTTPClient
  let folder: TemporaryFolder
  let content = (0..<200_003).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

  init() throws {
    client = try SystemHTTPClient()
    folder = try TemporaryFolder()
  }

  /// The number of bytes of the part that arrives first.
  private static let cut = 120_000

  /// A response to the request for the rest.
  struct Answer: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var status = 200
    var fields: HTTPFields = [:]
    /// The bytes that it has, from this offset on.
    var start = PartialAnswerTests.cut
    var count: Int?
    /// True if it is taken, and false if the whole is asked for again.
    var isTaken = false
    var isChunked = false
  }

  static let range = "bytes \(cut)-200002/200003"
  static let answers: [Answer] = [
    Answer(
      testDescription: "200 with the range of the rest", fields: ["Content-Range": range],
      isTaken: true),
    Answer(testDescription: "200 with the rest, without a range"),
    Answer(testDescription: "200 with the rest, in chunks, without a range", isChunked: true),
    Answer(
      testDescription: "200 with another range",
      fields: ["Content-Range": "bytes 130000-200002/200003"], start: 130_000),
    Answer(
      testDescription: "200 with a range that is not the end",
      fields: ["Content-Range": "bytes \(cut)-150000/200003"], count: 30_001),
    Answer(testDescription: "200 with an unreadable range", fields: ["Content-Range": "bytes 0"]),
    Answer(testDescription: "200 with the whole", start: 0, isTaken: true),
    Answer(
      testDescription: "200 with the whole and its range",
      fields: ["Content-Range": "bytes 0-200002/200003"], start: 0, isTaken: true),
    Answer(testDescription: "200 with a shorter text of the same version", start: 0, count: 90_000),
    Answer(
      testDescription: "206 with a longer body than its range", status: 206,
      fields: ["Content-Range": range], start: 100_000),
    Answer(
      testDescription: "206 with a shorter body than its range", status: 206,
      fields: ["Content-Range": range], count: 10),
    Answer(
      testDescription: "206 with the rest", status: 206, fields: ["Content-Range": range],
      isTaken: true),
    Answer(testDescription: "304", status: 304, count: 0),
  ]

  @Test(
    "a part is used where it belongs, or the whole is asked for again", arguments: answers,
    [true, false])
  func resumption(answer: Answer, hasTag: Bool) async throws {
    let version: HTTPFields =
      hasTag
      ? ["ETag": "\"1\""]
      : [
        "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 09:49:37 GMT",
      ]
    let counter = Counter()
    let requests = try await withServer { [content] request, connection in
      var fields = version
      guard request.fields["Range"] != nil else {
        guard request.path == "/a" else { return false }
        fields["Content-Length"] = "\(content.count)"
        let isFirst = counter.next() == 0
        connection.send(200, fields, isFirst ? Array(content[..<Self.cut]) : content)
        return !isFirst
      }
      for field in answer.fields { fields[field.name] = field.value }
      let body = Array(content[answer.start...].prefix(answer.count ?? .max))
      if answer.isChunked {
        fields["Transfer-Encoding"] = "chunked"
        connection.send(200, fields)
        connection.send(chunk: body)
        connection.send(chunk: [])
        return true
      }
      return connection.respond(answer.status, fields, body)
    } test: { server in
      let store = try FileStore(path: folder.path)
      let request = FileRequest(FileName("a"), url: server.url + "/a")
      await #expect(throws: TransportError.self) {
        try await store.transfer(request, client: client)
      }
      _ = try await store.transfer(request, client: client)
      return server.requests
    }
    #expect(folder.bytes(of: "a") == content)
    #expect(requests[1].fields["Range"] == "bytes=\(Self.cut)-")
    #expect(requests.count == (answer.isTaken ? 2 : 3))
  }

  @Test("a rest of another version by its date is not joined to the part")
  func otherDate() async throws {
    let new = Array(content.reversed())
    let counter = Counter()
    try await withServer { [content] request, connection in
      let date = ["Date": "Sun, 06 Nov 1994 09:49:37 GMT"] as HTTPFields
      var fields = date
      let isFirst = counter.next() == 0
      fields["Last-Modified"] = "Sun, 06 Nov 1994 08:4\(isFirst ? 8 : 9):37 GMT"
      guard request.fields["Range"] == nil else {
        fields["Content-Range"] = Self.range
        return connection.respond(206, fields, Array(new[Self.cut...]))
      }
      fields["Content-Length"] = "\(content.count)"
      connection.send(200, fields, isFirst ? Array(content[..<Self.cut]) : new)
      return !isFirst
    } test: { server in
      let store = try FileStore(path: folder.path)
      let request = FileRequest(FileName("a"), url: server.url + "/a")
      _ = try? await store.transfer(request, client: client)
      _ = try await store.transfer(request, client: client)
      #expect(folder.bytes(of: "a") == new)
    }
  }

  @Test(
    "a 200 that says that it is a part is refused if no part was asked for",
    arguments: [
      "bytes 0-9/100", "bytes 90-99/100", "bytes 0-9/*", "bytes 0-99/100", "bytes */10", "bytes",
    ])
  func unasked(range: String) async throws {
    try await withServer { _, connection in
      connection.respond(200, ["Content-Range": range], Array("id\n1\n2\n3\n4".utf8))
    } test: { server in
      let store = try FileStore(path: folder.path)
      let error = await #expect(throws: TransportError.self) {
        try await store.transfer(
          FileRequest(FileName("a"), url: server.url + "/a"), client: client)
      }
      #expect(error?.message.contains("this is a part") == true)
      #expect(try store.names().isEmpty)
      // A list in lines may have been cut off after any of them.
      var options = RecordListOptions()
      options.retry = .never
      let list = await #expect(throws: TransportError.self) {
        _ = try await RecordSource.url(server.url + "/a.csv").list(options, client: client)
      }
      #expect(list?.code == .uncertainEnd)
    }
  }

  @Test("a 200 whose range is the whole is the whole", arguments: ["bytes 0-9/10", "items 0-3/4"])
  func whole(range: String) async throws {
    try await withServer { _, connection in
      connection.respond(200, ["Content-Range": range], Array("id\n1\n2\n3\n4".utf8))
    } test: { server in
      let store = try FileStore(path: folder.path)
      let outcome = try await store.transfer(
        FileRequest(FileName("a"), url: server.url + "/a"), client: client)
      #expect(outcome.file.byteCount == 10)
      let list = try await RecordSource.url(server.url + "/a.csv").list(client: client)
      #expect(try list.content().records.count == 4)
    }
  }
}
