import TandemRecords
import Testing

@testable import TandemSQLite

@Suite("Very many records into a tracked table", .timeLimit(.minutes(20)))
struct InsertionNotesTests {
  /// A record that may do something, or throw, when it is about to be inserted.
  struct Entry: DatabaseRecord {
    static let tableName = "item"
    static let columnNames = ["id", "name", "size"]
    var id: Int64?
    var name: String?
    var size: Double
    var willEncode: @Sendable () throws -> Void = {}

    init(_ number: Int64, id: Int64?) {
      (self.id, name, size) = (id, "Item \(number)", Double(number % 7) / 2)
    }

    init(row: inout RowDecoder) throws {
      (id, name, size) = (try row.next(), try row.next(), try row.next())
    }

    func encode(to row: inout RowEncoder) throws {
      try willEncode()
      try row.append(id)
      try row.append(name)
      try row.append(size)
    }
  }

  /// An error that is none of the database's.
  struct Refusal: Error {}

  /// More than are kept in mind at once.
  static let count: Int64 = 10_000
  static let entries = (1...count).map { Entry($0, id: $0) }

  /// A tracked database in memory.
  static func database(
    _ columns: String = "(id INTEGER PRIMARY KEY, name NOT NULL, size)"
  ) async throws -> Database {
    try await TrackedInsertionTests.database("CREATE TABLE item \(columns)")
  }

  /// How very many records would be inserted.
  static func insertion(into database: Database) async throws -> String {
    try await database.write {
      try $0.connection.insertion(into: "item", count: Int(count)).name
    }
  }

  /// What the log holds, counted from its beginning, after one more row by whoever writes otherwise, and
  /// what SQLite says of the row inserted last.
  static func log(of database: Database) async throws -> [[FieldValue]] {
    try await database.write { transaction in
      let connection = transaction.connection
      let last = try connection.valueRows("SELECT last_insert_rowid()")
      try connection.execute("INSERT INTO item (id, name, size) VALUES (-1, 'last', -1)")
      let log = "tandem_changes_item"
      return last
        + (try connection.valueRows(
          "SELECT seq - (SELECT min(seq) FROM \(log)) AS place, * FROM \(log) ORDER BY seq"
        ).map { [$0[0]] + $0[2...] })
    }
  }

  /// Checks that the log holds the key of each row, once.
  static func expectWholeLog(of database: Database, rowCount: Int) async throws {
    let log = try await log(of: database).dropFirst(2).map { $0[1] }
    let rows = try await TrackedInsertionTests.values("SELECT id FROM item", in: database)
    #expect(rows.count == rowCount + 1)
    #expect(Set(log) == Set(rows.map { $0[0] }))
    #expect(log.count == rows.count)
  }

  static let tables: [(columns: String, insertion: String)] = [
    ("(id INTEGER PRIMARY KEY, name, size)", "noted"),
    ("(id INTEGER PRIMARY KEY, name UNIQUE COLLATE NOCASE, size)", "noted"),
    ("(id TEXT, name TEXT, size TEXT, PRIMARY KEY (size, name))", "noted"),
    ("(id TEXT, name TEXT COLLATE NOCASE PRIMARY KEY, size INT)", "noted"),
    ("(id REAL, name BLOB, size REAL, rowid, PRIMARY KEY (name, id, size))", "noted"),
    ("(id, name, size)", "noted"),
    ("(id, oid, name, size, rowid)", "noted"),
    ("(id, name PRIMARY KEY, size) WITHOUT ROWID", "without undo"),
    ("(id, name PRIMARY KEY, size, rowid, oid, _rowid_)", "without undo"),
  ]

  enum Order: CaseIterable { case ascending, shuffled, chosen }

  @Test(
    "the log says just what triggers would have said, for all keys and orders", arguments: tables,
    Order.allCases)
  func sameLog(table: (columns: String, insertion: String), order: Order) async throws {
    let entries: [Entry] =
      switch order {
      case .ascending: Self.entries
      // 10,007 is prime: the numbers are all there, and few follow one another.
      case .shuffled: Self.entries.map { Entry($0.id ?? 0, id: ($0.id ?? 0) * 1_000 % 10_007) }
      case .chosen: Self.entries.map { Entry($0.id ?? 0, id: nil) }
      }
    let batch = try await Self.database(table.columns)
    let single = try await Self.database(table.columns)
    #expect(try await Self.insertion(into: batch) == table.insertion)
    try await batch.write { try $0.insert(contentsOf: entries) }
    try await single.write { transaction in
      for entry in entries { try transaction.insert(entry) }
    }
    let log = try await Self.log(of: batch)
    let expected = try await Self.log(of: single)
    // As one truth value: to show how two logs differ would take minutes.
    let isSame = log.dropFirst() == expected.dropFirst()
    #expect(isSame)
    // Without rowids, it is that of the log's beginning.
    #expect(log[0] == expected[0] || table.columns.contains("WITHOUT ROWID"))
    #expect(log.count == Int(Self.count) + 3)
  }

