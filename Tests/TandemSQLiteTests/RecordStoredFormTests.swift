import Foundation
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite("Typed records of files that other programs write")
struct RecordStoredFormTests {
  private let folder: TemporaryFolder
  private let database: Database

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(path: folder.file())
  }

  private struct Note: Codable, Identifiable, DatabaseRecord, Equatable {
    var id: UUID
    var time: Date
    var seen: Date?
  }

  private static let id = UUID(uuidString: "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6") ?? UUID()
  private static let other = UUID(uuidString: "00000000-7DEC-11D0-A765-00A0C91E6BF6") ?? UUID()

  @Test(
    "dates and UUIDs are read in the usual forms, and written in the form that the column has",
    arguments: [
      // As GRDB writes them.
      (
        "x'f81d4fae7dec11d0a76500a0c91e6bf6'", "2024-01-02 03:04:05.678",
        "x'000000007dec11d0a76500a0c91e6bf6'", "2024-01-02 03:04:06.500"
      ),
      // CURRENT_TIMESTAMP.
      (
        "'F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6'", "2024-01-02 03:04:05",
        "'00000000-7DEC-11D0-A765-00A0C91E6BF6'", "2024-01-02 03:04:06.5"
      ),
      (
        "'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'", "2024-01-02T03:04:05.678Z",
        "'00000000-7dec-11d0-a765-00a0c91e6bf6'", "2024-01-02T03:04:06.5Z"
      ),
    ])
  func forms(key: String, time: String, newKey: String, newTime: String) throws {
    try database.write { transaction in
      try transaction.execute(
        "CREATE TABLE note (id BLOB PRIMARY KEY, time DATETIME, seen DATETIME)")
      try transaction.execute(SQL(text: "INSERT INTO note VALUES (\(key), '\(time)', NULL)"))
      let note = try #require(try transaction.fetchOne(Note.self, "WHERE true"))
      let fraction = time.contains(".") ? 0.678 : 0
      #expect(note.id == Self.id)
      #expect(abs(note.time.timeIntervalSince1970 - (1_704_164_645 + fraction)) < 0.000_001)
      // The row is found by its key, and stays as it is.
      let before: [Record] = try transaction.fetchAll("SELECT * FROM note")
      #expect(try transaction.update(note))
      #expect(try transaction.fetchAll("SELECT * FROM note") == before)
      let new = Note(
        id: Self.other, time: Date(timeIntervalSince1970: 1_704_164_646.5),
        seen: Date(timeIntervalSince1970: 0))
      try transaction.insert(new)
      try transaction.upsert(new)
      let isSame: String? = try transaction.fetchValue(
        SQL(text: "SELECT time FROM note WHERE id = \(newKey)"))
      #expect(isSame == newTime)
      // No value shows the form of this column.
      #expect(try transaction.fetchValue("SELECT max(seen) FROM note") == "1970-01-01T00:00:00Z")
      #expect(try transaction.fetchAll(Note.self, "ORDER BY time") == [note, new])
      #expect(try transaction.delete(note) && transaction.delete(new))
    }
  }

  @Test("an empty table gets ISO 8601 and lower case, and keeps them")
  func emptyTable() throws {
    try database.write { transaction in
      try transaction.execute("CREATE TABLE note (id PRIMARY KEY, time, seen)")
      for (id, second) in [(Self.id, 0.0), (Self.other, 1)] {
        try transaction.insert(
          Note(id: id, time: Date(timeIntervalSince1970: second), seen: nil))
      }
      let rows: [Record] = try transaction.fetchAll("SELECT id, time FROM note ORDER BY time")
      #expect(
        rows == [
          [
            "id": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "time": "1970-01-01T00:00:00Z",
          ],
          ["id": "00000000-7dec-11d0-a765-00a0c91e6bf6", "time": "1970-01-01T00:00:01Z"],
        ])
    }
  }

  @Test(
    "a column of numbers is an error that says how to name their form, when read and when written")
  func numbers() throws {
    try database.write { transaction in
      try transaction.execute("CREATE TABLE note (id PRIMARY KEY, time, seen)")
      try transaction.execute("INSERT INTO note VALUES (x'00', 1704164645, NULL)")
      for sql in [
        "SELECT time, NULL AS seen, x'f81d4fae7dec11d0a76500a0c91e6bf6' AS id FROM note"
      ] as [SQL] {
        let error = try databaseError { _ = try transaction.fetchAll(sql, as: Note.self) }
        #expect(error.message.contains("RecordCoding(dates: .secondsSince1970)"), "\(error)")
      }
      let note = Note(id: Self.id, time: Date(), seen: nil)
      let key = try databaseError { try transaction.insert(note) }
      #expect(key.message.contains("column id") && key.message.contains("RecordCoding"), "\(key)")
      try transaction.execute("UPDATE note SET id = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'")
      struct Later: Codable, DatabaseRecord {
        static let tableName = "note"
        var id: UUID
        var time: Date
      }
      let time = try databaseError {
        try transaction.insert(Later(id: Self.other, time: Date()))
      }
      #expect(time.message.contains("such as 1704164645"), "\(time)")
      #expect(time.message.contains("RecordCoding(dates: .secondsSince1970)"), "\(time)")
    }
  }

  @Test("values without a date or UUID do not look for other values of their columns")
  func noSample() throws {
    struct Tagged: Codable, Identifiable, DatabaseRecord {
      enum Kind: String, Codable { case plain }
      var id: Int
      var kind: Kind
      var tags: [String]
      var times: [Date]
    }
    try database.write { transaction in
      try transaction.execute(
        "CREATE TABLE tagged (id INTEGER PRIMARY KEY, kind TEXT, tags TEXT, times TEXT)")
      try transaction.insert(Tagged(id: 1, kind: .plain, tags: ["a"], times: []))
      let before = transaction.connection.compilationCount
      try transaction.insert(Tagged(id: 2, kind: .plain, tags: ["b"], times: []))
      #expect(transaction.connection.compilationCount == before)
      try transaction.insert(
        Tagged(id: 3, kind: .plain, tags: [], times: [Date(timeIntervalSince1970: 0)]))
      #expect(transaction.connection.compilationCount == before + 1)
    }
  }

  @Test("a form that is named is written, whatever the column has")
  func named() throws {
    struct Note: Codable, Identifiable, DatabaseRecord {
      static let recordCoding = RecordCoding(dates: .iso8601, uuids: .blob)
      var id: UUID
      var time: Date
    }
    try database.write { transaction in
      try transaction.execute("CREATE TABLE note (id PRIMARY KEY, time)")
      try transaction.execute("INSERT INTO note VALUES ('a', '2024-01-02 03:04:05.678')")
      try transaction.insert(Note(id: Self.id, time: Date(timeIntervalSince1970: 0)))
      #expect(
        try transaction.fetchValue("SELECT hex(id) || time FROM note WHERE id <> 'a'")
          == "F81D4FAE7DEC11D0A76500A0C91E6BF61970-01-01T00:00:00Z")
      #expect(try transaction.fetchOne(Note.self, "WHERE id <> 'a'")?.id == Self.id)
    }
  }
}
