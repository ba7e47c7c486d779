import TandemHTTP
import Testing

@Suite("HTTP body, and clients that answer from memory")
struct HTTPBodyTests {
  /// Answers every request with the same bytes, whatever limit it names.
  private struct ScriptedClient: HTTPClient {
    var body: [UInt8]

    func stream(_ request: HTTPRequest) async throws -> HTTPResponseStream {
      let head = HTTPResponseHead(status: 200, url: request.url)
      return HTTPResponseStream(head: head, body: HTTPBody(body))
    }
  }

  @Test("bytes are handed out once, to whichever copy asks first")
  func bytes() async throws {
    let body = HTTPBody([1, 2])
    var (first, second) = (body.makeAsyncIterator(), body.makeAsyncIterator())
    let chunks = try await [first.next(), second.next(), first.next()]
    #expect(chunks == [[1, 2], nil, nil])
    let none = try await HTTPBody([]).collected(maxByteCount: 0)
    #expect(none == [])
  }

  @Test("a limit is kept even where the client does not", arguments: 0..<5)
  func limit(count: Int) async throws {
    let client = ScriptedClient(body: [UInt8](repeating: 1, count: count))
    for limit in -1..<6 {
      let request = HTTPRequest(url: "http://a", maxBodyByteCount: 4)
      let isLonger = count > max(0, min(4, limit))
      do {
        let response = try await client.response(to: request, maxBodyByteCount: limit)
        #expect(!isLonger)
        #expect(response.body == client.body)
      } catch let error as TransportError {
        #expect(isLonger)
        #expect(error.code == .tooLarge)
      }
    }
  }
}
