import TandemRecords
import TandemSQLite
import TestFolder
import TestRandom
import Testing

/// A record written by hand, with a key of two columns.
private struct Reading: DatabaseRecord, Hashable, Comparable {
  static let tableName = "reading"
  static let columnNames = ["sensor", "value", "hour", "note"]
  static let keyColumnNames = ["sensor", "hour"]

  var sensor: String
  var hour: Int
  var value: Double
  var note: String?

  init(_ sensor: String, _ hour: Int, _ value: Double, _ note: String? = nil) {
    self.sensor = sensor
    self.hour = hour
    self.value = value
    self.note = note
  }

  init(row: inout RowDecoder) throws {
    sensor = try row.next()
    value = try row.next()
    hour = try row.next()
    note = try row.next()
  }

  func encode(to row: inout RowEncoder) throws {
    try row.append(sensor)
    try row.append(value)
    try row.append(hour)
    try row.append(note)
  }

  static func < (first: Reading, second: Reading) -> Bool {
    (first.sensor, first.hour) < (second.sensor, second.hour)
  }
}

struct DatabaseRecordTests {
  private let folder: TemporaryFolder
  private let database: Database

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(path: folder.file())
    try database.write { transaction in
      try transaction.execute(
        """
        CREATE TABLE reading (
          hour INTEGER, note TEXT, sensor TEXT, value REAL, extra DEFAULT 'kept',
          PRIMARY KEY (sensor, hour))
        """)
    }
  }

  private func all() throws -> [Reading] {
    try database.read { try $0.fetchAll(Reading.self, "ORDER BY sensor, hour") }
  }

  @Test(
    "random inserts, upserts, updates and deletes leave what a dictionary has", arguments: 0..<20)
  func random(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    var model: [String: Reading] = [:]
    try database.write { transaction in
      for step in 0..<200 {
        let hour = Int.random(in: 0..<6, using: &generator)
        let sensor = ["a", "A", "é"].randomElement(using: &generator)!
        let key = "\(sensor)\(hour)"
        let reading = Reading(
          sensor, hour, Double(step), Bool.random(using: &generator) ? "x" : nil)
        switch Int.random(in: 0..<6, using: &generator) {
        case 0:
          guard model[key] == nil else {
            let error = try databaseError { try transaction.insert(reading) }
            #expect(error.code.primary == .constraint)
            continue
          }
          try transaction.insert(reading)
          model[key] = reading
        case 1:
          try transaction.upsert(reading)
          model[key] = reading
        case 2:
          #expect(try transaction.update(reading) == (model[key] != nil), "seed \(seed)")
          if model[key] != nil { model[key] = reading }
        case 3: #expect(try transaction.delete(reading) == (model.removeValue(forKey: key) != nil))
        case 4:
          let isFound = try transaction.delete(Reading.self, key: sensor, hour)
          #expect(isFound == (model.removeValue(forKey: key) != nil))
        default:
          #expect(try transaction.fetchOne(Reading.self, key: sensor, hour) == model[key])
        }
      }
    }
    #expect(try all().sorted() == model.values.sorted(), "seed \(seed)")
  }

  @Test("an update leaves columns alone that the type does not have; so does an upsert")
  func otherColumns() throws {
    try database.write { transaction in
      try transaction.insert(Reading("a", 1, 1))
      try transaction.execute("UPDATE reading SET extra = 'mine'")
      #expect(try transaction.update(Reading("a", 1, 2)))
      try transaction.upsert(Reading("a", 1, 3))
      #expect(try transaction.fetchValue("SELECT extra FROM reading") == "mine")
    }
  }

  @Test("columns are found by name, whatever their order in the query and whatever else is there")
  func byName() throws {
    try database.write {
      try $0.insert(contentsOf: [Reading("a", 1, 1.5, "n"), Reading("b", 2, 2)])
    }
    let queries: [SQL] = [
      "SELECT * FROM reading ORDER BY sensor",
      "SELECT NOTE, Value, sensor, hour FROM reading ORDER BY sensor",
      "SELECT 1, hour, 2, value, note, sensor, 3 FROM reading ORDER BY sensor",
      "SELECT sensor, value, hour, note FROM reading ORDER BY sensor",
    ]
    for query in queries {
      let readings: [Reading] = try database.read { try $0.fetchAll(query) }
      #expect(readings == [Reading("a", 1, 1.5, "n"), Reading("b", 2, 2)], "\(query)")
    }
    let error = try databaseError {
      _ = try database.read {
        try $0.fetchAll("SELECT sensor, hour FROM reading", as: Reading.self)
      }
    }
    #expect(error.code == .mismatch)
    #expect(error.message.contains("value"))
  }

  @Test("a kept statement follows a change of the schema")
  func schemaChange() throws {
    let query: SQL = "SELECT * FROM reading"
    try database.write { transaction in
      try transaction.insert(Reading("a", 1, 1.5))
      #expect(try transaction.fetchAll(query) == [Reading("a", 1, 1.5)])
      try transaction.execute("ALTER TABLE reading DROP COLUMN extra")
      try transaction.execute("ALTER TABLE reading RENAME TO old")
      try transaction.execute(
        "CREATE TABLE reading (value REAL, x, y, note, hour, sensor, PRIMARY KEY (hour, sensor))")
      try transaction.execute(
        "INSERT INTO reading SELECT value, 0, 0, note, hour, sensor FROM old")
      #expect(try transaction.fetchAll(query) == [Reading("a", 1, 1.5)])
      try transaction.insert(Reading("b", 2, 2))
      #expect(try transaction.fetchAll(query, as: Reading.self).count == 2)
    }
  }

  @Test("a value of the wrong type is an error with column, value and type")
  func mismatch() throws {
    try database.write { transaction in
      try transaction.execute("INSERT INTO reading (sensor, hour, value) VALUES ('a', 1, 'warm')")
    }
    let error = try databaseError { _ = try all() }
    #expect(error.code == .mismatch)
    for word in ["value", "warm", "Double"] { #expect(error.message.contains(word)) }
  }

  @Test("the same query may run inside a loop over its own rows")
  func nestedCursors() throws {
    try database.write { try $0.insert(contentsOf: (0..<5).map { Reading("a", $0, 0) }) }
    let visited = try database.read { transaction in
      var visited: [Int] = []
      try transaction.withCursor(Reading.self, "ORDER BY hour") { outer in
        while let reading = try outer.next() {
          visited.append(reading.hour)
          let inner = try transaction.fetchAll(Reading.self, "ORDER BY hour")
          #expect(inner.count == 5)
        }
      }
      return visited
    }
    #expect(visited == [0, 1, 2, 3, 4])
  }

  @Test("a loop that ends early leaves nothing behind")
  func earlyEnd() throws {
    try database.write { try $0.insert(contentsOf: (0..<5).map { Reading("a", $0, 0) }) }
    try database.write { transaction in
      let first = try transaction.withCursor(Reading.self, "ORDER BY hour") { try $0.next() }
      #expect(first?.hour == 0)
      try transaction.execute("DROP TABLE reading")
    }
  }

  @Test("records written while they are read from a lazy sequence are all written")
  func lazySequence() throws {
    let readings = (0..<100).lazy.map { Reading("a", $0, Double($0)) }
    try database.write { try $0.insert(contentsOf: readings) }
    #expect(try all() == Array(readings))
  }

  @Test("an insert that fails within many leaves those before it, inside the transaction")
  func partialInsert() throws {
    try database.write { transaction in
      let error = try databaseError {
        try transaction.insert(contentsOf: [
          Reading("a", 1, 0), Reading("a", 1, 1), Reading("b", 1, 0),
        ])
      }
      #expect(error.code.primary == .constraint)
    }
    #expect(try all() == [Reading("a", 1, 0)])
  }
}

