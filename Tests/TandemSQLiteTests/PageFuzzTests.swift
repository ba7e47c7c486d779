import Foundation
import TandemDifferences
import TandemRecords
import TestFolder
import TestRandom
import Testing

@testable import TandemSQLite

/// Comparisons by pages beside comparisons of all rows, over files that have gone their ways.
struct PageFuzzTests {
  @Test("two files of one history differ as their rows do", arguments: 0..<20)
  func copies(seed: UInt64) throws {
    var world = try PageWorld(seed: seed)
    try world.copy()
    var rangesCount = 0
    for round in 0..<40 {
      try world.edit(Bool.random(using: &world.random) ? .old : .new)
      let (expected, found, hasRanges) = try world.compare()
      #expect(found == expected, "seed \(seed), round \(round), \(world)")
      if hasRanges { rangesCount += 1 }
    }
    if world.kind.hasRowid { #expect(rangesCount > 0, "seed \(seed), \(world)") }
  }

  @Test("the rows that others changed are among those of changed pages", arguments: 0..<20)
  func followed(seed: UInt64) throws {
    var world = try PageWorld(seed: seed)
    let reader = try DatabaseConnection(path: world.path(of: .old), access: .readOnly)
    var digests: TableDigests?
    var rows: [FieldValue: Record] = [:]
    var foundCount = 0
    for round in 0..<40 {
      if round > 0 { try world.edit(.old) }
      try reader.transaction(.deferred) {
        try reader.beginSnapshot()
        // The snapshot is older than this.
        if Int.random(in: 0..<3, using: &world.random) == 0 { try world.editBesideReader() }
        let new = try world.rowsByRowid(reader)
        var touched = try digests?.advance(maxRowidCount: 20_000, in: reader)
        if let touched = touched?.keys {
          foundCount += 1
          for (rowid, record) in rows where new[rowid].map(record.hasSameStorage) != true {
            #expect(touched.contains(RecordKey(rowid)), "seed \(seed), round \(round), \(world)")
          }
          for rowid in new.keys where rows[rowid] == nil {
            #expect(touched.contains(RecordKey(rowid)), "seed \(seed), round \(round), \(world)")
          }
        } else {
          digests = try TableDigests(table: "t", maxPageCount: .max, in: reader)
          touched = nil
        }
        rows = new
      }
    }
    #expect(foundCount > 0, "seed \(seed), \(world)")
  }
}

/// Two files, one a copy of the other, of a random form, and random changes of them.
struct PageWorld: CustomStringConvertible {
  enum Side: String { case old, new }

  struct Kind {
    var sql: String
    var key: [String]
    var hasRowid = true
    var hasNumericKey = false
  }

  static let kinds = [
    Kind(sql: "k INTEGER PRIMARY KEY, v, w, x", key: ["k"], hasNumericKey: true),
    Kind(
      sql: "v, k INTEGER PRIMARY KEY, w REAL, x AS (typeof(v))", key: ["k"], hasNumericKey: true),
    Kind(sql: "k TEXT PRIMARY KEY, v, w, x", key: ["k"]),
    Kind(sql: "k TEXT COLLATE NOCASE, v, w, x, PRIMARY KEY (w, k)", key: ["w", "k"]),
    Kind(sql: "v, k INT PRIMARY KEY, w, x", key: ["k"], hasNumericKey: true),
  ]

  var random: SplitMix64
  let kind: Kind
  private let folder: TemporaryFolder
  private let pageSize: Int
  private let journal: String
  private let settings: [String]
  private var connections: [Side: DatabaseConnection] = [:]
  private var nextKey = 0

  init(seed: UInt64) throws {
    random = SplitMix64(seed: seed)
    folder = try TemporaryFolder()
    kind = Self.kinds.randomElement(using: &random) ?? Self.kinds[0]
    pageSize = [512, 512, 1_024, 4_096, 65_536].randomElement(using: &random) ?? 512
    journal = ["wal", "wal", "delete", "persist"].randomElement(using: &random) ?? "wal"
    settings = [
      "PRAGMA page_size=\(pageSize)",
      "PRAGMA auto_vacuum=\(Int.random(in: 0...2, using: &random))",
      "PRAGMA encoding='\(Int.random(in: 0..<4, using: &random) == 0 ? "UTF-16le" : "UTF-8")'",
    ]
    let connection = try open(.old, settings)
    try connection.execute("CREATE TABLE other (a, b)")
    try connection.execute("CREATE TABLE t (\(kind.sql))")
    try insert(Int.random(in: 0..<400, using: &random), into: connection)
    connections[.old] = connection
  }