  @Test(
    "when a record fails, those before are noted, and nothing else", arguments: [0, 1, 999, 1700])
  func failing(position: Int) async throws {
    for isConstraint in [true, false] {
      let database = try await Self.database()
      var entries = Self.entries
      if isConstraint {
        entries[position].name = nil
      } else {
        entries[position].willEncode = { throw Refusal() }
      }
      let failing = entries
      try await database.write { transaction in
        do {
          try transaction.insert(contentsOf: failing)
          Issue.record("nothing failed")
        } catch let error as DatabaseError {
          #expect(isConstraint && error.code.primary == .constraint)
        } catch is Refusal {
          #expect(!isConstraint)
        }
      }
      try await Self.expectWholeLog(of: database, rowCount: position)
    }
  }

  @Test("a violated foreign key leaves no note of its row")
  func foreignKey() async throws {
    let database = try await Self.database(
      "(id INTEGER PRIMARY KEY, name, size, owner AS (iif(id = 9000, 0, 1)) STORED REFERENCES item)"
    )
    try await database.write { transaction in
      #expect(throws: DatabaseError.self) { try transaction.insert(contentsOf: Self.entries) }
    }
    try await Self.expectWholeLog(of: database, rowCount: 8_999)
  }

  @Test(
    "cancelled midway, nothing stays, and triggers note again, even if the closure goes on",
    arguments: [true, false])
  func cancelled(isCaught: Bool) async throws {
    let database = try await Self.database()
    let (started, signal) = AsyncStream<Void>.makeStream()
    let gate = Gate()
    var entries = Self.entries
    entries[1_500].willEncode = {
      signal.finish()
      gate.wait()
    }
    let waiting = entries
    let task = Task {
      try await database.write { transaction in
        do {
          try transaction.insert(contentsOf: waiting)
        } catch {
          if !isCaught { throw error }
        }
      }
    }
    for await _ in started {}
    task.cancel()
    gate.open()
    let error = await #expect(throws: (any Error).self) { try await task.value }
    #expect(error is CancellationError || isCaught)
    try await Self.expectWholeLog(of: database, rowCount: 0)
  }

  @Test("rows that cannot be noted cannot be committed", arguments: [10, 2_400])
  func unnotable(key: Int64) async throws {
    let database = try await Self.database()
    try await database.write { transaction in
      try transaction.connection.execute("CREATE UNIQUE INDEX i ON tandem_changes_item(k1)")
      try transaction.connection.execute("INSERT INTO tandem_changes_item (k1) VALUES (\(key))")
    }
    #expect(try await Self.insertion(into: database) == "noted")
    let error = await #expect(throws: DatabaseError.self) {
      try await database.write { transaction in
        let error = #expect(throws: DatabaseError.self) {
          try transaction.insert(contentsOf: Self.entries)
        }
        #expect(error?.code.primary == .constraint)
      }
    }
    #expect(error?.code == .misuse)
    try await database.write {
      try $0.connection.execute("DELETE FROM tandem_changes_item WHERE k1")
    }
    try await Self.expectWholeLog(of: database, rowCount: 0)
  }

  @Test("the log stays bounded")
  func bounded() async throws {
    let database = try await Self.database()
    let count = TableTracking.maxEntryCount
    try await database.write { transaction in
      try transaction.connection.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
        INSERT INTO tandem_changes_item (k1) SELECT -i FROM n
        """)
      try transaction.insert(contentsOf: Self.entries)
      let bounds = try transaction.connection.valueRows(
        "SELECT count(*), sum(k1 > 0), min(k1) FROM tandem_changes_item")
      #expect(
        bounds == [[.integer(Int64(count)), .integer(Self.count), .integer(-Int64(count))]])
    }
  }

  @Test("a statement under way goes on")
  func underWay() async throws {
    let database = try await Self.database()
    try await database.write { transaction in
      let statement = try transaction.connection.prepare("SELECT 1 UNION ALL SELECT id FROM item")
      #expect(try statement.step())
      try transaction.insert(contentsOf: Self.entries)
      #expect(try statement.step())
      statement.reset()
    }
    try await Self.expectWholeLog(of: database, rowCount: Int(Self.count))
  }

  @Test(
    "what tracking alone does not explain is left to the triggers",
    arguments: [
      ("CREATE TEMP TABLE item (id, name, size)", 0, 1),
      ("CREATE UNIQUE INDEX i ON item(name, size)", 1, 1),
      ("DROP TRIGGER tandem_track_delete_item", 1, 1),
      ("CREATE TRIGGER tandem_track_mine AFTER INSERT ON item BEGIN DELETE FROM other; END", 1, 0),
      ("CREATE TRIGGER mine AFTER INSERT ON item BEGIN DELETE FROM other; END", 1, 0),
      (
        "CREATE TRIGGER mine AFTER INSERT ON tandem_changes_item BEGIN DELETE FROM other; END", 1, 0
      ),
      ("ALTER TABLE tandem_changes_item ADD COLUMN more", 1, 1),
    ] as [(String, Int64, Int64)])
  func others(change: String, hasNotes: Int64, otherCount: Int64) async throws {
    let database = try await Self.database()
    #expect(try await Self.insertion(into: database) == "noted")
    try await database.write { transaction in
      try transaction.connection.execute("CREATE TABLE other AS SELECT 1 AS one")
      try transaction.connection.execute(change)
    }
    #expect(try await Self.insertion(into: database) != "noted")
    try await database.write { try $0.insert(contentsOf: Self.entries) }
    let counts = try await TrackedInsertionTests.values(
      "SELECT (SELECT count(*) > 1 FROM tandem_changes_item), count(*) FROM other", in: database)
    #expect(counts == [[.integer(hasNotes), .integer(otherCount)]])
  }
}
