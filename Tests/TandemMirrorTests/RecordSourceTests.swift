import Foundation
import Synchronization
import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestFolder
import TestHTTPServer
import Testing

@Suite("Sources of records", .timeLimit(.minutes(20)))
struct RecordSourceTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// One empty record in JSON, two records in CSV.
  static let ambiguous = "[\n{}\n]\n"

  func records(
    _ source: RecordSource, format: RecordFormat? = nil,
    maxByteCount: Int = RecordSource.defaultMaxByteCount
  ) async throws -> [Record] {
    var options = RecordListOptions()
    options.format = format
    options.maxByteCount = maxByteCount
    options.retry = .never
    return try await source.list(options, client: try SystemHTTPClient()).content().records
  }

  @Test("a file that changes while it is read is an error")
  func changingFile() async throws {
    let path = try folder.write(String(repeating: "x\n", count: 1 << 20), to: "list.csv")
    let isDone = Mutex(false)
    Thread.detachNewThread {
      guard let file = FileHandle(forWritingAtPath: path) else { return }
      _ = try? file.seekToEnd()
      while !isDone.withLock({ $0 }) { try? file.write(contentsOf: Data("y\n".utf8)) }
    }
    defer { isDone.withLock { $0 = true } }
    // The writer may not have begun, or have to wait, while the file is read.
    while true {
      do {
        _ = try await records(.file(path))
      } catch let error as TransportError {
        #expect(error.code == .truncated && error.description.contains("changed while it was read"))
        return
      }
    }
  }

  @Test("an argument is standard input, a URL or a path, as it looks")
  func arguments() {
    #expect(RecordSource("-") == .standardInput)
    for url in ["https://a.example/list", "HTTP://a", "ftp://a.example"] {
      #expect(RecordSource(url) == .url(url))
      #expect(RecordSource(url).description == url)
    }
    for path in ["list.json", "/tmp/list", "", "a:b", "--", "./-"] {
      #expect(RecordSource(path) == .file(path))
      #expect(RecordSource(path).description == path)
    }
    #expect(RecordSource.standardInput.description == "standard input")
    #expect(RecordSource("https://me:secret@a.example/l").description == "https://a.example/l")
  }

  @Test("the format is the one given, or that of the name, or what the text begins with")
  func formats() async throws {
    for name in ["list.json", "list", "list.JSON", "list.txt"] {
      let path = try folder.write(Self.ambiguous, to: name)
      #expect(try await records(.file(path)) == [[:]])
      #expect(try await records(.file(path), format: .csv) == [["[": "{}"], ["[": "]"]])
    }
    let path = try folder.write(Self.ambiguous, to: "list.csv")
    #expect(try await records(.file(path)).count == 2)
    #expect(try await records(.file(path), format: .json) == [[:]])
  }

  @Test("a file may have as many bytes as the limit, and no more")
  func fileLimits() async throws {
    let list = #"[{"id":1}]"#
    let path = try folder.write(list, to: "list.json")
    #expect(try await records(.file(path), maxByteCount: list.utf8.count).count == 1)
    for limit in [list.utf8.count - 1, 1, 0, -1, .min] {
      let error = await #expect(throws: TransportError.self) {
        try await records(.file(path), maxByteCount: limit)
      }
      #expect(error?.code == .tooLarge && error?.url == path)
    }
    let empty = try folder.write("", to: "empty.json")
    await #expect(throws: RecordError.self) { try await records(.file(empty)) }
  }

  @Test("a file that cannot be read is an error that says why")
  func unreadableFiles() async throws {
    for (path, reason) in [("/nonexistent/list.json", "no such file"), ("/", "is a directory")] {
      let error = await #expect(throws: TransportError.self) { try await records(.file(path)) }
      #expect(error?.code == .cannotRead && error?.message.contains(reason) == true)
      #expect(error?.description.hasPrefix("\(path): cannot be read") == true)
    }
  }

  @Test("a file may be a pipe")
  func namedPipe() async throws {
    let path = try folder.write("", to: "x")
    let pipe = path + ".json"
    #expect(mkfifo(pipe, 0o600) == 0)
    let text = "[" + (0..<50_000).map { #"{"id":\#($0)}"# }.joined(separator: ",") + "]"
    let writer = Thread {
      FileHandle(forWritingAtPath: pipe)?.write(Data(text.utf8))
    }
    writer.start()
    #expect(try await records(.file(pipe)).count == 50_000)
  }

  @Test("a URL's format is that of its content type, or of its path without query, or of its text")
  func remoteFormats() async throws {
    try await withServer { request, connection in
      let type = request.path.hasPrefix("/typed") ? "text/csv; charset=utf-8" : "text/plain"
      return connection.respond(200, ["Content-Type": type], Array(Self.ambiguous.utf8))
    } test: { server async throws in
      for path in ["/typed.json", "/list.csv?x=.json", "/list.csv#.json"] {
        #expect(try await records(.url(server.url + path)).count == 2, "\(path)")
        #expect(try await records(.url(server.url + path), format: .json) == [[:]], "\(path)")
      }
      #expect(try await records(.url(server.url + "/list")) == [[:]])
    }
  }

  @Test("validators ask for changes only, and come back with a new list")
  func validators() async throws {
    try await withServer { request, connection in
      let isCurrent = request.fields["If-None-Match"] == "\"2\""
      return connection.respond(
        isCurrent ? 304 : 200, ["ETag": "\"2\""], isCurrent ? [] : Array("id\n1\n".utf8))
    } test: { server async throws in
      let source = RecordSource.url(server.url)
      let client = try SystemHTTPClient()
      var options = RecordListOptions()
      options.validators = RecordListValidators(HTTPValidators(entityTag: "\"1\""))
      let first = try await source.list(options, client: client)
      let (records, validators, _) = try first.content()
      #expect(records == [["id": 1]] && validators.first == HTTPValidators(entityTag: "\"2\""))
      options.validators = validators
      let second = try await source.list(options, client: client)
      guard case .notModified = second else {
        Issue.record("a list")
        return
      }
    }
  }

  @Test(
    "a 304 that nobody asked for, a part, and a failure are errors",
    arguments: [304, 206, 404, 500])
  func badStatus(status: Int) async throws {
    try await withServer { _, connection in
      connection.respond(status, [:], status == 304 ? [] : Array("id\n1\n".utf8))
    } test: { server async throws in
      for validators in [nil, RecordListValidators()] {
        var options = RecordListOptions()
        options.validators = validators
        options.retry = .never
        let error = await #expect(throws: TransportError.self) {
          try await RecordSource.url(server.url).list(options, client: try SystemHTTPClient())
        }
        #expect(error?.code == .badStatus)
      }
    }
  }

  @Test("a longer list than allowed is refused, and progress counts what came")
  func remoteLimits() async throws {
    let list = Array("id\n".utf8) + Array(repeating: UInt8(ascii: "1"), count: 9) + [10]
    try await withServer { _, connection in
      connection.respond(200, ["Content-Type": "text/csv"], list)
    } test: { server async throws in
      let error = await #expect(throws: TransportError.self) {
        try await records(.url(server.url), maxByteCount: list.count - 1)
      }
      #expect(error?.code == .tooLarge)
      var calls: [[Int?]] = []
      _ = try await RecordSource.url(server.url).list(client: try SystemHTTPClient()) {
        calls.append([$0, $1])
      }
      #expect(calls.last == [list.count, list.count])
    }
  }
}
