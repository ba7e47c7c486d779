import Foundation
import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemMirror

/// Bytes and names that were not synchronized may be missing after a failure of the machine. So the order of the
/// system calls decides what the next run can notice.
@Suite(
  "Mirrors with contents: what a failure of the machine leaves",
  .enabled(if: TemporaryFolder.recordsSystemCalls), .timeLimit(.minutes(20)))
struct ContentDurabilityTests {
  let scene: ContentScene

  init() throws { scene = try ContentScene() }

  private static let index = "files/.tandem/index.sqlite-wal"
  private static let table = "list.db-wal"
  private static let content = "files/content"

  /// Follows the calls of a run, and checks what each of them relies on.
  private struct Machine {
    /// The files that are there before the run.
    let oldNames: Set<String>
    private(set) var unsynchronizedFiles: Set<String> = []
    private(set) var unsynchronizedNames: [String: Set<String>] = [:]
    private(set) var syncedDirectories: Set<String> = []
    private(set) var renameCount = 0
    private(set) var removalCount = 0
    /// True once the rows are on disk that point to the new files.
    private(set) var hasCommitted = false
    private(set) var indexWriteCountAfterCommit = 0

    mutating func take(_ call: String) {
      let words = call.split(separator: " ").map(String.init)
      switch words[0] {
      case "write": write(words[1])
      case "sync":
        unsynchronizedFiles.remove(words[1])
        unsynchronizedNames[words[1]] = nil
        syncedDirectories.insert(words[1])
        if words[1] == table, renameCount > 0 { hasCommitted = true }
      case "rename": rename(words[1], to: words[2])
      case "remove" where words[1].hasPrefix(content):
        removalCount += 1
        #expect(hasCommitted && !unsynchronizedFiles.contains(table), "removed too early: \(call)")
      default: break
      }
    }

    private mutating func write(_ path: String) {
      unsynchronizedFiles.insert(path)
      if path == table, renameCount > 0, !hasCommitted {
        #expect(
          unsynchronizedNames[content] == nil, "a row may point to a file whose name is not on disk"
        )
        #expect(!unsynchronizedFiles.contains(index), "rows are newer than the index of files")
      }
      if path == index, hasCommitted {
        indexWriteCountAfterCommit += 1
        #expect(
          !unsynchronizedFiles.contains(table), "files are settled before the rows are on disk")
      }
    }

    private mutating func rename(_ path: String, to name: String) {
      renameCount += 1
      #expect(!hasCommitted, "\(name) got its name after the commit")
      #expect(!unsynchronizedFiles.contains(path), "\(name) may be empty")
      // The index has no facts any more about a file that is replaced.
      if oldNames.contains(name) {
        #expect(!unsynchronizedFiles.contains(index), "\(name) may meet the facts of the old file")
      }
      unsynchronizedNames[content, default: []].insert(name)
    }
  }

  private func run() async throws -> (calls: [String], machine: Machine) {
    let names = Set(scene.files.keys)
    let calls = try await scene.folder.systemCalls { try await scene.run(limit: .percentage(100)) }
    return (calls, calls.reduce(into: Machine(oldNames: names)) { $0.take($1) })
  }

  @Test("each file is on disk before a row points to it, and marked while it may be of another row")
  func order() async throws {
    scene.server["/list"] = #"[{"id":1,"n":1,"photo":"/1"},{"id":2,"photo":"/2"}]"#
    for id in 1...3 { scene.server["/\(id)"] = "content \(id)" }
    let first = try await run().machine
    #expect(first.renameCount == 2)
    // The directories themselves, and the index in them.
    #expect(first.syncedDirectories.isSuperset(of: [".", "files", "files/.tandem"]))

    scene.server["/list"] = #"[{"id":1,"n":2,"photo":"/1"},{"id":3,"photo":"/3"}]"#
    scene.server["/1"] = "CONTENT 1"
    let (calls, second) = try await run()
    #expect(second.renameCount == 2 && second.removalCount == 1)
    #expect(second.hasCommitted && second.indexWriteCountAfterCommit > 0)
    #expect(second.unsynchronizedFiles.isDisjoint(with: [Self.index, Self.table]))
    #expect(second.unsynchronizedNames[Self.content] == nil)
    // Before the first file is replaced, its mark is on disk.
    let replacement = try #require(calls.firstIndex { $0.hasPrefix("rename") })
    #expect(calls[..<replacement].contains("sync \(Self.index)"))
    #expect(scene.files == ["files/content/1": "CONTENT 1", "files/content/3": "content 3"])
  }

  @Test("more files are synchronized at the same time than there are processors")
  func simultaneousFiles() async throws {
    let count = min(ProcessInfo.processInfo.activeProcessorCount + 1, DiskThreads.maxCount)
    let records = (0..<count).map { #"{"id":\#($0),"photo":"/\#($0)"}"# }
    scene.server["/list"] = "[\(records.joined(separator: ","))]"
    for id in 0..<count { scene.server["/\(id)"] = "content \(id)" }
    let calls = try await scene.folder.systemCalls(holdingSyncsUntil: count) {
      try await scene.run(limit: .percentage(100), concurrency: count)
    }
    #expect(calls.count { $0.hasPrefix("rename") } == count)
    #expect(scene.files.count == count)
  }

  @Test("an index that is created is on disk before the first file has its name")
  func firstIndex() async throws {
    scene.server["/list"] = #"[{"id":1,"photo":"/1"}]"#
    scene.server["/1"] = "one"
    let calls = try await run().calls
    let rename = try #require(calls.firstIndex { $0.hasPrefix("rename") })
    let before = calls[..<rename]
    for call in ["sync \(Self.index)", "sync files/.tandem", "sync files", "sync ."] {
      #expect(before.contains(call), "\(call) is missing before the first file")
    }
  }
}

