import TandemRecords
import TandemSQLite
import TestFolder
import TestRandom
import Testing

struct SavepointTests {
  private let folder: TemporaryFolder
  private let database: Database
  private struct Refusal: Error {}

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(path: folder.file())
    try database.write { try $0.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)") }
  }

  private func numbers() throws -> [Int] {
    try database.read { try $0.fetchValues("SELECT n FROM t ORDER BY n") }
  }

  @Test("a savepoint that throws is undone alone; one that returns stays")
  func undoesAlone() throws {
    try database.write { transaction in
      try transaction.execute("INSERT INTO t VALUES (1)")
      #expect(throws: Refusal.self) {
        try transaction.savepoint { transaction in
          try transaction.execute("INSERT INTO t VALUES (2)")
          throw Refusal()
        }
      }
      let result = try transaction.savepoint { transaction in
        try transaction.execute("INSERT INTO t VALUES (3)")
        return "done"
      }
      #expect(result == "done")
    }
    #expect(try numbers() == [1, 3])
  }

  @Test("a transaction that throws undoes its finished savepoints")
  func outerError() throws {
    #expect(throws: Refusal.self) {
      try database.write { transaction in
        try transaction.savepoint { try $0.execute("INSERT INTO t VALUES (1)") }
        throw Refusal()
      }
    }
    #expect(try numbers() == [])
  }

  @Test("nested savepoints undo exactly what an interpreter undoes", arguments: 0..<100)
  func random(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    var next = 0
    func nest(
      _ transaction: borrowing WriteTransaction, depth: Int, model: inout Set<Int>
    ) throws {
      for _ in 0..<Int.random(in: 0...3, using: &generator) {
        next += 1
        try transaction.execute("INSERT INTO t VALUES (\(next))")
        model.insert(next)
        guard depth < 5 else { continue }
        let before = model
        do {
          try transaction.savepoint { try nest($0, depth: depth + 1, model: &model) }
        } catch is Refusal {
          model = before
        }
      }
      if depth > 0, Bool.random(using: &generator) { throw Refusal() }
    }
    var model: Set<Int> = []
    try database.write { try nest($0, depth: 0, model: &model) }
    #expect(try numbers() == model.sorted(), "seed \(seed)")
  }

  @Test(
    "a failed statement inside a loop over rows undoes the savepoint, and the loop's end is clean")
  func openCursor() throws {
    try database.write { transaction in
      try transaction.execute("INSERT INTO t VALUES (1), (2)")
      let error = try databaseError {
        try transaction.savepoint { transaction in
          try transaction.withCursor("SELECT n FROM t", as: Number.self) { cursor in
            _ = try cursor.next()
            try transaction.execute("INSERT INTO t VALUES (3)")
            try transaction.execute("INSERT INTO t VALUES (1)")
          }
        }
      }
      #expect(error.code.primary == .constraint)
    }
    #expect(try numbers() == [1, 2])
  }

  private struct Number: Decodable, RowDecodable {
    var n: Int
  }

  @Test("when an error ends the whole transaction, savepoint and transaction say so")
  func fatalError() throws {
    try database.write { try $0.execute("CREATE TABLE u (n UNIQUE ON CONFLICT ROLLBACK)") }
    let error = try databaseError {
      try database.write { transaction in
        try transaction.execute("INSERT INTO u VALUES (1)")
        let error = try databaseError {
          try transaction.savepoint { _ = try $0.execute("INSERT INTO u VALUES (1)") }
        }
        #expect(error.code.primary == .constraint)
        try transaction.execute("INSERT INTO t VALUES (5)")
      }
    }
    #expect(error.code == .misuse)
    #expect(try numbers() == [])
  }
}
