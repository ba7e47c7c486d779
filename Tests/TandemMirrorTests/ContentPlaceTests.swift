import Foundation
import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite(
  "Mirrors with contents: where the database is, and what failed runs leave",
  .timeLimit(.minutes(20)))
struct ContentPlaceTests {
  let scene: ContentScene

  init() throws {
    scene = try ContentScene()
    scene.server["/list"] = #"[{"id":1,"photo":"/1"}]"#
    scene.server["/1"] = "one"
  }

  @Test("what a run that failed leaves is not in the way of the next, with other options")
  func corrected() async throws {
    let contents = [MirroredContent(.preview, field: "thmub"), MirroredContent(field: "photo")]
    let error = try await scene.failure { try await scene.run(contents) }
    #expect("\(error)".contains("no record of the list has the field thmub"))
    #expect(FileManager.default.fileExists(atPath: "\(scene.folder.path)/files/preview"))
    #expect(try await scene.run().isComplete)
    #expect(scene.files == ["files/content/1": "one"])
  }

  @Test(
    "the database may be in the directory, new or old, by any name, and stays",
    arguments: [".", "w1", "w1/../w1"], ["new", "old", "linked"])
  func databaseInside(directory: String, age: String) async throws {
    let path = "\(scene.folder.path)/\(directory)"
    let manager = FileManager.default
    try manager.createDirectory(
      atPath: "\(scene.folder.path)/w1", withIntermediateDirectories: true)
    // A connection that is open keeps the files beside the database.
    let connection = age == "new" ? nil : try DatabaseConnection(path: "\(path)/old.db")
    try connection?.execute("CREATE TABLE other (a)")
    if age == "linked" {
      try manager.createSymbolicLink(
        atPath: "\(path)/linked.db", withDestinationPath: "\(path)/old.db")
    }
    let database = "\(directory)/\(age).db"
    for isDryRun in [true, false, false] {
      let report = try await scene.run(
        database: database, into: directory, isDryRun: isDryRun)
      #expect(report.run.interruption == nil && report.failures.isEmpty)
    }
    #expect(
      String(decoding: scene.folder.bytes(of: "\(directory)/content/1"), as: UTF8.self) == "one")
    let stored = try connection ?? DatabaseConnection(path: "\(path)/new.db")
    #expect(try stored.rows("SELECT photo_file FROM place") == [#""content/1""#])
  }

  @Test("the database may not be among the files, where it would be removed")
  func databaseAmongFiles() async throws {
    let error = try await scene.failure {
      try await scene.run(database: "files/content/list.db")
    }
    #expect("\(error)".contains("its folder content is for files alone"))
    #expect(try await scene.run().isComplete)
  }
}