@Suite("Mirrors with contents: a run that ends between its files and its rows")
struct ContentCommitTests {
  let scene: ContentScene

  init() throws { scene = try ContentScene() }

  private func serve(_ version: String) {
    scene.server["/list"] = #"[{"id":1,"n":"\#(version)","photo":"/1"}]"#
    scene.server["/1"] = version
  }

  /// A kill between the two leaves the same: new files, and the rows from before.
  @Test("a file whose row was not committed is marked, and goes back with the list")
  func failedCommit() async throws {
    serve("AAAA1")
    try await scene.run()
    try scene.execute(
      "CREATE TRIGGER stop BEFORE UPDATE ON place BEGIN SELECT RAISE(ABORT, 'stopped'); END")
    serve("BBBB1")
    await #expect(throws: DatabaseMirror.RunError.self) { try await scene.run() }
    #expect(scene.files == ["files/content/1": "BBBB1"])
    #expect(try scene.rows("SELECT n FROM place") == [#""AAAA1""#])
    // The row is right, and the file has the length of the right one.
    serve("AAAA1")
    #expect(try await scene.run().isComplete)
    #expect(scene.files == ["files/content/1": "AAAA1"])
  }

  @Test(
    "what changes while the server is asked for the list is found, though the list is unchanged",
    arguments: ["file", "row", "marked"])
  func changedWhileAsking(change: String) async throws {
    serve("AAAA1")
    try await scene.run()
    let scene = scene
    scene.server.onRequest = { path in
      guard path == "/list" else { return }
      scene.server.onRequest = nil
      switch change {
      case "file":
        try? FileManager.default.removeItem(atPath: "\(scene.folder.path)/files/content/1")
      case "row": try? scene.execute("UPDATE place SET n = 'mine'")
      default: try? scene.execute("UPDATE place SET photo_file = NULL")
      }
    }
    let report = try await scene.run()
    #expect(report.isComplete && report.outcome != nil)
    #expect(scene.files == ["files/content/1": "AAAA1"])
    #expect(try scene.rows("SELECT n, photo_file FROM place") == [#""AAAA1"|"content/1""#])
  }
}