  var description: String { "\(kind.sql), \(settings.joined(separator: ", ")), \(journal)" }

  func path(of side: Side) -> String { folder.path(of: "\(side.rawValue).db") }

  private func open(_ side: Side, _ settings: [String] = []) throws -> DatabaseConnection {
    let connection = try DatabaseConnection(
      path: path(of: side), DatabaseConfiguration(journal: .asItIs, busyTimeout: .zero))
    for setting in settings { try connection.execute(setting) }
    try connection.execute("PRAGMA journal_mode=\(journal)")
    try connection.execute("PRAGMA synchronous=OFF")
    return connection
  }

  /// Makes the new file a copy of the old one, byte by byte.
  mutating func copy() throws {
    connections = [:]
    try FileManager.default.copyItem(atPath: path(of: .old), toPath: path(of: .new))
    for side in [Side.old, .new] { connections[side] = try open(side) }
  }

  private mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  private mutating func value() -> FieldValue {
    switch below(12) {
    case 0: .null
    case 1: .integer(Int64(below(5)))
    case 2: .real(Double(below(5)) / 2)
    case 3: .text(String(repeating: "long ", count: below(pageSize)))
    case 4: .blob(Array(repeating: UInt8(below(256)), count: below(3 * pageSize)))
    default: .text("value \(below(1_000_000))")
    }
  }

  private mutating func insert(_ count: Int, into connection: DatabaseConnection) throws {
    for _ in 0..<count {
      nextKey += 1
      let number = below(3) == 0 ? nextKey * 7_919 % 100_003 : nextKey
      let key: FieldValue = kind.hasNumericKey ? .integer(Int64(number)) : .text("key \(number)")
      try connection.execute(
        "INSERT OR REPLACE INTO t (k, v, w) VALUES (?, ?, ?)", key, value(),
        .integer(Int64(below(9))))
    }
  }

  /// A transaction of another kind each time.
  mutating func edit(_ side: Side) throws {
    guard let connection = connections[side] else { return }
    let place = kind.hasNumericKey ? "k" : "rowid"
    let row =
      "WHERE \(place) >= (SELECT min(\(place)) FROM t) + \(below(500)) ORDER BY rowid LIMIT 1"
    switch below(24) {
    case 0..<7: try connection.execute("UPDATE t SET v = ? \(row)", value())
    case 7..<10: try connection.execute("DELETE FROM t \(row)")
    case 10..<13: try connection.transaction { try insert(below(4), into: connection) }
    case 13: try connection.transaction { try insert(below(100), into: connection) }
    case 14: try connection.execute("DELETE FROM t WHERE rowid % \(below(9) + 1) = 0")
    case 15: try connection.execute("UPDATE t SET w = w || '' WHERE rowid % 50 = \(below(50))")
    case 16: try connection.execute("VACUUM")
    case 17: try connection.execute("INSERT INTO other VALUES (randomblob(\(below(20_000))), 1)")
    case 18: try connection.execute("DELETE FROM other")
    case 19: try connection.execute("UPDATE OR IGNORE t SET rowid = rowid + \(below(900)) \(row)")
    case 20: try connection.execute("PRAGMA incremental_vacuum")
    case 21 where below(4) == 0: try rebuild(connection)
    case 22:
      try connection.execute(
        below(2) == 0 ? "DROP INDEX IF EXISTS i" : "CREATE INDEX IF NOT EXISTS i ON t(v)")
    case 23 where below(8) == 0:
      try connection.execute("ALTER TABLE t ADD COLUMN c\(below(1_000_000)) DEFAULT 'none'")
    default: try checkpoint(connection)
    }
  }

