import Foundation
import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite("Mirrors with contents: files that were cut or grew since", .timeLimit(.minutes(20)))
struct ContentLengthTests {
  let scene: ContentScene

  init() throws {
    scene = try ContentScene()
    scene.server["/list"] = #"[{"id":1,"photo":"/1","thumb":"/t"},{"id":2,"photo":"/2"}]"#
    scene.server["/1"] = "one"
    scene.server["/2"] = "two"
    scene.server["/t"] = "t"
  }

  @Test(
    "a file of another length than was stored is fetched again, though the list did not change",
    arguments: ["", "on", "one more"])
  func otherLength(text: String) async throws {
    try await scene.run()
    scene.folder.create("files/content/1", text.utf8)
    let count = scene.server.requests.count
    let report = try await scene.run()
    #expect(report.transferred.map(\.id.description) == ["1"] && report.skippedCount == 1)
    #expect(report.contents.count == 1)
    #expect(scene.paths(since: count) == ["/list", "/1"])
    #expect(scene.files == ["files/content/1": "one", "files/content/2": "two"])
    let next = try await scene.run()
    #expect(next.skippedCount == 2 && next.transferred.isEmpty)
  }

  @Test("a dry run lists a file of another length, and writes nothing")
  func dryRun() async throws {
    try await scene.run()
    scene.folder.create("files/content/1", "on".utf8)
    let before = try scene.folder.contents()
    let report = try await scene.run(isDryRun: true)
    #expect(report.contents.map(\.path) == ["content/1"])
    #expect(try scene.folder.contents() == before)
  }

  @Test("a file of which nothing is known is there if it is there")
  func unknown() async throws {
    try await scene.run()
    let index = try DatabaseConnection(path: "\(scene.folder.path)/files/.tandem/index.sqlite")
    #expect(try index.rows("SELECT count(*) FROM file") == ["2"])
    try index.execute("DELETE FROM file")
    scene.folder.create("files/content/1", "on".utf8)
    for isDryRun in [true, false] {
      #expect(try await scene.run(isDryRun: isDryRun).skippedCount == 2)
    }
    #expect(scene.files["files/content/1"] == "on")
  }

  @Test(
    "a row keeps no file of a wrong length; a preview that came before the content failed stays")
  func failure() async throws {
    let both = [
      MirroredContent(.preview, field: "thumb"), MirroredContent(field: "photo"),
    ]
    try await scene.run(both)
    scene.folder.create("files/content/1", "on".utf8)
    scene.server["/t"] = "another preview"
    scene.server["/1"] = nil
    _ = try await scene.run(both, policy: .continue)
    #expect(
      try scene.rows("SELECT thumb_file, photo_file FROM place WHERE id = 1")
        == [#""preview/1"|null"#])
    #expect(scene.files["files/preview/1"] == "another preview")
  }
}
