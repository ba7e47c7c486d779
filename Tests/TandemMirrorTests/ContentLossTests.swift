import Foundation
import TandemDifferences
import TandemDigests
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import Testing

@Suite("Mirrors with contents: what a list may not take away", .timeLimit(.minutes(20)))
struct ContentLossTests {
  let scene: ContentScene

  init() throws { scene = try ContentScene() }

  /// Serves items, of which those that are named have an address, and mirrors them.
  private func serve(_ count: Int, named: Set<Int>) {
    let items = (0..<count).map { id in
      named.contains(id) ? #"{"id":\#(id),"photo":"/\#(id)"}"# : #"{"id":\#(id)}"#
    }
    scene.server["/list"] = "[\(items.joined(separator: ","))]"
    for id in named { scene.server["/\(id)"] = "\(id)" }
  }

  @Test("a list that names no contents any more is refused, whatever may be deleted")
  func renamedField() async throws {
    serve(30, named: Set(0..<30))
    try await scene.run()
    scene.server["/list"] = scene.server["/list"]?.replacing("photo", with: "picture")
    for limit in [nil, MirrorDeletionLimit.count(0), .percentage(100)] {
      let error = try await scene.failure { try await scene.run(limit: limit) } as? MirrorError
      #expect(error?.code == .unfitSource)
      #expect(
        error?.message == "no record of the list has the field photo; its fields are id, picture")
    }
    #expect(scene.files.count == 30)
  }

  @Test("an item that names its content no longer counts as deleted")
  func losses() async throws {
    serve(30, named: Set(0..<30))
    try await scene.run()
    serve(30, named: Set(0..<14))
    let error = try await scene.failure { try await scene.run() } as? MirrorError
    #expect(error?.code == .tooManyDeletions && error?.deletionCount == 16)
    serve(30, named: Set(0..<29))
    for isDryRun in [true, false] {
      let limited = try await scene.failure {
        try await scene.run(limit: .count(0), isDryRun: isDryRun)
      }
      #expect("\(limited)".contains("delete 0 of 30 rows, and the contents of 1 others"))
    }
    serve(30, named: Set(0..<15))
    try await scene.run(limit: .count(15))
    #expect(scene.files.count == 15)
    #expect(try scene.rows("SELECT count(*) FROM place WHERE photo_file IS NULL") == ["15"])
    // What has lost its content already does not lose it again.
    scene.server["/list"] = scene.server["/list"]?.replacing(#""id""#, with: #""n":1,"id""#)
    #expect(try await scene.run(limit: .count(0)).transferred.count == 30)
  }

  @Test("a run in which anything failed removes no file, though no row points to it")
  func incompleteRun() async throws {
    serve(30, named: Set(0..<30))
    try await scene.run()
    try scene.execute("UPDATE place SET photo_file = NULL")
    for id in 0..<29 { scene.server["/\(id)"] = nil }
    let report = try await scene.run(policy: .skipItem, limit: .count(0))
    #expect(report.failures.count == 29)
    #expect(scene.files.count == 30)
    serve(29, named: Set(0..<29))
    try await scene.run()
    #expect(scene.files.count == 29)
  }

  @Test("a preview that cannot be had leaves the old one in place, and is asked for again")
  func failedPreview() async throws {
    let contents = [
      MirroredContent(.preview, field: "thumb", isRequired: false), MirroredContent(field: "photo"),
    ]
    scene.server["/list"] = #"[{"id":1,"thumb":"/t.png","photo":"/1"}]"#
    scene.server["/t.png"] = "old"
    scene.server["/1"] = "one"
    try await scene.run(contents)
    scene.server["/list"] = #"[{"id":1,"thumb":"/t.jpg","photo":"/1"}]"#
    for _ in 1...2 {
      let report = try await scene.run(contents, policy: .continue, limit: .count(0))
      #expect(report.failures.count == 1)
      #expect(scene.files == ["files/content/1": "one", "files/preview/1.png": "old"])
      #expect(
        try scene.rows("SELECT thumb, thumb_file FROM place") == [#""/t.jpg"|"preview/1.png""#])
    }
    scene.server["/t.jpg"] = "new"
    #expect(try await scene.run(contents, policy: .continue, limit: .count(0)).isComplete)
    #expect(scene.files == ["files/content/1": "one", "files/preview/1.jpg": "new"])
  }

  @Test("a preview that is lost counts too, and an item once")
  func previews() async throws {
    let contents = [MirroredContent(.preview, field: "thumb"), MirroredContent(field: "photo")]
    scene.server["/list"] = #"[{"id":1,"thumb":"/1","photo":"/1"},{"id":2,"thumb":"/1"}]"#
    scene.server["/1"] = "one"
    try await scene.run(contents)
    scene.server["/list"] = #"[{"id":1,"thumb":null},{"id":2,"thumb":"/1","photo":null}]"#
    let error = try await scene.failure { try await scene.run(contents, limit: .count(0)) }
    #expect((error as? MirrorError)?.deletionCount == 1)
    try await scene.run(contents, limit: .count(1))
    #expect(scene.files == ["files/preview/2": "one"])
  }

  @Test("a field that was misspelt is an error, leaves no mark, and the next run goes well")
  func misspeltFields() async throws {
    scene.server["/list"] = #"[{"id":1,"photo":"/1","sha":null},{"id":2,"size":3}]"#
    scene.server["/1"] = "one"
    let mistakes = [
      MirroredContent(field: "phtoo"), MirroredContent(field: "photo", digestField: "sah"),
      MirroredContent(field: "photo", byteCountField: "length"),
    ]
    for (content, name) in zip(mistakes, ["phtoo", "sah", "length"]) {
      for isDryRun in [true, false] {
        let error = try await scene.failure { try await scene.run([content], isDryRun: isDryRun) }
        #expect(
          "\(error)"
            == "no record of the list has the field \(name); its fields are id, photo, sha, size")
      }
    }
    let report = try await scene.run()
    #expect(report.isComplete)
    // The item without a content is done, but nothing was fetched for it.
    #expect(report.transferred.count == 2 && report.contents.count == 1)
    #expect(try await scene.run().contents.count == 0)
  }

  @Test("an error names some of many fields")
  func manyFields() async throws {
    let fields = (1...100).map { #""f\#($0)":1"# }.joined(separator: ",")
    scene.server["/list"] = #"[{"id":1,\#(fields)}]"#
    let error = try await scene.failure { try await scene.run() }
    let names = (1...19).map { "f\($0)" }.joined(separator: ", ")
    #expect("\(error)".hasSuffix("its fields are id, \(names), …"))
  }

  @Test("a record that names a content, but nothing to check it by, is an error")
  func missingChecks() async throws {
    scene.server["/1"] = "one"
    let digest = SHA256Digest(of: Array("one".utf8))
    let contents = [
      MirroredContent(field: "photo", digestField: "sha", byteCountField: "size")
    ]
    func serve(_ fields: String) {
      scene.server["/list"] =
        #"[{"id":1,"photo":"/1"\#(fields)},{"id":2,"sha":"\#(digest)","size":3}]"#
    }
    for fields in [#","sha":"\#(digest)""#, #","size":3"#] {
      serve(fields)
      let failures = try await scene.run(contents, policy: .skipItem).failures
      #expect(failures.compactMap(\.id).map(\.description) == ["1"])
      #expect((failures.first?.error as? MirrorError)?.code == .unfitSource)
    }
    for fields in [#","sha":"\#(digest)","size":3"#, #","sha":null,"size":null"#] {
      serve(fields)
      #expect(try await scene.run(contents).isComplete)
    }
    #expect(scene.files == ["files/content/1": "one"])
  }
}
