import TandemDifferences
import TandemDigests
import TandemRecords
import TandemSQLite
import TestFolder
import TestHTTPServer
import Testing

@testable import TandemHTTP
@testable import TandemMirror

@Suite("File store: contents whose end is uncertain", .timeLimit(.minutes(20)))
struct FileStoreEndTests {
  let client: SystemHTTPClient
  let folder: TemporaryFolder

  static let content = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

  init() throws {
    client = try SystemHTTPClient()
    folder = try TemporaryFolder()
  }

  /// How a content is sent so that a cut in it does not show.
  enum Sending: CaseIterable {
    case untilClosed, withImpossibleLength, inGzip, inGzipOnTheWay

    /// What to have changed.
    fileprivate var advice: String {
      switch self {
      case .untilClosed, .withImpossibleLength: "have it sent with a Content-Length, or declare"
      case .inGzip, .inGzipOnTheWay: "have it sent uncompressed, or declare"
      }
    }

    /// What shows a cut in a content whose digest or length is known.
    fileprivate var cutCode: TransportError.Code {
      self == .inGzip ? .truncated : .contentMismatch
    }

    fileprivate func send(_ content: [UInt8], isCut: Bool, to connection: Connection) {
      func cut(_ bytes: [UInt8]) -> [UInt8] { isCut ? Array(bytes[..<(bytes.count / 2)]) : bytes }
      switch self {
      case .untilClosed: connection.send(200, ["ETag": "\"1\""], cut(content))
      case .withImpossibleLength:
        connection.send(200, ["Content-Length": "99999999999999999999"], cut(content))
      case .inGzip:
        let bytes = cut(gzip(storing: content))
        connection.send(
          200, ["Content-Encoding": "gzip", "Content-Length": "\(bytes.count)"], bytes)
      case .inGzipOnTheWay:
        connection.send(200, ["Transfer-Encoding": "gzip, chunked"])
        connection.send(chunk: cut(gzip(storing: content)))
        connection.send(chunk: [])
      }
    }
  }

  @Test(
    "a content that could have been cut off unnoticed is refused, and what was there stays",
    arguments: Sending.allCases.filter { $0 != .inGzip }, [true, false])
  func uncertain(sending: Sending, isCut: Bool) async throws {
    try await withServer { request, connection in
      if request.path == "/old" { return connection.respond(200, [:], [1, 2]) }
      sending.send(Self.content, isCut: isCut, to: connection)
      return false
    } test: { server in
      let store = try FileStore(path: folder.path)
      _ = try await store.transfer(client, server.url + "/old")
      let error = await #expect(throws: TransportError.self) {
        try await store.transfer(client, server.url)
      }
      #expect(error?.code == .uncertainEnd)
      #expect(error?.isTransient == false)
      #expect(error?.message.contains("that this content is complete") == true)
      #expect(error?.message.contains(sending.advice) == true)
      #expect(folder.bytes(of: "a") == [1, 2])
      #expect(folder.leftovers == [])
    }
  }

  @Test("a content in gzip is taken whole, and a cut one or a bomb is not")
  func compressed() async throws {
    try await withServer { request, connection in
      guard request.path != "/bomb" else {
        return connection.respond(200, ["Content-Encoding": "gzip"], gzipBomb(runCount: 10_000))
      }
      Sending.inGzip.send(Self.content, isCut: request.path == "/cut", to: connection)
      return false
    } test: { server in
      let store = try FileStore(path: folder.path)
      _ = try await store.transfer(client, server.url)
      #expect(folder.bytes(of: "a") == Self.content)
      for (path, code) in [("/cut", TransportError.Code.truncated), ("/bomb", .tooLarge)] {
        let error = await #expect(throws: TransportError.self) {
          try await store.transfer(client, server.url + path) {
            $0.maxDecompressedByteCount = 1 << 20
          }
        }
        #expect(error?.code == code)
        #expect(folder.bytes(of: "a") == Self.content)
      }
      #expect(FileRequest(FileName("a"), url: "").maxDecompressedByteCount == 1 << 30)
    }
  }

  /// Tests a server of a content, with requests that have its digest or its length.
  private func withCheckedRequests(
    _ sending: Sending, isCut: Bool,
    test: (FileStore, String, (inout FileRequest) -> Void) async throws -> Void
  ) async throws {
    let changes: [(inout FileRequest) -> Void] = [
      { $0.sha256 = SHA256Digest(of: Self.content) }, { $0.byteCount = Self.content.count },
    ]
    try await withServer { request, connection in
      sending.send(Self.content, isCut: isCut, to: connection)
      return false
    } test: { server in
      for change in changes {
        let folder = try TemporaryFolder()
        try await test(FileStore(path: folder.path), server.url, change)
      }
    }
  }

  @Test(
    "a whole content with a digest or a length that it is checked by is taken",
    arguments: Sending.allCases)
  func whole(sending: Sending) async throws {
    try await withCheckedRequests(sending, isCut: false) { store, url, change in
      let outcome = try await store.transfer(client, url, change)
      #expect(outcome.isChanged && outcome.file.byteCount == Self.content.count)
    }
  }

  @Test(
    "a cut content with a digest or a length that it is checked by is not taken",
    arguments: Sending.allCases)
  func cut(sending: Sending) async throws {
    try await withCheckedRequests(sending, isCut: true) { store, url, change in
      let error = await #expect(throws: TransportError.self) {
        try await store.transfer(client, url, change)
      }
      let names = try store.names()
      #expect(error?.code == sending.cutCode && names.isEmpty)
    }
  }

  @Test("a content in chunks, or an empty one, has an end, and one that repeats its length, too")
  func certain() async throws {
    try await withServer { request, connection in
      switch request.path {
      case "/chunks":
        connection.send(200, ["Transfer-Encoding": "chunked"])
        connection.send(chunk: Self.content)
        return connection.send(chunk: [])
      case "/twice":
        return connection.send(200, ["Content-Length": "2", "content-length": "2"], [1, 2])
      default: return connection.respond(200, ["Content-Encoding": "identity"])
      }
    } test: { server in
      let store = try FileStore(path: folder.path)
      for path in ["/chunks", "/twice", "/empty"] {
        #expect(try await store.transfer(client, server.url + path).isChanged, "\(path)")
      }
    }
  }
}
