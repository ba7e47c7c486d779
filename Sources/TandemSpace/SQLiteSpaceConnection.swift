internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The rows of a space in a SQLite file of its own.
struct SQLiteSpaceConnection {
  let connection: DatabaseConnection

  init(_ connection: DatabaseConnection) { self.connection = connection }

  /// The highest version of the tables that this program knows.
  ///
  /// A file has version 4 from when another server follows it, version 3 from its first table on whose keys SQLite
  /// chooses, version 2 from its first constraint on, and version 1 before, which earlier versions of this program read.
  /// So no earlier version writes records without looking at constraints, or rows without noting them in the journal.
  private static let format: Int64 = 4
  private static let texts = SpaceStatement.allCases.map { StatementText($0.sqliteText) }

  private func text(_ statement: SpaceStatement) -> StatementText {
    Self.texts[statement.rawValue]
  }
}

extension SQLiteSpaceConnection: SpaceConnection {
  var place: String { connection.path }

  var isInTransaction: Bool { connection.isInTransaction }

  func run(_ statement: SpaceStatement, _ parameters: [FieldValue]) throws {
    try connection.run(text(statement), parameters)
    try noteInJournal(statement, parameters)
  }

  func row(_ statement: SpaceStatement, _ parameters: [FieldValue]) throws -> [FieldValue]? {
    try connection.row(text(statement), parameters)
  }

  func forEachRow(
    _ statement: SpaceStatement, _ parameters: [FieldValue],
    _ body: ([FieldValue]) throws -> Bool
  ) throws {
    try connection.forEachRow(text(statement), parameters) { try body(try $0.values()) }
  }

  var readsAhead: Bool { false }

  func expect(_ lookups: [SpaceLookup]) {}

  func savepoint<Value>(_ body: () throws -> Value) throws -> Value {
    try connection.savepoint(body)
  }

  func byteCount() throws -> Int64? {
    let pageCount = try connection.integer("PRAGMA page_count") ?? 0
    return pageCount * (try connection.integer("PRAGMA page_size") ?? 0)
  }
}

// MARK: - The file

extension SQLiteSpaceConnection {
  func createTables() throws -> Bool {
    try check(allowsEmptyFile: true)
    guard try connection.integer("PRAGMA application_id") == 0 else { return false }
    for statement in Self.schema { try connection.execute(statement) }
    for group in [SpaceTableGroup.changeCounts, .replicaNames, .columnDefinitions] {
      try make(group)
    }
    try connection.execute("PRAGMA application_id=\(SyncSpace.applicationID)")
    try connection.execute("PRAGMA user_version=1")
    return true
  }

  func check(allowsEmptyFile: Bool) throws {
    switch try connection.integer("PRAGMA application_id") {
    case SyncSpace.applicationID:
      try checkFormat()
      try checkHasNoPrograms()
    case 0 where try connection.integer("SELECT count(*) FROM sqlite_schema") == 0:
      guard allowsEmptyFile else {
        throw SpaceError(
          .empty, "it is empty, not a space; attach a database to make it one",
          path: connection.path)
      }
    default:
      throw SpaceError(
        .notASpace, "it is another database; a space has a file of its own", path: connection.path)
    }
  }

  private func checkFormat() throws {
    let format = try connection.integer("PRAGMA user_version") ?? 0
    guard format <= Self.format else {
      throw SpaceError(
        .newerFormat, "a newer version of Tandem wrote it (format \(format)); update this program",
        path: connection.path)
    }
  }

  /// Throws if the file holds SQL that SQLite would run when the space is read or written.
  private func checkHasNoPrograms() throws {
    let found = try connection.row(
      "SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view') LIMIT 1")
    guard let found, let type = found[0].textValue, let name = found[1].textValue else { return }
    throw SpaceError(
      .notASpace,
      "it holds the \(type) \(name.sqlQuoted), and a space has none: drop it if you know who made it, or "
        + "restore a backup", path: connection.path)
  }

  func has(_ group: SpaceTableGroup) throws -> Bool {
    switch group {
    case .changeCounts: try has(table: "change_count")
    case .replicaNames: try has(table: "replica_name")
    case .columnDefinitions: try has(table: "column_definition")
    case .parts: try has(table: "part")
    case .constraints: try connection.integer("PRAGMA user_version") ?? 0 >= 2
    case .statedClaims: try has(table: "claim_stated")
    case .numbers: try connection.integer("PRAGMA user_version") ?? 0 >= 3
    case .usage: try has(table: "usage")
    }
  }

