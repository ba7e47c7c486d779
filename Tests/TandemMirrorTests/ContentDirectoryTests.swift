import Foundation
import TandemDifferences
import TandemDigests
import TandemHTTP
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemMirror

@Suite("Mirrors with contents: whose files, and of which version", .timeLimit(.minutes(20)))
struct ContentDirectoryTests {
  let folder: TemporaryFolder
  let server = MemoryServer()

  init() throws { folder = try TemporaryFolder() }

  /// Mirrors with one transfer at a time.
  @discardableResult
  private func run(
    _ contents: [MirroredContent] = [MirroredContent(field: "photo")], database: String = "list.db",
    table: String = "place", key: String = "id", into directory: String = "files",
    _ policy: MirrorErrorPolicy = .stop, isDryRun: Bool = false
  ) async throws -> DatabaseMirror.Report {
    var list = RecordListOptions()
    list.retry = .never
    var mirror = DatabaseMirror(
      table: table, key: [key], contents: contents.map { $0.withPolicy(policy) },
      directory: "\(folder.path)/\(directory)", isDryRun: isDryRun)
    mirror.concurrency = 1
    mirror.retry = .never
    return try await mirror.run(
      from: .url("http://a.example/list"), intoFileAt: "\(folder.path)/\(database)", list: list,
      client: server)
  }

  /// Expects a run to end before anything is transferred or removed, with such words.
  private func expectRefusal(
    _ words: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ run: () async throws -> Void
  ) async throws {
    let before = files()
    var description = "no error"
    do {
      try await run()
    } catch let error as DatabaseMirror.RunError {
      description = "\(error.failure.error)"
    } catch {
      description = "\(error)"
    }
    #expect(description.contains(words), "\(description)", sourceLocation: sourceLocation)
    #expect(files() == before, sourceLocation: sourceLocation)
  }

  /// All files in the directories, with their contents as text.
  private func files() -> [String: String] {
    let names = folder.files().filter { $0.contains("/") && !$0.contains(".tandem") }
    return Dictionary(
      uniqueKeysWithValues: names.map {
        ($0, String(decoding: folder.bytes(of: $0), as: UTF8.self))
      })
  }

  /// The first item in one version, with its content, and a second item.
  private func serve(_ first: String, second: String = "/2", hasDigest: Bool) {
    let digest = hasDigest ? "\"\(SHA256Digest(of: Array(first.utf8)))\"" : "null"
    server["/list"] = """
      [{"id":1,"n":"\(first)","photo":"/1","sha":\(digest)},\
      {"id":2,"photo":"\(second)","sha":null}]
      """
    server["/1"] = first
    server["/2"] = "two"
  }

  @Test(
    "a list that goes back after a run that ended early gets its files back",
    arguments: [true, false])
  func listThatGoesBack(hasDigest: Bool) async throws {
    let contents = [MirroredContent(field: "photo", digestField: "sha")]
    serve("AAAA1", hasDigest: hasDigest)
    try await run(contents)
    serve("BBBB1", second: "/gone", hasDigest: hasDigest)
    await #expect(throws: DatabaseMirror.RunError.self) { try await run(contents) }
    #expect(files() == ["files/content/1": "BBBB1", "files/content/2": "two"])
    serve("AAAA1", hasDigest: hasDigest)
    let dryRun = try await run(contents, isDryRun: true)
    #expect(dryRun.contents.contains { $0.path == "content/1" })
    #expect(try await run(contents).isComplete)
    #expect(files() == ["files/content/1": "AAAA1", "files/content/2": "two"])
    // All is known to be right now: nothing but the list is asked for, on condition.
    let count = server.requests.count
    #expect(try await run(contents).skippedCount == 2)
    #expect(server.requests.count == count + 1)
    #expect(server.requests.last?.fields["If-None-Match"] != nil)
  }

  @Test("an item that gets one of two new files keeps its row, and gets the file of that row back")
  func halfAnItem() async throws {
    let contents = [MirroredContent(.preview, field: "thumb"), MirroredContent(field: "photo")]
    func serve(_ thumb: String, photo: String) {
      server["/list"] = #"[{"id":1,"n":"\#(thumb)","thumb":"/t","photo":"\#(photo)"}]"#
      server["/t"] = thumb
    }
    server["/1"] = "one"
    serve("AAAA1", photo: "/1")
    try await run(contents)
    serve("BBBB1", photo: "/gone")
    #expect(try await run(contents, .skipItem).failures.count == 1)
    #expect(files() == ["files/preview/1": "BBBB1", "files/content/1": "one"])
    serve("AAAA1", photo: "/1")
    try await run(contents, .skipItem)
    #expect(files() == ["files/preview/1": "AAAA1", "files/content/1": "one"])
    #expect(try await run(contents, .skipItem).skippedCount == 1)
  }

