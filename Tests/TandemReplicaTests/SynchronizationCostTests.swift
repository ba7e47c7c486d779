import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestFolder
import Testing

/// The statements that SQLite compiles while files are kept in step: each one takes longer than the work
/// of most statements.
@Suite("Costs of synchronizing", .timeLimit(.minutes(20)))
struct SynchronizationCostTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func compilationCount(_ database: Database) throws -> Int {
    try database.withWriter { $0.compilationCount }
  }

  @Test("Once two files are in step, no statement is compiled for further edits")
  func steadyState() async throws {
    let space = try await SyncSpace.file(folder.path(of: "shared.space"), creates: true)
    var files: [(database: Database, replica: DatabaseReplica)] = []
    for name in ["a.db", "b.db"] {
      let database = try Database(path: folder.path(of: name))
      try await database.write {
        try $0.execute("CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, stars INTEGER)")
      }
      let replica = DatabaseReplica(database)
      try await replica.attach([AttachedTable("note")], to: space)
      files.append((database, replica))
    }
    var counts: [Int] = []
    for round in 0..<6 {
      if round > 2 {
        counts.append(try files.map { try compilationCount($0.database) }.reduce(0, +))
      }
      for (number, file) in files.enumerated() {
        try await file.database.write { transaction in
          try transaction.execute(
            "INSERT INTO note VALUES (\("\(number)-\(round)"), 'new', \(round))")
          try transaction.execute("UPDATE note SET stars = stars + 1 WHERE id = \("\(number)-0")")
        }
        try await file.replica.sync(with: space)
      }
      try await files[0].replica.sync(with: space)
    }
    #expect(counts[0] == counts[2], "\(counts)")
    let rows = try await files[1].database.read {
      try $0.fetchAll("SELECT * FROM note ORDER BY id") as [Record]
    }
    #expect(rows.count == 12)
  }

  @Test("Rows are received without compiling statements for each, whatever triggers there are")
  func triggerOfTheRow() throws {
    let counts = try [20, 200].map { rowCount in
      let space = try TestSpace()
      let replicas = try (1...2).map { seed in
        try TestReplica(
          seed: seed,
          [
            "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, changed INTEGER)",
            "CREATE TABLE clock (now INTEGER)", "INSERT INTO clock VALUES (\(1_000 * seed))",
            """
            CREATE TRIGGER touch AFTER UPDATE ON note BEGIN
              UPDATE clock SET now = now + 1;
              UPDATE note SET changed = (SELECT now FROM clock) WHERE id = new.id; END
            """,
          ], tables: [AttachedTable("note")], space: space)
      }
      try replicas[0].execute(
        """
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rowCount))
        INSERT INTO note SELECT i, 'old', 0 FROM n
        """)
      try converge(replicas, space)
      try replicas[0].execute("UPDATE note SET title = 'new'")
      try replicas[0].sync(space)
      let before = try compilationCount(replicas[1].database)
      try replicas[1].pull(space)
      let count = try compilationCount(replicas[1].database) - before
      #expect(try replicas[1].rows("SELECT now FROM clock") == [[2_000]], "no trigger runs")
      #expect(try replicas[1].freeze() == nil, "the trigger makes no edits")
      try expectEqualRows(replicas, "SELECT * FROM note ORDER BY id")
      return count
    }
    #expect(counts[0] == counts[1], "\(counts)")
  }
}