  private mutating func rebuild(_ connection: DatabaseConnection) throws {
    try connection.transaction {
      try connection.execute("CREATE TEMP TABLE u AS SELECT k, v, w FROM t ORDER BY v")
      try connection.execute("DROP TABLE t")
      try connection.execute("CREATE TABLE t (\(kind.sql))")
      try connection.execute("INSERT INTO t (k, v, w) SELECT * FROM u")
      try connection.execute("DROP TABLE u")
    }
  }

  private mutating func checkpoint(_ connection: DatabaseConnection) throws {
    let mode = ["PASSIVE", "FULL", "RESTART", "TRUNCATE"].randomElement(using: &random) ?? ""
    _ = try? connection.execute("PRAGMA wal_checkpoint(\(mode))")
  }

  /// Commits, and moves the log, while a reader keeps its snapshot.
  mutating func editBesideReader() throws {
    guard journal == "wal", let connection = connections[.old] else { return }
    for _ in 0..<below(4) {
      switch below(3) {
      case 0: try checkpoint(connection)
      case 1: try connection.execute("UPDATE t SET w = w + 1 WHERE rowid % 3 = \(below(3))")
      default: try connection.transaction { try insert(below(50), into: connection) }
      }
    }
  }

  /// The changes by looking each key up, those that the comparison finds, and whether it was by ranges.
  mutating func compare() throws -> ([SetChange<Record>], [SetChange<Record>], Bool) {
    let old = try DatabaseConnection(path: path(of: .old), access: .readOnly)
    let new = try DatabaseConnection(path: path(of: .new), access: .readOnly)
    let comparison = TableComparison(from: try old.table(), to: try new.table(), key: kind.key)
    var (expected, found): ([SetChange<Record>], [SetChange<Record>]) = ([], [])
    var hasRanges = false
    try old.transaction(.deferred) {
      try new.transaction(.deferred) {
        try old.beginSnapshot()
        try new.beginSnapshot()
        if below(3) == 0 { try editBesideReader() }
        hasRanges =
          try ChangedRowids.ranges(
            from: ComparedTable(comparison.old, key: kind.key, of: old, allowsAnyKey: false),
            to: ComparedTable(comparison.new, key: kind.key, of: new, allowsAnyKey: false)) != nil
        try comparison.forEachChange(from: old, to: new) { found.append($0) }
        expected = changes(from: try records(old), to: try records(new))
      }
    }
    return (expected, found, hasRanges)
  }

  private func records(_ connection: DatabaseConnection) throws -> [Record] {
    let statement = try connection.prepare("SELECT * FROM t")
    let layout = try #require(RecordLayout(statement.columnNames))
    var records: [Record] = []
    while try statement.step() {
      records.append(try #require(Record(layout: layout, values: try statement.values())))
    }
    return records
  }

  private func changes(from old: [Record], to new: [Record]) -> [SetChange<Record>] {
    func byKey(_ records: [Record]) -> [RecordKey: Record] {
      Dictionary(
        uniqueKeysWithValues: records.map { record in
          (RecordKey(kind.key.map { record[$0] }), record)
        })
    }
    let (old, new) = (byKey(old), byKey(new))
    return Set(old.keys).union(new.keys).sorted().compactMap { key in
      switch (old[key], new[key]) {
      case (let old?, let new?):
        let names = Set(old.layout.names + new.layout.names)
        return names.allSatisfy { old[$0] == new[$0] } ? nil : .updated(old: old, new: new)
      case (let old?, nil): return .deleted(old)
      case (nil, let new?): return .inserted(new)
      case (nil, nil): return nil
      }
    }
  }

  /// The rows by rowid, as one snapshot has them.
  func rowsByRowid(_ connection: DatabaseConnection) throws -> [FieldValue: Record] {
    // Compiling alone would trust the schema as the connection last saw it.
    _ = try connection.integer("SELECT count(*) FROM sqlite_schema")
    let statement = try connection.prepare("SELECT rowid AS number, * FROM t")
    let layout = try #require(RecordLayout(statement.columnNames))
    var rows: [FieldValue: Record] = [:]
    while try statement.step() {
      let values = try statement.values()
      rows[values[0]] = Record(layout: layout, values: values)
    }
    return rows
  }
}