  @Test("a directory is one mirror's: others are refused, in a dry run too, and touch nothing")
  func owner() async throws {
    server["/list"] = #"[{"id":1,"other":2,"photo":"/1","picture":"/1"}]"#
    server["/1"] = "one"
    try await run()
    server["/list"] = #"[{"id":7,"other":3,"photo":"/1","picture":"/1"}]"#
    let picture = [MirroredContent(field: "picture")]
    for isDryRun in [true, false] {
      try await expectRefusal("another") { try await run(table: "o", isDryRun: isDryRun) }
      try await expectRefusal("another") { try await run(database: "o.db", isDryRun: isDryRun) }
      try await expectRefusal("another") { try await run(key: "other", isDryRun: isDryRun) }
      try await expectRefusal("`content` photo") { try await run(picture, isDryRun: isDryRun) }
    }
    // Files that the mirror left behind may be out of date when it comes back to them.
    server["/list"] = #"[{"id":1,"other":2,"photo":"/1","picture":"/1"}]"#
    server["/1"] = "ONE"
    try await run(into: "elsewhere")
    #expect(files() == ["files/content/1": "one", "elsewhere/content/1": "ONE"])
    try await expectRefusal("another") { try await run() }
    try FileManager.default.removeItem(atPath: "\(folder.path)/list.db")
    try await expectRefusal("another") { try await run(into: "elsewhere") }
  }

  @Test("a mirror whose first run ended early owns its directory all the same")
  func firstRun() async throws {
    server["/list"] = #"[{"id":1,"photo":"/1"},{"id":2,"photo":"/2"}]"#
    server["/1"] = "one"
    await #expect(throws: DatabaseMirror.RunError.self) { try await run() }
    #expect(files() == ["files/content/1": "one"])
    try await expectRefusal("another") { try await run(database: "o.db") }
    server["/2"] = "two"
    #expect(try await run().isComplete)
    #expect(files() == ["files/content/1": "one", "files/content/2": "two"])
  }

  @Test("a directory with files of others is refused, whether or not the list can be had")
  func strangers() async throws {
    try FileManager.default.createDirectory(
      atPath: "\(folder.path)/files/content", withIntermediateDirectories: true)
    folder.create("files/content/notes.txt", "mine".utf8)
    folder.create("files/content/img_2001.jpg", "mine".utf8)
    for list in [nil, #"[{"id":1}]"#] {
      server["/list"] = list
      try await expectRefusal("choose an empty directory") { try await run() }
      try await expectRefusal("choose an empty directory") { try await run(isDryRun: true) }
    }
    #expect(files().count == 2)
  }

  @Test(
    "a directory that is not empty is refused, whatever is in it, and nothing is put there",
    arguments: ["mine.txt", "other/mine.txt", "content/mine.txt", "preview/1", "content", ""])
  func notEmpty(stranger: String) async throws {
    let path = "files/\(stranger)"
    let manager = FileManager.default
    let parent = URL(fileURLWithPath: "\(folder.path)/\(path)").deletingLastPathComponent()
    try manager.createDirectory(at: parent, withIntermediateDirectories: true)
    if stranger.isEmpty {
      // A directory in a directory, as at the root of a system.
      try manager.createDirectory(
        atPath: "\(folder.path)/files/usr/bin", withIntermediateDirectories: true)
    } else {
      folder.create(path, "mine".utf8)
    }
    server["/list"] = #"[{"id":1,"photo":"/1"}]"#
    server["/1"] = "one"
    let before = try manager.subpathsOfDirectory(atPath: folder.path).sorted()
    for isDryRun in [true, false] {
      try await expectRefusal("choose an empty directory") { try await run(isDryRun: isDryRun) }
    }
    #expect(try manager.subpathsOfDirectory(atPath: folder.path).sorted() == before)
  }