// MARK: - Mistakes

extension DatabaseRecordTests {
  private struct Miscounting: DatabaseRecord {
    static let tableName = "reading"
    static let columnNames = ["sensor", "hour"]
    static let keyColumnNames = ["sensor"]
    var count: Int

    init(count: Int) { self.count = count }

    init(row: inout RowDecoder) throws {
      count = 0
      while true { _ = try row.next(FieldValue.self) }
    }

    func encode(to row: inout RowEncoder) throws {
      for number in 0..<count { try row.append(number) }
    }
  }

  @Test("a type that encodes or decodes another number of columns than it says is told so")
  func miscounting() throws {
    try database.write { transaction in
      for count in [0, 1, 3, 9] {
        let error = try databaseError { try transaction.insert(Miscounting(count: count)) }
        #expect(error.code == .range, "\(count)")
      }
      try transaction.insert(Miscounting(count: 2))
      let error = try databaseError { _ = try transaction.fetchAll(Miscounting.self) }
      #expect(error.code == .range)
    }
  }

  private struct Keyless: DatabaseRecord {
    static let tableName = "reading"
    static let columnNames = ["hour"]
    init(row: inout RowDecoder) throws {}
    init() {}
    func encode(to row: inout RowEncoder) throws { try row.append(1) }
  }

  @Test("a type without its key's column is told so, and so is a query without its table")
  func missing() throws {
    try database.write { transaction in
      let error = try databaseError { try transaction.insert(Keyless()) }
      #expect(error.code == .mismatch)
      #expect(error.message.contains("id"))
      try transaction.execute("DROP TABLE reading")
      #expect(try databaseError { try transaction.insert(Reading("a", 1, 1)) }.code == .error)
    }
  }

  @Test("a caller's wrong number of key values traps")
  func wrongKey() async {
    await #expect(processExitsWith: .failure) {
      let database = try Database(path: ":memory:")
      _ = try database.read { try $0.fetchOne(Reading.self, key: "a") }
    }
    await #expect(processExitsWith: .failure) {
      let database = try Database(path: ":memory:")
      _ = try database.read { try $0.fetchOne(Reading.self, key: "a", 1, 2) }
    }
  }
}
