import TandemRecords
import Testing

@testable import TandemSQLite

@Suite("The treatment of foreign keys in a transaction")
struct ForeignKeyTreatmentTests {
  private let database: Database

  init() throws {
    database = try Database(path: ":memory:")
    try database.write { transaction in
      try transaction.connection.execute("CREATE TABLE list (id INTEGER PRIMARY KEY)")
      try transaction.connection.execute(
        "CREATE TABLE item (list REFERENCES list(id) ON DELETE CASCADE)")
    }
  }

  /// Deletes a list with an item; returns the number of items that are left.
  private func itemsAfterDeletion(_ treatment: ForeignKeyTreatment?) throws -> Int64? {
    let delete = { (transaction: borrowing WriteTransaction) throws in
      try transaction.connection.execute("DELETE FROM item")
      try transaction.connection.execute("INSERT OR IGNORE INTO list VALUES (1)")
      try transaction.connection.execute("INSERT INTO item VALUES (1)")
      try transaction.connection.execute("DELETE FROM list")
      return try transaction.connection.integer("SELECT count(*) FROM item")
    }
    guard let treatment else { return try database.write(delete) }
    return try database.write(foreignKeys: treatment, delete)
  }

  @Test("Each write has the treatment that it asks for, whatever the one before had")
  func eachWrite() throws {
    for _ in 0..<2 {
      #expect(try itemsAfterDeletion(.ignored) == 1)
      #expect(try itemsAfterDeletion(.unconcerned) == 1)
      #expect(try itemsAfterDeletion(nil) == 0)
      #expect(try itemsAfterDeletion(.unconcerned) == 0)
      #expect(try itemsAfterDeletion(.enforced) == 0)
    }
  }

  @Test("A write that fails to begin changes nothing")
  func nested() throws {
    try database.withWriter { connection in
      _ = try connection.transaction {
        #expect(throws: DatabaseError.self) {
          try connection.write(foreignKeys: .ignored, nil) { _ in }
        }
      }
      #expect(try connection.integer("PRAGMA foreign_keys") == 1)
    }
    #expect(try itemsAfterDeletion(.ignored) == 1)
  }

  @Test("A statement that writes and is unfinished does not prevent the commit")
  func unfinishedWrite() throws {
    var unfinished: Statement?
    try database.write { transaction in
      let statement = try transaction.connection.prepare(
        "INSERT INTO list VALUES (1), (2) RETURNING id")
      #expect(try statement.step())
      unfinished = statement
    }
    #expect(try database.read { try $0.connection.integer("SELECT count(*) FROM list") } == 2)
    #expect(unfinished != nil)
  }
}
