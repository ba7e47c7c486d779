import Tandem
import TandemServer
import TestFolder
import TestTool
import Testing

/// Replicas of a server whose application has rules, over HTTP.
@Suite("Replicas and the rules of an application", .timeLimit(.minutes(20)))
struct RuledReplicaTests {
  private struct File {
    let path: String
    let database: Database
    let replica: DatabaseReplica

    init(_ folder: TemporaryFolder, _ name: String, _ space: SyncSpace) async throws {
      path = folder.path(of: name)
      database = try await Database.open(path: path)
      try await database.write {
        try $0.execute("CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, author TEXT)")
      }
      replica = DatabaseReplica(database)
      try await replica.attach([AttachedTable("note")], to: space)
    }

    func write(_ sql: SQL) async throws { try await database.write { _ = try $0.execute(sql) } }

    func rows() async throws -> [String] {
      try await database.read {
        try $0.fetchValues("SELECT id || ' ' || title || ' ' || author FROM note ORDER BY id")
      }
    }
  }

  @Test(
    "Amended fields arrive with the same synchronization, and refused edits are kept with their message"
  )
  func synchronizing() async throws {
    let folder = try TemporaryFolder()
    let service = try SyncService(
      spacesIn: folder.path(of: "spaces"),
      rules: { commit in
        var decision = CommitDecision()
        for change in commit.changes {
          if change.old?["author"] == "eve" || change.new?["title"] == "bad" {
            decision.refuse(change, "the title is not allowed")
          }
          if change.new != nil { decision.amend(change, ["author": "server"]) }
        }
        return decision
      })
    let server = try HTTPServer(
      try ListeningSocket(host: "127.0.0.1", port: 0, allowsOthers: false), responder: service)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await server.run() }
      let space = try SyncSpace.server(server.url, space: "notes")
      let first = try await File(folder, "first.db", space)
      let second = try await File(folder, "second.db", space)
      try await first.replica.sync(with: space)
      try await first.write(
        "INSERT INTO note VALUES ('a', 'good', 'forged'), ('b', 'bad', NULL), ('c', 'fine', 'x')")
      let report = try await first.replica.sync(with: space)
      #expect(report.conflictCount == 0)
      let expected = ["a good server", "c fine server"]
      #expect(try await first.rows() == expected)
      let kept = try await first.replica.keptEdits(.rejected)
      #expect(kept.map(\.reason) == ["a rule of the space refused it: the title is not allowed"])
      #expect(kept.map(\.local) == [["title": "bad"]])
      try await second.replica.sync(with: space)
      #expect(try await second.rows() == expected)
      // The file is in step: nothing goes back and forth.
      let revision = try await space.revision()
      for file in [first, second] {
        #expect(try await file.replica.sync(with: space).pushedCount == 0)
      }
      #expect(try await space.revision() == revision)
      let listed = try await Tool.run(["rejected", first.path])
      #expect(listed.output.contains("a rule of the space refused it: the title is not allowed"))
      // The edit is made again as something that the rules accept.
      try await first.write("INSERT INTO note VALUES ('b', 'better', NULL)")
      try await first.replica.sync(with: space)
      try await second.replica.sync(with: space)
      #expect(
        try await second.rows() == ["a good server", "b better server", "c fine server"])
      group.cancelAll()
    }
    await service.close()
  }

  @Test("A commit in parts that is refused for one row sends the other rows again")
  func manyRows() async throws {
    let folder = try TemporaryFolder()
    let service = try SyncService(
      spacesIn: folder.path(of: "spaces"),
      rules: { commit in
        var decision = CommitDecision()
        for change in commit.changes {
          if change.new?["title"] == "n7777" { decision.refuse(change, "unlucky") }
          if change.new != nil { decision.amend(change, ["author": "server"]) }
        }
        return decision
      })
    let server = try HTTPServer(
      try ListeningSocket(host: "127.0.0.1", port: 0, allowsOthers: false), responder: service)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await server.run() }
      let space = try SyncSpace.server(server.url, space: "notes")
      let file = try await File(folder, "first.db", space)
      try await file.replica.sync(with: space)
      try await file.write(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)
        INSERT INTO note SELECT 'k' || i, 'n' || i, 'client' FROM n
        """)
      try await file.replica.sync(with: space)
      let counts: [Int] = try await file.database.read {
        try $0.fetchValues(
          "SELECT count(*) FROM note UNION ALL SELECT count(*) FROM note WHERE author = 'server'")
      }
      #expect(counts == [24_999, 24_999])
      #expect(
        try await file.replica.keptEdits(.rejected).map(\.reason) == [
          "a rule of the space refused it: unlucky"
        ])
      group.cancelAll()
    }
    await service.close()
  }
}
