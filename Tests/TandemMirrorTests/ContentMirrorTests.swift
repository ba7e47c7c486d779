import Foundation
import Synchronization
import TandemDifferences
import TandemDigests
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite("Mirrors with contents", .timeLimit(.minutes(20)))
struct ContentMirrorTests {
  let folder: TemporaryFolder
  let server = MemoryServer()

  init() throws { folder = try TemporaryFolder() }

  private var databasePath: String { "\(folder.path)/list.db" }
  private var directoryPath: String { "\(folder.path)/files" }

  private func mirror(
    _ contents: [MirroredContent] = [MirroredContent(field: "photo")], isDryRun: Bool = false
  ) throws -> DatabaseMirror {
    var mirror = DatabaseMirror(
      table: "place", key: ["id"], contents: contents, directory: directoryPath,
      isDryRun: isDryRun)
    mirror.concurrency = 3
    mirror.retry = .never
    return mirror
  }

  @discardableResult
  private func run(
    _ mirror: DatabaseMirror, _ policy: MirrorErrorPolicy = .stop, isEmptyAllowed: Bool = false
  ) async throws -> DatabaseMirror.Report {
    var (mirror, options) = (mirror, RecordListOptions())
    options.retry = .never
    options.fields["X-Token"] = "secret"
    mirror.contents = mirror.contents.map { $0.withPolicy(policy) }
    mirror.mirrorGuard = MirrorGuard(allowsEmptySource: isEmptyAllowed)
    return try await mirror.run(
      from: .url("http://a.example/list"), intoFileAt: databasePath, list: options, client: server)
  }

  /// The rows, as JSON.
  private func rows() throws -> String {
    let connection = try DatabaseConnection(path: databasePath, access: .readOnly)
    let statement = try connection.prepare("SELECT * FROM place ORDER BY id")
    var lines: [String] = []
    while try statement.step() {
      lines.append(try statement.values().map { "\($0)" }.joined(separator: " "))
    }
    return lines.joined(separator: "\n")
  }

  /// All complete files, with their contents as text.
  private func files() -> [String: String] {
    var files: [String: String] = [:]
    for name in folder.files(in: "files") where !name.contains(".tandem") {
      files[name] = String(decoding: folder.bytes(of: "files/\(name)"), as: UTF8.self)
    }
    return files
  }

  @Test("an item whose address is empty has no content, and is up to date without")
  func emptyAddress() async throws {
    server["/list"] = #"[{"id":1,"photo":""},{"id":2,"photo":null}]"#
    #expect(try await run(mirror()).transferred.count == 2)
    let second = try await run(mirror())
    #expect(second.transferred.isEmpty && second.skippedCount == 2)
    #expect(files().isEmpty)
  }

