import TandemHTTP
import TandemMirror
import TandemRecords
import TestFolder
import Testing

@Suite("Contents that changed although their records did not", .timeLimit(.minutes(20)))
struct ContentRevalidationTests {
  let scene: ContentScene

  init() throws {
    scene = try ContentScene()
    scene.server["/list"] =
      #"[{"id":1,"photo":"/1.jpg"},{"id":2,"photo":"/2.jpg"},{"id":3}]"#
    scene.server["/1.jpg"] = "one"
    scene.server["/2.jpg"] = "two"
  }

  private func run(
    revalidates: Bool = false, isConditional: Bool = true, isDryRun: Bool = false
  ) async throws -> DatabaseMirror.Report {
    var mirror = DatabaseMirror(
      table: "place", key: ["id"], contents: ContentScene.photo,
      directory: "\(scene.folder.path)/files", isDryRun: isDryRun)
    mirror.retry = .never
    mirror.concurrency = 1
    mirror.revalidatesContents = revalidates
    var list = RecordListOptions()
    list.retry = .never
    return try await mirror.run(
      from: .url(ContentScene.listURL), intoFileAt: "\(scene.folder.path)/list.db", list: list,
      isConditional: isConditional, client: scene.server)
  }

  @Test("all are asked for again on request, and only what changed is sent")
  func revalidation() async throws {
    try await scene.run()
    scene.server["/2.jpg"] = "new"
    #expect(try await run().transferred.isEmpty)
    #expect(scene.files["files/content/2.jpg"] == "two")
    let count = scene.server.requests.count
    let report = try await run(revalidates: true)
    #expect(report.contents.map(\.path) == ["content/1.jpg", "content/2.jpg"])
    #expect(report.byteCount == 3 && report.skippedCount == 1)
    #expect(scene.paths(since: count) == ["/list", "/1.jpg", "/2.jpg"])
    let isConditional = scene.server.requests.dropFirst(count)
      .map { $0.fields["If-None-Match"] != nil }
    #expect(isConditional == [false, true, true])
    #expect(scene.files == ["files/content/1.jpg": "one", "files/content/2.jpg": "new"])
    #expect(report.outcome?.isUpToDate == true)
  }

  @Test("without conditions, all are sent again, also those that have the same validators")
  func unconditional() async throws {
    try await scene.run()
    let count = scene.server.requests.count
    let report = try await run(isConditional: false)
    #expect(report.byteCount == 6 && report.contents.count == 2)
    #expect(scene.server.requests.dropFirst(count).allSatisfy { $0.fields["If-None-Match"] == nil })
    #expect(try await run().transferred.isEmpty)
  }

  @Test("a content that cannot be had again leaves the old one, and the next run asks for it")
  func failure() async throws {
    try await scene.run()
    scene.server["/2.jpg"] = nil
    await #expect(throws: DatabaseMirror.RunError.self) { try await run(revalidates: true) }
    #expect(scene.files["files/content/2.jpg"] == "two")
    #expect(try scene.rows("SELECT count(*) FROM place WHERE photo_file IS NOT NULL") == ["2"])
    scene.server["/2.jpg"] = "new"
    try await scene.run()
    #expect(scene.files["files/content/2.jpg"] == "new")
  }

  @Test("a dry run names all that would be asked for")
  func dryRun() async throws {
    try await scene.run()
    let count = scene.server.requests.count
    let report = try await run(revalidates: true, isDryRun: true)
    #expect(report.contents.map(\.path) == ["content/1.jpg", "content/2.jpg"])
    #expect(scene.paths(since: count) == ["/list"])
  }

  @Test("an address with spaces is asked for as browsers ask, and its file stays the same")
  func spaces() async throws {
    scene.server["/list"] = #"[{"id":1,"photo":" my photo.jpg "}]"#
    scene.server["/my%20photo.jpg"] = "one"
    try await scene.run()
    #expect(scene.files == ["files/content/1.jpg": "one"])
    let count = scene.server.requests.count
    let report = try await run(revalidates: true)
    #expect(report.byteCount == 0 && report.contents.count == 1)
    #expect(scene.paths(since: count) == ["/list", "/my%20photo.jpg"])
  }
}
