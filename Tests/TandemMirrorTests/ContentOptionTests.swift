import Foundation
import TandemDifferences
import TandemDigests
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite(
  "Mirrors with contents: when options change, and the list does not", .timeLimit(.minutes(20)))
struct ContentOptionTests {
  let scene: ContentScene

  init() throws {
    scene = try ContentScene()
    let digest = SHA256Digest(of: Array("one".utf8))
    scene.server["/list"] =
      #"[{"id":1,"photo":"/1","thumb":"/t","sha":"\#(digest)","bad":"\#(SHA256Digest(of: []))","size":3}]"#
    scene.server["/1"] = "one"
    scene.server["/t"] = "t"
  }

  /// Whether the list was sent again by what was asked for last.
  private func isListSent(_ run: () async throws -> Void) async throws -> Bool {
    let count = scene.server.requests.count
    try await run()
    let request = scene.server.requests.dropFirst(count).first { $0.url.hasSuffix("/list") }
    return request?.fields["If-None-Match"] == nil
  }

  @Test("contents that are asked for only later are fetched, and their rows name them")
  func contentsLater() async throws {
    try await scene.runWithoutContents()
    #expect(try await !isListSent { try await scene.runWithoutContents() })
    #expect(try await isListSent { try await scene.run() })
    #expect(scene.files == ["files/content/1": "one"])
    #expect(try scene.rows("SELECT photo_file FROM place") == [#""content/1""#])
    #expect(try await !isListSent { try await scene.run() })
  }

  private static let both = [
    MirroredContent(.preview, field: "thumb"), MirroredContent(field: "photo"),
  ]

  @Test("a preview beside a content, and another directory, are fetched")
  func otherFields() async throws {
    try await scene.run()
    #expect(try await isListSent { try await scene.run(Self.both) })
    #expect(scene.files == ["files/content/1": "one", "files/preview/1": "t"])
    #expect(try await isListSent { try await scene.run(Self.both, into: "other") })
    #expect(scene.files["other/preview/1"] == "t" && scene.files["other/content/1"] == "one")
    #expect(try await !isListSent { try await scene.run(Self.both, into: "other") })
  }

  @Test("a run that does not name what rows have files of is refused, and says what to name")
  func forgotten() async throws {
    let rows = [#""preview/1"|"content/1""#]
    try await scene.run(Self.both)
    for isDryRun in [true, false] {
      let plain = try await scene.failure { try await scene.runWithoutContents(isDryRun: isDryRun) }
      #expect((plain as? MirrorError)?.code == .unfitDestination)
      #expect(
        "\(plain)" == """
          table place has files in thumb_file and photo_file, which this run would forget: give \
          `preview` thumb `content` photo again, with their `directory`; or, to have them \
          mirrored no more, and keep what is in these columns, first run DELETE FROM \
          tandem_mirror_directory WHERE table_name = 'place'
          """)
      let others = [
        [MirroredContent(field: "photo")], [MirroredContent(.preview, field: "thumb")],
        [MirroredContent(.preview, field: "photo"), MirroredContent(field: "thumb")],
      ]
      for (contents, words) in zip(others, ["`preview` thumb ", "`content` photo ", "`pre"]) {
        for directory in ["files", "new"] {
          let error = try await scene.failure {
            try await scene.run(contents, into: directory, policy: .skipItem, isDryRun: isDryRun)
          }
          #expect("\(error)".contains("give \(words)"), "\(error)")
        }
      }
    }
    #expect(try scene.rows("SELECT thumb_file, photo_file FROM place") == rows)
    #expect(scene.files == ["files/content/1": "one", "files/preview/1": "t"])
    #expect(try await scene.run(Self.both).skippedCount == 1)
    #expect(!FileManager.default.fileExists(atPath: "\(scene.folder.path)/new"))
    // Nor does a run into another directory, which did not get to its end, forget them.
    scene.server["/1"] = nil
    _ = try? await scene.run(Self.both, into: "new")
    #expect(try await scene.failure { try await scene.runWithoutContents() } is MirrorError)
  }

  @Test(
    "contents that are to be mirrored no more leave their columns and files to the application",
    arguments: ["DELETE FROM tandem_mirror_directory", "DROP TABLE tandem_mirror_directory"])
  func givenUp(statement: String) async throws {
    try await scene.run()
    try scene.execute(statement)
    scene.server["/list"] = scene.server["/list"]?.replacing(#""size":3"#, with: #""size":4"#)
    for _ in 1...2 { try await scene.runWithoutContents() }
    #expect(try scene.rows("SELECT size, photo_file FROM place") == [#"4|"content/1""#])
    #expect(scene.files == ["files/content/1": "one"])
    let error = try await scene.failure { try await scene.run() }
    #expect("\(error)".contains("another mirror"))
    try await scene.run(into: "new")
    #expect(scene.files == ["files/content/1": "one", "new/content/1": "one"])
    #expect(try await scene.failure { try await scene.runWithoutContents() } is MirrorError)
  }

  @Test("contents that no row has a file of may be left out: a run that failed, a dropped column")
  func nothingForgotten() async throws {
    scene.server["/t"] = nil
    _ = try? await scene.run(Self.both)
    try await scene.runWithoutContents()
    try await scene.run()
    try scene.execute("ALTER TABLE place DROP COLUMN photo_file")
    try await scene.runWithoutContents()
    #expect(try scene.rows("SELECT id FROM place") == ["1"])
    // A column that has gone comes back with its files.
    try await scene.run()
    try scene.execute("ALTER TABLE place DROP COLUMN photo_file")
    #expect(try await isListSent { try await scene.run() })
    #expect(try scene.rows("SELECT photo_file FROM place") == [#""content/1""#])
  }

  /// Options that make the list be sent again.
  private static var unconditional: RecordListOptions {
    var options = RecordListOptions()
    options.fields["X-Token"] = "new"
    return options
  }

  @Test("what is to be checked only later is checked, until all of it has passed")
  func checksLater() async throws {
    try await scene.run()
    let bad = [MirroredContent(field: "photo", digestField: "bad")]
    for _ in 1...2 {
      let failures = try await scene.run(bad, policy: .skipItem).failures
      #expect((failures.first?.error as? TransportError)?.code == .contentMismatch)
    }
    let dryRun = try await scene.run(bad, isDryRun: true)
    #expect(dryRun.contents.count == 1)
    let good = [MirroredContent(field: "photo", digestField: "sha", byteCountField: "size")]
    #expect(try await scene.run(good).contents.count == 1)
    let count = scene.server.requests.count
    #expect(try await scene.run(good).skippedCount == 1)
    #expect(scene.paths(since: count) == ["/list"])
    #expect(scene.files == ["files/content/1": "one"])
  }

  private static let changes: [@Sendable (inout RecordListOptions) -> Void] = [
    { $0.format = .json }, { $0.itemsField = "data" }, { $0.paging = .link },
    { $0.fields["X-Key"] = "2" }, { $0.fields["Accept"] = "text/csv" },
  ]

  @Test("a list that is read in another way is read again", arguments: changes.indices)
  func listOptions(change: Int) async throws {
    var options = RecordListOptions()
    options.fields["X-Token"] = "1"
    try await scene.run(list: options)
    #expect(try await !isListSent { try await scene.run(list: options) })
    Self.changes[change](&options)
    let changed = options
    // One of them does not suit the list.
    #expect(try await isListSent { _ = try? await scene.run(list: changed) })
  }
}