  @Test("rows point to files; what is gone, is gone in both")
  func wholeFlow() async throws {
    server["/list"] = #"[{"id":1,"photo":"/1.jpg"},{"id":2,"photo":"http://b.example/2"},{"id":3}]"#
    server["/1.jpg"] = "one"
    server["/2"] = "two"
    let mirror = try mirror()
    let report = try await run(mirror)
    #expect(report.isComplete)
    #expect(
      try rows()
        == "1 \"/1.jpg\" \"content/1.jpg\"\n2 \"http://b.example/2\" \"content/2\"\n3 null null")
    #expect(files() == ["content/1.jpg": "one", "content/2": "two"])
    #expect(report.outcome?.difference.inserted.count == 3)
    // What one server is told, another does not learn.
    let tokens = server.requests.map { "\($0.url) \($0.fields["X-Token"] ?? "-")" }.sorted()
    #expect(
      tokens == [
        "http://a.example/1.jpg secret", "http://a.example/list secret", "http://b.example/2 -",
      ])
    server["/list"] = #"[{"id":2,"photo":"/2.png"},{"id":3}]"#
    server["/2.png"] = "new"
    try await run(mirror)
    #expect(try rows() == "2 \"/2.png\" \"content/2.png\"\n3 null null")
    #expect(files() == ["content/2.png": "new"])
  }

  @Test("nothing is asked for but a list that did not change; a missing file comes back")
  func unchanged() async throws {
    server["/list"] = #"[{"id":1,"photo":"/1"},{"id":2,"photo":"/2"}]"#
    server["/1"] = "one"
    server["/2"] = "two"
    let mirror = try mirror()
    try await run(mirror)
    let count = server.requests.count
    let report = try await run(mirror)
    #expect(report.isComplete)
    #expect(report.skippedCount == 2)
    #expect(server.requests.count == count + 1)
    #expect(report.outcome == nil)
    try FileManager.default.removeItem(atPath: "\(directoryPath)/content/2")
    try await run(mirror)
    #expect(files() == ["content/1": "one", "content/2": "two"])
    #expect(server.requests.count == count + 3)
  }

  @Test("an item that changed asks for its content only if that changed")
  func conditionalContent() async throws {
    server["/list"] = #"[{"id":1,"photo":"/1","n":1}]"#
    server["/1"] = "one"
    let mirror = try mirror()
    try await run(mirror)
    server["/list"] = #"[{"id":1,"photo":"/1","n":2}]"#
    let report = try await run(mirror)
    #expect(report.transferred.first?.byteCount == 0)
    #expect(server.requests.last?.fields["If-None-Match"] != nil)
    #expect(try rows() == "1 \"/1\" 2 \"content/1\"")
    server["/list"] = #"[{"id":1,"photo":"/1","n":3}]"#
    server["/1"] = "ONE"
    try await run(mirror)
    #expect(files() == ["content/1": "ONE"])
  }

  @Test("a run that ends early leaves the table as it was, and the next one uses what arrived")
  func earlyEnd() async throws {
    server["/list"] = #"[{"id":1,"photo":"/1"}]"#
    server["/1"] = "one"
    let mirror = try mirror()
    try await run(mirror)
    server["/list"] = #"[{"id":2,"photo":"/2"},{"id":3,"photo":"/3"}]"#
    server["/2"] = "two"
    await #expect(throws: DatabaseMirror.RunError.self) { try await run(mirror) }
    #expect(try rows() == "1 \"/1\" \"content/1\"")
    #expect(files()["content/1"] == "one")
    server["/3"] = "three"
    let hadTwo = files()["content/2"] == "two"
    let report = try await run(mirror)
    #expect(files() == ["content/2": "two", "content/3": "three"])
    #expect(try rows() == "2 \"/2\" \"content/2\"\n3 \"/3\" \"content/3\"")
    if hadTwo { #expect(report.byteCount == 5) }
  }

  @Test("if it goes on after errors, what failed keeps its row or has none, and nothing is deleted")
  func goingOn() async throws {
    server["/list"] = #"[{"id":1,"photo":"/1"},{"id":2,"photo":"/2"}]"#
    server["/1"] = "one"
    server["/2"] = "two"
    let mirror = try mirror()
    try await run(mirror)
    server["/list"] = #"[{"id":1,"photo":"/x"},{"id":3,"photo":"/3"},{"id":4,"photo":"/y"}]"#
    server["/3"] = "three"
    let report = try await run(mirror, .skipItem)
    #expect(report.failures.compactMap(\.id).sorted().map(\.description) == ["1", "4"])
    #expect(
      try rows()
        == "1 \"/1\" \"content/1\"\n2 \"/2\" \"content/2\"\n3 \"/3\" \"content/3\"")
    #expect(files() == ["content/1": "one", "content/2": "two", "content/3": "three"])
    // The list did not change, and yet is read again, for what failed.
    server["/x"] = "eks"
    server["/y"] = "why"
    try await run(mirror)
    #expect(
      try rows() == "1 \"/x\" \"content/1\"\n3 \"/3\" \"content/3\"\n4 \"/y\" \"content/4\"")
    #expect(files() == ["content/1": "eks", "content/3": "three", "content/4": "why"])
  }

  @Test("a preview that is not required may come later")
  func previews() async throws {
    let contents = [
      MirroredContent(.preview, field: "thumb", isRequired: false),
      MirroredContent(field: "photo", digestField: "sha"),
    ]
    let digest = SHA256Digest(of: Array("one".utf8))
    server["/list"] = #"[{"id":1,"thumb":"/t1","photo":"/1","sha":"\#(digest)"}]"#
    server["/1"] = "one"
    let mirror = try mirror(contents)
    #expect(try await run(mirror, .continue).failures.count == 1)
    #expect(try rows() == "1 \"/t1\" \"/1\" \"\(digest)\" null \"content/1\"")
    server["/t1"] = "t"
    try await run(mirror, .continue)
    #expect(files() == ["content/1": "one", "preview/1": "t"])
    #expect(try rows() == "1 \"/t1\" \"/1\" \"\(digest)\" \"preview/1\" \"content/1\"")
    server["/list"] = #"[{"id":1,"thumb":"/t1","photo":"/1","sha":"0"}]"#
    #expect(try await run(mirror, .continue).failures.count == 1)
    #expect(files() == ["content/1": "one", "preview/1": "t"])
  }

  @Test(
    "keys that differ in case, type or normalisation, or that are paths, have files of their own")
  func keys() async throws {
    let keys = [#""a""#, #""A""#, "1", #""1""#, #""é""#, #""e\u0301""#, #""../../x""#, #""/etc""#]
    server["/list"] =
      "[" + keys.enumerated().map { #"{"id":\#($1),"photo":"/\#($0)"}"# }.joined(separator: ",")
      + "]"
    for position in keys.indices { server["/\(position)"] = "\(position)" }
    try await run(mirror())
    #expect(files().count == keys.count)
    #expect(Set(files().values).count == keys.count)
    #expect(files().keys.allSatisfy { $0.hasPrefix("content/") && !$0.contains("..") })
    #expect(folder.files().allSatisfy { $0.hasPrefix("files/") || $0.hasPrefix("list.db") })
  }

  @Test("files that nobody knows are removed; a list without a content is refused if it is empty")
  func orphans() async throws {
    server["/list"] = #"[{"id":1,"photo":"/1"}]"#
    server["/1"] = "one"
    try await run(mirror())
    folder.create("files/content/9.jpg", "orphan".utf8)
    folder.create("files/content/Notes", "mine".utf8)
    try await run(mirror())
    #expect(files() == ["content/1": "one", "content/Notes": "mine"])
    server["/list"] = "[]"
    await #expect(throws: DatabaseMirror.RunError.self) { try await run(mirror()) }
    #expect(files()["content/1"] == "one")
    try await run(mirror(), isEmptyAllowed: true)
    #expect(try rows() == "")
    #expect(files() == ["content/Notes": "mine"])
  }

  @Test("a dry run says what a run would do, and that run does it; nothing is touched")
  func dryRun() async throws {
    server["/list"] = #"[{"id":1,"photo":"/1"},{"id":2,"photo":"http://u:p@b.example/2"},{"id":3}]"#
    for path in ["/1", "/2", "/4.png"] { server[path] = path }
    let first = try await run(mirror(isDryRun: true))
    #expect(first.contents.map(\.path) == ["content/1", "content/2"])
    #expect(first.contents.last?.url == "http://b.example/2")
    #expect(first.outcome?.difference.inserted.count == 3)
    #expect(first.removedPaths == [])
    #expect(folder.files() == [])
    #expect(server.requests.map(\.url) == ["http://a.example/list"])

    try await run(mirror())
    folder.create("files/content/9.jpg", "orphan".utf8)
    server["/list"] = #"[{"id":1,"photo":"/1"},{"id":3,"photo":"/1"},{"id":4,"photo":"/4.png"}]"#
    let before = try folder.contents()
    let requestCount = server.requests.count
    let second = try await run(mirror(isDryRun: true))
    #expect(server.requests.count == requestCount + 1)
    #expect(try folder.contents() == before)
    #expect(second.skippedCount == 1)
    #expect(second.contents.map(\.path) == ["content/3", "content/4.png"])
    #expect(second.removedPaths == ["content/2", "content/9.jpg"])
    let real = try await run(mirror())
    #expect(real.outcome?.difference == second.outcome?.difference)
    #expect(Set(real.contents) == Set(second.contents))
    #expect(real.removedPaths == second.removedPaths)
    #expect(files().keys.sorted() == ["content/1", "content/3", "content/4.png"])

    let third = try await run(mirror(isDryRun: true))
    #expect(third.skippedCount == 3)
    #expect(third.outcome == nil)
  }

  @Test(
    "a content of another length or digest than the list says is a failure, and so is no number")
  func declaredContents() async throws {
    let content = MirroredContent(field: "photo", byteCountField: "size")
    server["/1"] = "one"
    for (size, isGood) in [
      ("3", true), ("null", true), ("4", false), ("2", false), ("\"3\"", false),
    ] {
      server["/list"] = #"[{"id":\#(size.utf8.first ?? 0),"photo":"/1","size":\#(size)}]"#
      let report = try await run(mirror([content]), .skipItem)
      #expect(report.failures.isEmpty == isGood, "\(size)")
      let error = report.failures.first?.error
      let isOfServer = (error as? TransportError)?.code == .contentMismatch
      let isOfList = (error as? MirrorError)?.code == .unfitSource
      #expect(isOfServer == (["4", "2"].contains(size)) && isOfList == (size == "\"3\""))
    }
  }

  @Test("lists that cannot be mirrored are errors before anything is fetched")
  func unfitLists() async throws {
    let lists = [
      #"[{"id":1,"photo":"/1"},{"id":1,"photo":"/2"}]"#, #"[{"photo":"/1"}]"#,
      #"[{"id":1,"photo":"/1","photo_file":"x"}]"#, #"[{"id":1"#,
    ]
    for list in lists {
      server["/list"] = list
      await #expect(throws: DatabaseMirror.RunError.self, "\(list)") { try await run(mirror()) }
    }
    #expect(server.requests.allSatisfy { $0.url.hasSuffix("/list") })
    #expect(!FileManager.default.fileExists(atPath: databasePath))
  }

  @Test("a column may have another type than in the table that is the source")
  func sourceTypes() async throws {
    let scene = try ContentScene()
    let path = "\(scene.folder.path)/source.db"
    let source = try DatabaseConnection(path: path)
    let columns = "id INTEGER PRIMARY KEY, photo TEXT, created DATETIME"
    try source.execute("CREATE TABLE place (\(columns), n INTEGER)")
    try source.execute("INSERT INTO place VALUES (1, NULL, '2026-01-01', NULL)")
    try scene.execute("CREATE TABLE place (\(columns), n TEXT)")
    let mirror = DatabaseMirror(
      table: "place", key: ["id"], contents: ContentScene.photo,
      directory: "\(scene.folder.path)/files")
    let list = "\(scene.folder.path)/list.db"
    try await mirror.run(
      from: .table("place", ofFileAt: path), intoFileAt: list, client: scene.server)
    #expect(
      try DatabaseConnection(path: list).rows("SELECT id, created FROM place")
        == [#"1|"2026-01-01""#])
  }
}

/// Answers requests from memory, by path, with an entity tag that is a digest of the content.
final class MemoryServer: HTTPClient {
  private struct State {
    var texts: [String: String] = [:]
    var targets: [String: String] = [:]
    var requests: [HTTPRequest] = []
    var onRequest: (@Sendable (_ path: String) -> Void)?
  }

  private let state = Mutex(State())

  subscript(path: String) -> String? {
    get { state.withLock { $0.texts[path] } }
    set { state.withLock { $0.texts[path] = newValue } }
  }

  /// Called before a request is answered.
  var onRequest: (@Sendable (_ path: String) -> Void)? {
    get { state.withLock { $0.onRequest } }
    set { state.withLock { $0.onRequest = newValue } }
  }

  /// Lets the path be answered by another address.
  func redirect(_ path: String, to url: String) { state.withLock { $0.targets[path] = url } }

  var requests: [HTTPRequest] { state.withLock { $0.requests } }

  func stream(_ request: HTTPRequest) async throws -> HTTPResponseStream {
    state.withLock { $0.requests.append(request) }
    onRequest?(Self.path(of: request.url))
    let url = state.withLock { $0.targets[Self.path(of: request.url)] } ?? request.url
    guard let text = self[Self.path(of: url)] else {
      return HTTPResponseStream(
        head: HTTPResponseHead(status: 404, url: url), body: HTTPBody([]))
    }
    let bytes = Array(text.utf8)
    let tag = "\"\(SHA256Digest(of: bytes))\""
    let isCurrent = request.fields["If-None-Match"] == tag
    let head = HTTPResponseHead(
      status: isCurrent ? 304 : 200, fields: ["ETag": tag, "Content-Type": "application/json"],
      url: url)
    return HTTPResponseStream(head: head, body: HTTPBody(isCurrent ? [] : bytes))
  }

  private static func path(of url: String) -> String {
    "/" + url.split(separator: "/").dropFirst(2).joined(separator: "/")
  }
}
