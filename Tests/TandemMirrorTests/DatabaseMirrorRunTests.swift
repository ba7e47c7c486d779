import Foundation
import Synchronization
import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemMirror

@Suite("Mirrors on a database of the application's own", .timeLimit(.minutes(20)))
struct DatabaseMirrorRunTests {
  let records: [Record] = [["id": 1, "n": "a"], ["id": 2, "n": "b"]]
  let mirror = DatabaseMirror(table: "t", key: ["id"])

  private func rows(_ database: Database) throws -> [String] {
    try database.read { try $0.connection.rows("SELECT id, n FROM t ORDER BY id") }
  }

  @Test("records at hand are mirrored by both forms, and a dry run writes nothing")
  func both() async throws {
    let database = try Database(path: ":memory:")
    var dryRun = mirror
    dryRun.isDryRun = true
    #expect(try await dryRun.run(records, into: database).createsTable)
    func block() throws { #expect(try mirror.run(records, into: database).createsTable) }
    try block()
    #expect(try await mirror.run(records, into: database).isUpToDate)
    #expect(try await mirror.run([["id": 2, "n": "c"]], into: database).difference.count == 2)
    #expect(try rows(database) == [#"2|"c""#])
  }

  @Test(
    "its changes are deletions, updates and insertions, each kind by key, read as often as wanted")
  func changes() throws {
    let database = try Database(path: ":memory:")
    let ids: (ClosedRange<Int64>, FieldValue) -> [Record] = { ids, value in
      ids.reversed().map { ["id": .integer($0), "n": value] }
    }
    _ = try mirror.run(ids(1...4, "a") + ids(7...8, "x"), into: database)
    let changes = try mirror.run(ids(3...6, "b") + ids(7...8, "x"), into: database).changes
    let old = ids(1...4, "a").reversed() as [Record]
    let new = ids(3...6, "b").reversed() as [Record]
    let expected: [SetChange<Record>] = [
      .deleted(old[0]), .deleted(old[1]),
      .updated(old: old[2], new: new[0]), .updated(old: old[3], new: new[1]),
      .inserted(new[2]), .inserted(new[3]),
    ]
    #expect(Array(changes) == expected && changes.last == expected.last)
    #expect(changes.indices.map { changes[$0] } == expected)
    #expect("\(changes)" == "2 inserted, 2 updated, 2 deleted")
    let difference = SetDifference(
      inserted: Array(new[2...]),
      updated: [.init(old: old[2], new: new[0]), .init(old: old[3], new: new[1])],
      deleted: Array(old[..<2]))
    #expect(changes.difference == difference)
    #expect(Array(DatabaseMirror.Changes(difference)) == expected)
  }

  @Test("inside of a transaction, an error undoes the mirror's part alone")
  func transaction() throws {
    let database = try Database(path: ":memory:")
    try database.write { transaction in
      try transaction.execute("CREATE TABLE own (a)")
      #expect(try mirror.run(records, in: transaction).difference.inserted.count == 2)
      try transaction.execute("INSERT INTO own SELECT count(*) FROM t")
      #expect(throws: MirrorError.self) { try mirror.run([], in: transaction) }
      #expect(throws: RecordError.self) { try mirror.run([["id": 3], ["id": 3]], in: transaction) }
    }
    #expect(try rows(database) == [#"1|"a""#, #"2|"b""#])
    #expect(try database.read { try $0.fetchValue("SELECT a FROM own", as: Int.self) } == 2)
  }

  /// Mirrors a list with a content, and calls `body` while the content is fetched.
  private func run(
    _ list: String, _ scene: ContentScene, into database: Database,
    whileFetching body: @escaping @Sendable () throws -> Void
  ) async throws -> DatabaseMirror.Report {
    scene.server["/list"] = list
    for id in 1...3 { scene.server["/\(id)"] = "content \(id)" }
    var mirror = DatabaseMirror(
      table: "place", key: ["id"], contents: ContentScene.photo,
      directory: "\(scene.folder.path)/files")
    (mirror.concurrency, mirror.retry) = (1, .never)
    let client = InterruptingClient(client: scene.server, body: body)
    return try await mirror.run(
      from: .url(ContentScene.listURL), into: database, client: client)
  }

  @Test(
    "rows that anyone changes during the transfers are compared again before the commit",
    arguments: [true, false])
  func changedMeanwhile(isOwn: Bool) async throws {
    let scene = try ContentScene()
    let path = "\(scene.folder.path)/list.db"
    let database = try Database(path: path)
    let first = #"[{"id":1,"photo":"/1","n":1},{"id":2,"photo":"/2","n":1}]"#
    _ = try await run(first, scene, into: database) {}
    let second = #"[{"id":1,"photo":"/1","n":2},{"id":2,"photo":"/2","n":1},{"id":3,"photo":"/3"}]"#
    let report = try await run(second, scene, into: database) {
      let change = "UPDATE place SET n = n + 10, photo_file = 'content/9' WHERE id < 3"
      let deletion = "DELETE FROM place WHERE id = 2"
      for statement in [change, deletion, "INSERT INTO place (id, n) VALUES (3, 7), (4, 7)"] {
        if isOwn {
          try database.write { try $0.connection.execute(statement) }
        } else {
          try DatabaseConnection(path: path).execute(statement)
        }
      }
    }
    #expect(report.isComplete)
    let rows = try await database.read {
      try $0.connection.rows("SELECT id, n, photo_file FROM place ORDER BY id")
    }
    #expect(rows == [#"1|2|"content/1""#, #"2|1|"content/2""#, #"3|null|"content/3""#])
    let outcome = try #require(report.outcome)
    #expect(outcome.existingCount == 3 && outcome.difference.deleted.count == 1)
    #expect(outcome.difference.inserted.map { $0["id"] } == [2])
  }

  @Test("a table that grew during the transfers is not emptied beyond the guard's limit")
  func grownMeanwhile() async throws {
    let scene = try ContentScene()
    let database = try Database(path: ":memory:")
    let list = #"[{"id":1,"photo":"/1"}]"#
    do {
      _ = try await run(list, scene, into: database) {
        try database.write { transaction in
          try transaction.execute("CREATE TABLE place (id INTEGER PRIMARY KEY)")
          for id in 2...40 { try transaction.execute("INSERT INTO place VALUES (\(id))") }
        }
      }
      Issue.record("the run was not refused")
    } catch let error as DatabaseMirror.RunError {
      #expect((error.failure.error as? MirrorError)?.code == .tooManyDeletions)
    }
    let count = try await database.read {
      try $0.fetchValue("SELECT count(*) FROM place", as: Int.self)
    }
    #expect(count == 39)
  }

  @Test("an error of the list ends the run with its step, and creates no file")
  func errors() async throws {
    let scene = try ContentScene()
    let path = "\(scene.folder.path)/list.db"
    scene.server["/list"] = #"[{"n":1}]"#
    do {
      try await mirror.run(
        from: .url(ContentScene.listURL), intoFileAt: path, client: scene.server)
      Issue.record("the run was not refused")
    } catch let error as DatabaseMirror.RunError {
      #expect(error.failure.error is RecordError)
      #expect(error.report.outcome == nil)
    }
    #expect(scene.folder.files() == [])
  }

  @Test("a dry run takes no file for a missing one that only cannot be looked for")
  func unreachable() async throws {
    let scene = try ContentScene()
    scene.server["/list"] = #"[{"id":1}]"#
    let path = "\(scene.folder.path)/loop"
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
    var dryRun = mirror
    dryRun.isDryRun = true
    await #expect(throws: DatabaseMirror.RunError.self) {
      try await dryRun.run(
        from: .url(ContentScene.listURL), intoFileAt: "\(path)/list.db", client: scene.server)
    }
    let report = try await dryRun.run(
      from: .url(ContentScene.listURL), intoFileAt: "\(scene.folder.path)/new/list.db",
      client: scene.server)
    #expect(report.outcome?.createsTable == true)
  }
}

