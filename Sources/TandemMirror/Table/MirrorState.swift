internal import TandemHTTP
internal import TandemRecords
internal import TandemSQLite

/// What a database remembers of the mirror in one of its tables, in the table `tandem_mirror`.
struct MirrorState: Equatable {
  /// The columns that runs have written so far.
  var columns: [String] = []
  /// The key the last run compared by.
  var key: [String] = []
  /// Where the records of the last run came from, and its validators; empty unless it was a URL.
  var origin: MirrorOrigin?
}

extension MirrorState {
  private static let table = "tandem_mirror"
  /// Columns that tables of earlier versions lack, in the order in which they are added.
  private static let addedColumns = ["fingerprint", "pages"].map {
    ColumnDefinition(name: $0, type: .text)
  }

  /// The state of a table's mirror; `nil` if none has run.
  static func load(
    table name: String, from connection: DatabaseConnection
  ) throws(DatabaseError) -> MirrorState? {
    guard let schema = try connection.schema(ofTable: table) else { return nil }
    let added = addedColumns.map { schema.column(named: $0.name)?.name ?? "NULL" }
    let statement = try connection.prepare(
      """
      SELECT columns, key_columns, url, entity_tag, last_modified, \(added.joined(separator: ", "))
      FROM \(table) WHERE table_name = ? COLLATE NOCASE
      """)
    try statement.bind([.text(name)])
    guard try statement.step() else { return nil }
    var state = MirrorState()
    state.columns = try names(statement.value(at: 0))
    state.key = try names(statement.value(at: 1))
    state.origin = try origin(in: statement)
    return state
  }

  /// The origin in a row; `nil` if there is none, or what is there of its pages cannot be read.
  private static func origin(in row: Statement) throws(DatabaseError) -> MirrorOrigin? {
    guard let url = try row.value(at: 2).textValue else { return nil }
    let first = HTTPValidators(
      entityTag: try row.value(at: 3).textValue, lastModified: try row.value(at: 4).textValue)
    let pages = try row.value(at: 6)
    guard pages.isNull || pages.textValue != nil,
      let validators = RecordListValidators(first, laterPagesText: pages.textValue)
    else { return nil }
    return MirrorOrigin(
      url: url, validators: validators, fingerprint: try row.value(at: 5).textValue ?? "")
  }

  /// Creates the table that states are kept in, which the triggers of mirrored tables need, if it is
  /// missing, or lacks columns.
  static func prepareTable(in connection: DatabaseConnection) throws(DatabaseError) {
    if let schema = try connection.schema(ofTable: table) {
      for column in addedColumns where schema.column(named: column.name) == nil {
        try connection.addColumn(column, toTable: table)
      }
      return
    }
    try connection.execute(
      """
      CREATE TABLE \(MirrorState.table) (
        table_name TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
        columns TEXT NOT NULL, key_columns TEXT NOT NULL,
        url TEXT, entity_tag TEXT, last_modified TEXT,
        \(addedColumns.map { "\($0.name) TEXT" }.joined(separator: ", "))
      ) WITHOUT ROWID
      """)
  }

  /// Makes this the state of a table's mirror, in the transaction that is open; writes nothing if it
  /// is already.
  func save(table name: String, to connection: DatabaseConnection) throws(DatabaseError) {
    guard try !isSaved(table: name, in: connection) else { return }
    try connection.execute(
      "INSERT OR REPLACE INTO \(MirrorState.table) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      .text(name), MirrorState.text(columns), MirrorState.text(key),
      FieldValue(origin?.url), FieldValue(origin?.validators.first.entityTag),
      FieldValue(origin?.validators.first.lastModified), FieldValue(origin?.fingerprint),
      FieldValue(origin?.validators.laterPagesText))
    try updateTriggers(table: name, in: connection)
  }

  /// Whether this is the state of a table's mirror, with everything that guards it.
  func isSaved(
    table name: String, in connection: DatabaseConnection
  ) throws(DatabaseError) -> Bool {
    guard try MirrorState.load(table: name, from: connection) == self else { return false }
    if isForgettable { return true }
    return try MirrorState.guardsValidators(table: name, in: connection)
  }

  /// Whether there are no validators that a change of the table would have to make forgotten.
  private var isForgettable: Bool { origin?.validators.isEmpty ?? true }

  private static let events = ["INSERT", "UPDATE", "DELETE"]

  private static func trigger(_ event: String, table name: String) -> String {
    "tandem_mirror_\(name)_\(event.lowercased())"
  }

  /// Keeps triggers that forget the validators when anybody changes the table, for otherwise the
  /// server's "not modified" would be taken to mean that the table is as the last run left it.
  private func updateTriggers(
    table name: String, in connection: DatabaseConnection
  ) throws(DatabaseError) {
    for event in MirrorState.events {
      let trigger = MirrorState.trigger(event, table: name)
      // One of this name may belong to a table that was renamed since.
      try connection.execute("DROP TRIGGER IF EXISTS \(trigger.sqlQuoted)")
      if isForgettable { continue }
      try connection.execute(
        """
        CREATE TRIGGER \(trigger.sqlQuoted) AFTER \(event) ON \(name.sqlQuoted) BEGIN
          UPDATE \(MirrorState.table) SET url = NULL, entity_tag = NULL, last_modified = NULL
          WHERE table_name = \(name.sqlLiteral) AND url IS NOT NULL;
        END
        """)
    }
  }

  /// Whether all the triggers that guard the validators are in place.
  static func guardsValidators(
    table name: String, in connection: DatabaseConnection
  ) throws(DatabaseError) -> Bool {
    for event in events {
      let count = try connection.integer(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name = ? AND tbl_name = ?",
        .text(trigger(event, table: name)), .text(name))
      if count != 1 { return false }
    }
    return true
  }

  /// Names as a JSON array of objects, which the record reader reads back.
  private static func text(_ names: [String]) -> FieldValue {
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(names.map { ["name": .text($0)] }, to: &bytes)
    return .text(String(decoding: bytes, as: UTF8.self))
  }

  private static func names(_ value: FieldValue) throws(DatabaseError) -> [String] {
    guard let text = value.textValue,
      let records = try? RecordReader.records(in: Array(text.utf8), format: .json)
    else { return [] }
    return records.compactMap { $0["name"].textValue }
  }
}

extension FieldValue {
  /// The text, or null.
  init(_ text: String?) { self = text.map { .text($0) } ?? .null }

  /// The text, if it is one.
  var textValue: String? {
    if case .text(let text) = self { text } else { nil }
  }
}

extension String {
  /// The text as SQL writes it: `'it''s'`. A quote may carry a combining mark, so characters will not
  /// do.
  var sqlLiteral: String {
    let scalars = unicodeScalars.flatMap { $0 == "'" ? [$0, $0] : [$0] }
    return "'\(String(String.UnicodeScalarView(scalars)))'"
  }
}
