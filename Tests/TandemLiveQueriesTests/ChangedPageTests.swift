import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import TestRandom
import Testing

@testable import TandemLiveQueries

/// Rows that other processes change in a large table that is not tracked.
struct ChangedPageTests {
  private let folder: TemporaryFolder
  private let other: DatabaseConnection
  private let reader: DatabaseConnection

  init() throws {
    folder = try TemporaryFolder()
    other = try folder.otherConnection()
    try other.execute("CREATE TABLE p (id INTEGER PRIMARY KEY, v INT, s TEXT)")
    try other.execute(
      """
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999)
      INSERT INTO p SELECT i, i % 7, 'name of row ' || i FROM n
      """)
    reader = try DatabaseConnection(path: folder.path(of: "test.db"), access: .readOnly)
  }

  /// The keys of the rows to read; `nil` for the whole result, which then counts as read.
  private func touched(
    _ queryReader: inout QueryReader, _ known: Int..., isUnknown: Bool = true, rowCount: Int = 5_000
  ) throws -> [Int64]? {
    var changes = CommittedChanges()
    changes.isUnknown = isUnknown
    if !known.isEmpty {
      var keys = TouchedKeys()
      for key in known { keys.insert(RecordKey(.integer(Int64(key)))) }
      changes.touched[TableInterest(table: "p", key: .rowid, columns: [0, 1, 2])] = keys
    }
    return try reader.transaction(.deferred) {
      try reader.beginSnapshot()
      let reading = LiveReading(connection: reader) { _ in }
      switch try queryReader.advance(changes, reading).need {
      case .rows(let keys, _):
        return keys.compactMap { if case .integer(let id) = $0.values[0] { id } else { nil } }
      case .everything:
        try queryReader.didReadEverything(rowCount: rowCount, in: reader)
        return nil
      }
    }
  }

  private func queryReader(_ definition: QueryDefinition = .table("p")) -> QueryReader {
    QueryReader(definition, reserveCount: 100)
  }

  @Test("only the rows of changed pages are read, those that were deleted too")
  func changedPages() throws {
    var queryReader = queryReader()
    #expect(try touched(&queryReader) == nil)
    #expect(try touched(&queryReader) == [])
    try other.execute("UPDATE p SET v = 100 WHERE id = 2500")
    var keys = try #require(try touched(&queryReader))
    #expect(keys.contains(2_500) && keys.count < 500)
    try other.execute("DELETE FROM p WHERE id BETWEEN 1000 AND 1050")
    keys = try #require(try touched(&queryReader))
    #expect(Set(keys).isSuperset(of: 1_000...1_050))
    try other.execute("INSERT INTO p VALUES (5000, 1, 'new')")
    keys = try #require(try touched(&queryReader))
    #expect(keys.contains(5_000))
  }

  @Test("a row that this process changed and another one changed back is read")
  func changedBack() throws {
    var queryReader = queryReader()
    #expect(try touched(&queryReader) == nil)
    try other.execute("UPDATE p SET v = 100 WHERE id = 2500")
    #expect(try touched(&queryReader, 2_500, isUnknown: false) == [2_500])
    try other.execute("UPDATE p SET v = 2500 % 7 WHERE id = 2500")
    let keys = try #require(try touched(&queryReader))
    #expect(keys.contains(2_500))
  }

  @Test("the whole result is read again if that is the shorter way, or the only one")
  func wholeResult() throws {
    var small = queryReader(.query("SELECT * FROM p WHERE v = 1", key: ["id"]))
    #expect(try touched(&small, rowCount: 714) == nil)
    #expect(try touched(&small, rowCount: 714) == nil)
    var queryReader = queryReader()
    #expect(try touched(&queryReader) == nil)
    try other.execute("UPDATE p SET v = v + 1")
    #expect(try touched(&queryReader) == nil)
    try other.execute("UPDATE p SET id = -id * 1000000 WHERE id % 100 = 0")
    #expect(try touched(&queryReader) == nil)
    try other.execute("ALTER TABLE p ADD COLUMN t DEFAULT 1")
    #expect(try touched(&queryReader) == nil)
    #expect(try touched(&queryReader) == [])
  }

  @Test("what others do to a large table is delivered, whatever it is", arguments: 0..<4)
  func delivered(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let database = try Database(path: folder.path(of: "test.db"))
    let query: LiveQuery<Record> =
      seed % 2 == 0
      ? LiveQuery(table: "p") : LiveQuery("SELECT * FROM p WHERE v < 5 ORDER BY s, id", key: "id")
    var iterator = query.differences(in: database).makeAsyncIterator()
    var rows: [RecordKey: Record] = [:]
    for round in 0..<40 {
      let difference = try #require(try await iterator.next())
      for record in difference.deleted { rows[RecordKey(record["id"])] = nil }
      for record in difference.inserted + difference.updated.map(\.new) {
        rows[RecordKey(record["id"])] = record
      }
      let sql = seed % 2 == 0 ? "SELECT * FROM p" : "SELECT * FROM p WHERE v < 5"
      let fresh = try freshRows(sql, key: ["id"], in: reader)
      #expect(areIdentical(rows, fresh), "seed \(seed), round \(round)")
      let id = Int.random(in: 0..<5_000, using: &random)
      let row = try #require(
        try other.integer("SELECT min(id) FROM p WHERE id >= ? AND v < 5", .integer(Int64(id) / 2)))
      // One commit that changes the result.
      switch Int.random(in: 0..<6, using: &random) {
      case 0: try other.execute("DELETE FROM p WHERE id = \(row)")
      case 1:
        try other.execute("UPDATE p SET s = s || '!' WHERE id BETWEEN \(row) AND \(row + 300)")
      case 2: try other.execute("INSERT INTO p SELECT max(id) + 1, 0, 'new' FROM p")
      case 3: try other.execute("UPDATE p SET id = (SELECT max(id) + 1 FROM p) WHERE id = \(row)")
      case 4:
        try await database.run("UPDATE p SET s = s || '?' WHERE id = \(row)")
      default:
        try other.execute("UPDATE p SET s = s || hex(zeroblob(3000)) WHERE id = \(row)")
      }
    }
    await database.close()
  }
}
