internal import TandemHTTP
internal import TandemRecords
internal import TandemSQLite

/// The state that a database keeps of the mirror into one of its tables: the columns and the key of the last
/// run, and where its list came from.
///
/// It is kept in `tandem_mirror`, with one row for each table, in `tandem_mirror_column`, with one row for each
/// column and each part of the key, and in `tandem_mirror_page`, with one row for each page after the first.
struct MirrorState: Equatable {
  /// The columns that runs have written so far.
  var columns: [String] = []
  /// The key of the last run.
  var key: [String] = []
  /// The URL that the records of the last run came from, and its validators; `nil` if there was none, or if anybody
  /// has changed the schema of the database since. A column that was dropped and added again is empty, and no trigger
  /// sees that.
  var origin: MirrorOrigin?
}

// MARK: - Reading

extension MirrorState {
  private static let table = "tandem_mirror"
  private static let columnTable = "tandem_mirror_column"
  private static let pageTable = "tandem_mirror_page"
  private static let stateColumns = [
    "table_name", "url", "entity_tag", "last_modified", "fingerprint",
  ]

  /// The state of a table's mirror; `nil` if none has run.
  static func load(
    table name: String, from connection: DatabaseConnection
  ) throws(DatabaseError) -> MirrorState? {
    guard let schema = try connection.schema(ofTable: table) else { return nil }
    try connection.requireColumns(stateColumns, of: schema)
    let row = try connection.row(
      "SELECT url, entity_tag, last_modified, fingerprint FROM \(table) WHERE table_name = ?",
      [.text(name)])
    guard let row else { return nil }
    var state = MirrorState()
    (state.columns, state.key) = try names(table: name, from: connection)
    let pages = try connection.rows(
      """
      SELECT url, entity_tag, last_modified FROM \(pageTable) WHERE table_name = ?
      ORDER BY position
      """, [.text(name)])
    state.origin = origin(
      row, pages: pages, schemaVersion: try connection.integer("PRAGMA schema_version"))
    return state
  }

  private static func names(
    table name: String, from connection: DatabaseConnection
  ) throws(DatabaseError) -> (columns: [String], key: [String]) {
    let rows = try connection.rows(
      "SELECT is_key, name FROM \(columnTable) WHERE table_name = ? ORDER BY position",
      [.text(name)])
    let keyed = rows.filter { $0[0] == 1 }
    let others = rows.filter { $0[0] != 1 }
    return (others.compactMap(\.[1].textValue), keyed.compactMap(\.[1].textValue))
  }

  /// The origin that a row and the rows of its pages hold; `nil` if there is none, if something else
  /// than text is where a page should be, or if the row is of another schema.
  private static func origin(
    _ row: [FieldValue], pages: [[FieldValue]], schemaVersion: Int64?
  ) -> MirrorOrigin? {
    guard let url = row[0].textValue else { return nil }
    let laterPages = pages.compactMap { page in
      page[0].textValue.map {
        RecordListValidators.LaterPage(url: $0, validators: HTTPValidators(page[1], page[2]))
      }
    }
    guard laterPages.count == pages.count else { return nil }
    let fingerprint = (row[3].textValue ?? "").split(
      separator: " ", omittingEmptySubsequences: false)
    guard fingerprint.count == 2, Int64(fingerprint[1]) == schemaVersion else { return nil }
    return MirrorOrigin(
      url: url,
      validators: RecordListValidators(HTTPValidators(row[1], row[2]), laterPages: laterPages),
      fingerprint: String(fingerprint[0]))
  }
}

// MARK: - Writing