  @Test(
    "hidden files may be there, and stay; and so may what a file system keeps for its repair",
    arguments: ["files/.hidden", "files/album/.hidden", "files/lost+found/#1"])
  func hiddenFiles(path: String) async throws {
    let parent = URL(fileURLWithPath: "\(folder.path)/\(path)").deletingLastPathComponent()
    try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
    folder.create(path, "mine".utf8)
    server["/list"] = #"[{"id":1,"photo":"/1"}]"#
    server["/1"] = "one"
    #expect(try await run().isComplete)
    #expect(files() == [path: "mine", "files/content/1": "one"])
  }

  @Test("the whole directory is one mirror's: nobody else's files go beside its own, or below")
  func neighbours() async throws {
    server["/list"] = #"[{"id":1,"photo":"/1","thumb":"/1"}]"#
    server["/1"] = "one"
    try await run()
    let preview = [MirroredContent(.preview, field: "thumb")]
    let paths = folder.files().filter { !$0.hasPrefix("list.db") }
    for isDryRun in [true, false] {
      try await expectRefusal("another") {
        try await run(preview, database: "o.db", isDryRun: isDryRun)
      }
      for inner in ["files/content", "files/new", "files/content/new", "files/../files/new/"] {
        try await expectRefusal("inside the directory of another mirror") {
          try await run(database: "o.db", into: inner, isDryRun: isDryRun)
        }
      }
    }
    try await expectRefusal("choose an empty directory") {
      try await run(database: "o.db", into: ".")
    }
    #expect(folder.files().filter { !$0.hasPrefix("list.db") } == paths)
    // Its own mirror may have a preview there, too.
    let both = preview + [MirroredContent(field: "photo")]
    #expect(try await run(both).isComplete)
    #expect(files() == ["files/content/1": "one", "files/preview/1": "one"])
  }

  @Test("what a stranger put where the previews are to be is not taken for one of them")
  func strangerInside() async throws {
    server["/list"] = #"[{"id":1,"photo":"/1","thumb":"/1"}]"#
    server["/1"] = "one"
    try await run()
    try FileManager.default.createDirectory(
      atPath: "\(folder.path)/files/preview", withIntermediateDirectories: true)
    folder.create("files/preview/7", "mine".utf8)
    let both = [MirroredContent(.preview, field: "thumb"), MirroredContent(field: "photo")]
    try await expectRefusal("another") { try await run(both) }
  }

  @Test("a directory without any file is anybody's; the mirror that had it keeps nothing there")
  func claimedAnew() async throws {
    server["/list"] = #"[{"id":1,"photo":null}]"#
    try await run()
    server["/list"] = #"[{"id":1,"photo":"/1"}]"#
    server["/1"] = "one"
    #expect(try await run(database: "o.db").isComplete)
    try await expectRefusal("another") { try await run() }
    #expect(files() == ["files/content/1": "one"])
  }

  @Test("one process at a time has a directory, whatever it has there")
  func locked() async throws {
    server["/list"] = #"[{"id":1,"photo":"/1","thumb":"/1"}]"#
    server["/1"] = "one"
    let other = try MirrorDirectory(
      path: "\(folder.path)/files", tolerated: [], isReadOnly: false)
    try await expectRefusal("another run is using this directory") { try await run() }
    // To look at it is always possible.
    #expect(try await run(isDryRun: true).contents.count == 1)
    #expect(other.index.owner == nil)
  }

  @Test("a mirror has its directory only while it runs")
  func unlocked() async throws {
    server["/list"] = #"[{"id":1,"photo":"/1"}]"#
    server["/1"] = "one"
    for _ in 1...2 {
      #expect(try await run().isComplete)
      _ = try MirrorDirectory(
        path: "\(folder.path)/files", tolerated: [], isReadOnly: false)
    }
  }

  @Test("nothing is removed before the list has been read and may remove as much")
  func removalComesLast() async throws {
    server["/list"] = #"[{"id":1,"photo":"/1"}]"#
    server["/1"] = "one"
    try await run()
    folder.create("files/content/9.jpg", "orphan".utf8)
    server["/list"] = nil
    try await expectRefusal("404") { try await run() }
    server["/list"] = "[]"
    try await expectRefusal("empty") { try await run() }
    server["/list"] = #"[{"id":1,"photo":"/1"}]"#
    try await run()
    #expect(files() == ["files/content/1": "one"])
  }
}
