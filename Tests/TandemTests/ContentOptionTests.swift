import Foundation
import Tandem
import Testing

@Suite("Mirrors with contents: when options change, and the list does not", .timeLimit(.minutes(5)))
struct ContentOptionTests {
  let scene = ContentScene()

  init() {
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
    // And back: rows do not go on naming files that nobody keeps up to date.
    #expect(try await isListSent { try await scene.runWithoutContents() })
    #expect(try scene.rows("SELECT photo_file FROM place") == ["null"])
    #expect(try await isListSent { try await scene.run() })
    #expect(try scene.rows("SELECT photo_file FROM place") == [#""content/1""#])
  }

  @Test("another field into another directory, and a preview beside it, are fetched")
  func otherFields() async throws {
    try await scene.run()
    let thumb = [MirroredContent(field: "thumb")]
    #expect(try await isListSent { try await scene.run(thumb, into: "other") })
    #expect(scene.files == ["files/content/1": "one", "other/content/1": "t"])
    #expect(try scene.rows("SELECT photo_file, thumb_file FROM place") == [#"null|"content/1""#])
    let both = [MirroredContent(.preview, field: "photo"), thumb[0]]
    #expect(try await isListSent { try await scene.run(both, into: "other") })
    #expect(scene.files["other/preview/1"] == "one")
    #expect(try await !isListSent { try await scene.run(both, into: "other") })
  }

  @Test("another field into the same directory is refused: names would be those of other contents")
  func otherFieldInPlace() async throws {
    try await scene.run()
    let error = try await scene.failure { try await scene.run([MirroredContent(field: "thumb")]) }
    #expect("\(error)".contains("another mirror"))
  }

  @Test("what is to be checked only later is checked, until all of it has passed")
  func checksLater() async throws {
    try await scene.run()
    let bad = [MirroredContent(field: "photo", digestField: "bad")]
    for _ in 1...2 {
      let failures = try await scene.run(bad, policy: .skipItem).report.failures
      #expect((failures.first?.error as? TransportError)?.code == .contentMismatch)
    }
    let rehearsal = try await scene.run(bad, isDryRun: true).mirror.rehearsal
    #expect(rehearsal?.transfers.count == 1)
    let good = [MirroredContent(field: "photo", digestField: "sha", byteCountField: "size")]
    #expect(try await scene.run(good).mirror.contentCount == 1)
    let count = scene.server.requests.count
    #expect(try await scene.run(good).report.skippedCount == 1)
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
