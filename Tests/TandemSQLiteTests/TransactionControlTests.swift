import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite("Statements that would end the closure's transaction")
struct TransactionControlTests {
  private let folder: TemporaryFolder
  private let database: Database

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(path: folder.file())
    try database.write { try $0.execute("CREATE TABLE t (n)") }
  }

  @Test(
    "they are refused before they run, also behind what SQLite skips",
    arguments: [
      "COMMIT", " \t\ncommit", "/* a */ COMMIT", "-- a\nCOMMIT", "/**/-- b\n /* c */END",
      ";; COMMIT",
      "\u{FEFF}COMMIT", "\u{FEFF} ;/* a\n*/;ROLLBACK", "/* */SAVEPOINT s", "--\nRELEASE s",
    ])
  func refused(sql: String) throws {
    let error = try databaseError {
      try database.write { transaction in
        try transaction.execute("INSERT INTO t VALUES (1)")
        try transaction.execute(SQL(text: sql))
      }
    }
    #expect(error.code == .misuse && error.message.contains("return to commit"), "\(error)")
    #expect(try folder.open().integer("SELECT count(*) FROM t") == 0)
  }

  @Test("comments before other statements are no matter")
  func comments() throws {
    try database.write { try $0.execute("/* COMMIT */ -- COMMIT\n INSERT INTO t VALUES (1)") }
    #expect(try folder.open().integer("SELECT count(*) FROM t") == 1)
  }
}