  func has(table name: String) throws -> Bool {
    try connection.row("SELECT 1 FROM sqlite_schema WHERE name = ?", [.text(name)]) != nil
  }

  func make(_ group: SpaceTableGroup) throws {
    if case .numbers = group { try make(.constraints) }
    guard try !has(group) else { return }
    for statement in Self.definition(group) { try connection.execute(statement) }
  }

  private static let schema = [
    """
    CREATE TABLE space (
      id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT NOT NULL, head INTEGER NOT NULL,
      horizon INTEGER NOT NULL, tables TEXT NOT NULL)
    """,
    """
    CREATE TABLE record (
      tab TEXT NOT NULL, key BLOB NOT NULL, id TEXT NOT NULL, fields TEXT,
      version INTEGER NOT NULL, created INTEGER NOT NULL, field_versions TEXT NOT NULL,
      PRIMARY KEY (tab, key))
    """,
    "CREATE UNIQUE INDEX record_version ON record (version, tab, key)",
    """
    CREATE TABLE history (
      version INTEGER PRIMARY KEY, mark INTEGER NOT NULL, digest TEXT NOT NULL,
      commit_id TEXT, replica TEXT, time INTEGER NOT NULL)
    """,
    "CREATE UNIQUE INDEX history_commit ON history (commit_id) WHERE commit_id IS NOT NULL",
    """
    CREATE TABLE replica (
      id TEXT PRIMARY KEY, account TEXT, sequence INTEGER NOT NULL, commit_id TEXT NOT NULL,
      outcome TEXT NOT NULL) WITHOUT ROWID
    """,
    """
    CREATE TABLE overruled (
      version INTEGER NOT NULL, tab TEXT NOT NULL, id TEXT NOT NULL,
      record_version INTEGER NOT NULL, fields TEXT)
    """,
    "CREATE INDEX overruled_version ON overruled (version)",
  ]

  private static func definition(_ group: SpaceTableGroup) -> [String] {
    switch group {
    case .changeCounts:
      [
        """
        CREATE TABLE change_count (
          version INTEGER NOT NULL, tab TEXT NOT NULL, count INTEGER NOT NULL,
          PRIMARY KEY (version, tab)) WITHOUT ROWID
        """
      ]
    case .replicaNames:
      ["CREATE TABLE replica_name (id TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID"]
    case .columnDefinitions:
      [
        """
        CREATE TABLE column_definition (
          tab TEXT PRIMARY KEY, definitions TEXT NOT NULL) WITHOUT ROWID
        """
      ]
    case .parts:
      [
        """
        CREATE TABLE part (
          replica TEXT NOT NULL, sequence INTEGER NOT NULL, commit_id TEXT NOT NULL, part INTEGER NOT NULL,
          "of" INTEGER NOT NULL, account TEXT, base TEXT NOT NULL, change_count INTEGER NOT NULL,
          overruled_count INTEGER NOT NULL, time INTEGER NOT NULL,
          message BLOB NOT NULL, PRIMARY KEY (replica, part))
        """
      ]
    case .constraints:
      [
        """
        CREATE TABLE rule (
          number INTEGER PRIMARY KEY, tab TEXT NOT NULL, parent TEXT, definition TEXT NOT NULL,
          dropped INTEGER NOT NULL, UNIQUE (tab, definition))
        """,
        "CREATE INDEX rule_parent ON rule (parent)",
        """
        CREATE TABLE claim (
          rule INTEGER NOT NULL, side INTEGER NOT NULL, value BLOB NOT NULL, key BLOB NOT NULL,
          PRIMARY KEY (rule, side, value, key)) WITHOUT ROWID
        """,
        "PRAGMA user_version=2",
      ]
    case .statedClaims:
      // Finds the values that commits have stated for a record.
      ["CREATE INDEX claim_stated ON claim (rule, key) WHERE side = 2"]
    case .numbers:
      [
        "CREATE TABLE number (tab TEXT PRIMARY KEY, highest INTEGER NOT NULL)",
        "PRAGMA user_version=3",
      ]
    case .usage:
      [
        """
        CREATE TABLE usage (
          id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, records INTEGER NOT NULL,
          bytes INTEGER NOT NULL)
        """
      ]
    }
  }
}
