import TandemDifferences
import TandemDigests
import TandemHTTP
import TandemRecords
import TandemSQLite
import Testing

@testable import TandemMirror

@Suite("Mirrors of lists in pages: what is remembered, and what addresses are relative to")
struct MirrorListPagesTests {
  static let url = "https://a.example/list"
  let mirror = DatabaseMirror.unguarded("id")
  let records: [Record] = [["id": 1], ["id": 2]]
  let options: RecordListOptions

  init() {
    var options = RecordListOptions()
    options.paging = .link
    self.options = options
  }

  /// The origin of a list of two pages.
  private func origin(secondTag: String = "\"2\"") -> MirrorOrigin {
    let validators = RecordListValidators(
      HTTPValidators(entityTag: "\"1\""),
      laterPages: [
        .init(url: "https://a.example/2", validators: HTTPValidators(entityTag: secondTag))
      ])
    return MirrorOrigin(url: Self.url, options: options, validators: validators)
  }

  private func validators(_ connection: DatabaseConnection) throws -> RecordListValidators? {
    try mirror.validators(for: Self.url, options: options, in: connection)
  }

  @Test("the validators of all pages are kept, and forgotten when anybody changes the table")
  func validatorsOfPages() throws {
    let connection = try database()
    let origin = origin()
    _ = try mirror.run(records, into: connection, origin: origin)
    #expect(try validators(connection) == origin.validators)
    #expect(try validators(connection)?.laterPages.map(\.url) == ["https://a.example/2"])
    #expect(try mirror.run(records, into: connection, origin: origin).isUpToDate)
    let newer = self.origin(secondTag: "\"3\"")
    let schemaVersion = try connection.schemaVersion()
    #expect(try !mirror.run(records, into: connection, origin: newer).isUpToDate)
    #expect(try validators(connection) == newer.validators)
    // Otherwise all programs would compile their statements again.
    #expect(try connection.schemaVersion() == schemaVersion)
    try connection.execute("UPDATE t SET id = 3 WHERE id = 1")
    #expect(try validators(connection) == nil)
  }

  @Test(
    "what is written there by others is no validators, and is put right by the next run",
    arguments: ["url = 7", "url = x'00'", "url = ''", "entity_tag = NULL"])
  func forgedPages(change: String) throws {
    let connection = try database()
    let origin = origin()
    _ = try mirror.run(records, into: connection, origin: origin)
    try connection.execute("UPDATE tandem_mirror_page SET \(change)")
    let forged = try validators(connection)
    #expect(
      forged?.canBeSent(to: Self.url, hiding: ListSecrets(url: Self.url, fields: [:])) != true)
    _ = try mirror.run(records, into: connection, origin: origin)
    #expect(try validators(connection) == origin.validators)
  }

  @Test("what is relative is relative to its own page, and to where that was redirected")
  func bases() async throws {
    let scene = try ContentScene()
    scene.server["/list"] = #"{"items":[{"id":1,"photo":"c/1"}],"next":"/more/2"}"#
    scene.server["/more/2"] =
      #"{"items":[{"id":2,"photo":"c/2"},{"id":3,"photo":"/c/3"}],"next":"3"}"#
    scene.server.redirect("/more/3", to: "http://b.example/v2/3")
    scene.server["/v2/3"] = #"{"items":[{"id":4,"photo":"c/4"},{"id":5,"photo":"../c/5"}]}"#
    for path in ["/c/1", "/more/c/2", "/c/3", "/v2/c/4", "/c/5"] { scene.server[path] = path }
    var options = RecordListOptions()
    options.paging = .cursor(field: "next")
    options.itemsField = "items"
    options.fields["X-Token"] = "1"
    #expect(
      try await scene.run(url: "http://me:secret@a.example/list", list: options).isComplete)
    let requests = scene.server.requests.suffix(5)
    #expect(
      requests.map(\.url) == [
        "http://me:secret@a.example/c/1", "http://me:secret@a.example/more/c/2",
        "http://me:secret@a.example/c/3", "http://b.example/v2/c/4", "http://b.example/c/5",
      ])
    #expect(requests.map { $0.fields["X-Token"] } == ["1", "1", "1", nil, nil])
    // All is remembered without secrets, and asked for by that again.
    #expect(try scene.rows("SELECT * FROM tandem_mirror").allSatisfy { !$0.contains("secret") })
    let count = scene.server.requests.count
    try await scene.run(url: "http://me:secret@a.example/list", list: options)
    let again = scene.server.requests.dropFirst(count)
    #expect(
      again.map(\.url) == [
        "http://me:secret@a.example/list", "http://me:secret@a.example/more/2",
        "http://me:secret@a.example/more/3",
      ])
    #expect(again.allSatisfy { $0.fields["If-None-Match"] != nil })
  }
}