extension MirrorState {
  /// Creates the tables that states are kept in, which the triggers of mirrored tables need, if they are
  /// missing.
  static func prepareTables(in connection: DatabaseConnection) throws(DatabaseError) {
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS \(table) (
        table_name TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
        url TEXT, entity_tag TEXT, last_modified TEXT, fingerprint TEXT
      ) WITHOUT ROWID
      """)
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS \(columnTable) (
        table_name TEXT NOT NULL COLLATE NOCASE, is_key INTEGER NOT NULL, position INTEGER NOT NULL,
        name TEXT NOT NULL, PRIMARY KEY (table_name, is_key, position)
      ) WITHOUT ROWID
      """)
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS \(pageTable) (
        table_name TEXT NOT NULL COLLATE NOCASE, position INTEGER NOT NULL, url TEXT NOT NULL,
        entity_tag TEXT, last_modified TEXT, PRIMARY KEY (table_name, position)
      ) WITHOUT ROWID
      """)
  }

  /// Makes this the state of a table's mirror, in the transaction that is open; writes nothing if it is
  /// already.
  func save(table name: String, to connection: DatabaseConnection) throws(DatabaseError) {
    guard try !isSaved(table: name, in: connection) else { return }
    try saveRows(table: name, to: connection)
    try updateTriggers(table: name, in: connection)
    let version = try connection.integer("PRAGMA schema_version") ?? 0
    try connection.execute(
      """
      INSERT OR REPLACE INTO \(Self.table) (table_name, url, entity_tag, last_modified, fingerprint)
      VALUES (?, ?, ?, ?, ?)
      """, .text(name), FieldValue(origin?.url), FieldValue(origin?.validators.first.entityTag),
      FieldValue(origin?.validators.first.lastModified),
      FieldValue(origin.map { "\($0.fingerprint) \(version)" }))
  }

  /// Replaces the rows of the columns, the key and the pages.
  private func saveRows(
    table name: String, to connection: DatabaseConnection
  ) throws(DatabaseError) {
    for table in [Self.columnTable, Self.pageTable] {
      try connection.execute("DELETE FROM \(table) WHERE table_name = ?", .text(name))
    }
    for (isKey, names) in [columns, key].enumerated() {
      for (position, column) in names.enumerated() {
        try connection.execute(
          "INSERT INTO \(Self.columnTable) VALUES (?, ?, ?, ?)", .text(name),
          .integer(Int64(isKey)), .integer(Int64(position)), .text(column))
      }
    }
    for (position, page) in (origin?.validators.laterPages ?? []).enumerated() {
      try connection.execute(
        "INSERT INTO \(Self.pageTable) VALUES (?, ?, ?, ?, ?)", .text(name),
        .integer(Int64(position)), .text(page.url), FieldValue(page.validators.entityTag),
        FieldValue(page.validators.lastModified))
    }
  }

  /// True if this is the state of a table's mirror already, with the triggers that it needs.
  func isSaved(
    table name: String, in connection: DatabaseConnection
  ) throws(DatabaseError) -> Bool {
    guard try MirrorState.load(table: name, from: connection) == self else { return false }
    if !hasValidators { return true }
    return try MirrorState.guardsValidators(table: name, in: connection)
  }

  /// True if there are validators, which a change of the table must remove.
  private var hasValidators: Bool { origin.map { !$0.validators.isEmpty } ?? false }
}

// MARK: - Triggers

extension MirrorState {
  private static let events = ["insert", "update", "delete"]

  /// The triggers that remove the validators when anybody changes the table: otherwise the server's "not
  /// modified" would be taken as proof that the table is as the last run left it.
  private static func triggers(table name: String) -> TriggerSet {
    var triggers = TriggerSet(prefix: "tandem_validators_", table: name)
    let removal = """
      UPDATE \(table) SET url = NULL, entity_tag = NULL, last_modified = NULL \
      WHERE table_name = \(name.sqlLiteral) AND url IS NOT NULL;
      """
    for event in events { triggers.add(event, "AFTER \(event.uppercased())", [removal]) }
    return triggers
  }

  /// Keeps the triggers as long as there are validators.
  private func updateTriggers(
    table name: String, in connection: DatabaseConnection
  ) throws(DatabaseError) {
    let triggers = MirrorState.triggers(table: name)
    // A change of the schema makes all programs compile their statements again.
    var areRight = false
    if hasValidators { areRight = try triggers.isInstalled(in: connection) }
    let installedNames =
      areRight ? [] : try triggers.installedNames(kinds: MirrorState.events, in: connection)
    for name in installedNames {
      try connection.execute("DROP TRIGGER IF EXISTS \(name.sqlQuoted)")
    }
    if hasValidators, !areRight { try triggers.install(in: connection) }
  }

  /// True if all triggers that guard the validators are in place.
  static func guardsValidators(
    table name: String, in connection: DatabaseConnection
  ) throws(DatabaseError) -> Bool {
    try triggers(table: name).isInstalled(in: connection)
  }
}

// MARK: - Values

extension HTTPValidators {
  /// Validators from two columns; what is not text is none.
  init(_ entityTag: FieldValue, _ lastModified: FieldValue) {
    self.init(entityTag: entityTag.textValue, lastModified: lastModified.textValue)
  }
}

extension FieldValue {
  /// The text, or null.
  init(_ text: String?) { self = text.map { .text($0) } ?? .null }
}

extension DatabaseConnection {
  /// Throws unless one of Tandem's tables has these columns: another program, or another version, may have
  /// created it.
  func requireColumns(_ names: [String], of schema: TableSchema) throws(DatabaseError) {
    guard schema.columnNames == names else {
      throw DatabaseError(
        code: .mismatch,
        message: "another version of Tandem created the table \(schema.name); "
          + "use that version, or mirror into another database", path: path)
    }
  }
}
