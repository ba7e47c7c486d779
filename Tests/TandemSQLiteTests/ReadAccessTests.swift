import TandemRecords
import TandemSQLite
import TestFolder
import Testing

/// A read writes nothing, whatever its statements say.
struct ReadAccessTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let writes: [SQL] = [
    "INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (2) RETURNING n", "DELETE FROM t",
    "CREATE TABLE u (n)", "PRAGMA user_version=7", "CREATE TEMP TABLE u (n)",
  ]

  @Test("PRAGMA query_only does not make a read write", arguments: [false, true])
  func queryOnly(isInMemory: Bool) throws {
    let database = try Database(
      path: isInMemory ? ":memory:" : folder.file(),
      configuration: DatabaseConfiguration(maxReaderCount: 1))
    try database.write { transaction in
      try transaction.execute("CREATE TABLE t (n INTEGER)")
      try transaction.execute("INSERT INTO t VALUES (1)")
    }
    for write in Self.writes {
      for pragma: SQL in ["PRAGMA query_only=0", "/**/ EXPLAIN PRAGMA main.\"query_only\"(off)"] {
        let error = try databaseError {
          try database.read { transaction in
            _ = try? transaction.fetchValue(pragma, as: Int.self)
            _ = try transaction.fetchValue(write, as: Int.self)
          }
        }
        #expect(error.code.primary == .readOnly, "\(write.text)")
      }
    }
    let (rows, version, instructions) = try database.read { transaction in
      (
        try transaction.fetchValues("SELECT n FROM t", as: Int.self),
        try transaction.fetchValue("PRAGMA user_version", as: Int.self),
        try transaction.fetchValues("EXPLAIN DELETE FROM t", as: Int.self)
      )
    }
    #expect(rows == [1] && version == 0)
    let mode = try database.read { try $0.fetchValue("PRAGMA journal_mode", as: String.self) }
    #expect(mode == (isInMemory ? "memory" : "wal"), "what only asks is answered")
    #expect(instructions.count > 1, "what explains a write does not write")
    try database.write { _ = try $0.execute("INSERT INTO t VALUES (2)") }
  }
}