@Suite("Mirrors of values")
struct DatabaseMirrorValueTests {
  private struct Place: Codable, Equatable, Sendable, DatabaseRecord {
    var id: Int64
    var name: String
    var note: String?
  }

  @Test("a list of values is mirrored as records are, in each form")
  func values() async throws {
    let database = try Database(path: ":memory:")
    let mirror = DatabaseMirror(table: "place", key: ["id"])
    let places = [Place(id: 1, name: "Ulm", note: "old"), Place(id: 2, name: "Bonn")]
    let outcome = try await mirror.run(places, into: database)
    #expect(outcome.difference.inserted.count == 2 && outcome.createsTable)
    #expect(try await database.read { try $0.fetchAll(Place.self, "ORDER BY id") } == places)
    let changed = [Place(id: 1, name: "Ulm")]
    func block() throws -> DatabaseMirror.Outcome {
      try DatabaseMirror.unguarded("id", table: "place").run(changed, into: database)
    }
    #expect(try block().difference.deleted.count == 1)
    #expect(try await database.read { try $0.fetchAll(Place.self) } == changed)
    let other = try await database.write { try mirror.run(places, in: $0) }
    #expect(other.difference.inserted.count == 1 && other.difference.updated.count == 1)
  }

  @Test("a value that is no record is an error with its position, and nothing changes")
  func noRecord() throws {
    let database = try Database(path: ":memory:")
    let mirror = DatabaseMirror(table: "place", key: ["id"])
    let error = #expect(throws: RecordError.self) { try mirror.run([1, 2], into: database) }
    #expect(error?.message.hasPrefix("element 0: ") == true)
  }
}

/// Calls a function once, before the first content is fetched.
private final class InterruptingClient: HTTPClient {
  private let client: any HTTPClient
  private let body: Mutex<(@Sendable () throws -> Void)?>

  init(client: any HTTPClient, body: @escaping @Sendable () throws -> Void) {
    self.client = client
    self.body = Mutex(body)
  }

  func stream(_ request: HTTPRequest) async throws -> HTTPResponseStream {
    if !request.url.hasSuffix("/list") {
      let body = body.withLock { body in
        defer { body = nil }
        return body
      }
      try body?()
    }
    return try await client.stream(request)
  }
}
