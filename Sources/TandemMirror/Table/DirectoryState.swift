internal import TandemRecords
internal import TandemSQLite

/// The state that a database keeps of the files of a table's mirror: the token of their directory in
/// `tandem_mirror_directory`, and the contents that rows have files of in `tandem_mirror_content`.
struct DirectoryState: Equatable {
  /// A content that rows have files of.
  struct Content: Hashable {
    var stage: String
    var field: String
  }

  /// A random text, which the directory has too.
  var owner: String
  /// The contents that rows have files of, in their order; none until a run has ended.
  var contents: [Content] = []
}

extension DirectoryState.Content {
  init(_ content: MirroredContent) { self.init(stage: content.stage.name, field: content.field) }

  /// The column with the paths of the files.
  fileprivate var fileField: String {
    MirroredContent(MirrorStage(name: stage), field: field).fileField
  }
}

extension DirectoryState {
  /// Throws if the rows have files of contents that a run does not name: the run would remove their paths
  /// from the rows, and no row would point to the files any more.
  ///
  /// Columns that the application has dropped have no files.
  func requireContents(
    _ contents: [MirroredContent], ofTable schema: TableSchema?
  ) throws(MirrorError) {
    guard let schema else { return }
    let named = contents.map(Content.init)
    let forgotten = self.contents.filter {
      !named.contains($0) && schema.column(named: $0.fileField) != nil
    }
    guard !forgotten.isEmpty else { return }
    let columns = forgotten.map(\.fileField).joined(separator: " and ")
    let options = forgotten.map { "`\($0.stage)` \($0.field)" }.joined(separator: " ")
    throw MirrorError(
      .unfitDestination,
      "table \(schema.name) has files in \(columns), which this run would forget: give \(options) "
        + "again, with their `directory`; or, to have them mirrored no more, and keep what is in these "
        + "columns, first run DELETE FROM \(Self.table) WHERE table_name = \(schema.name.sqlLiteral)"
    )
  }
}

// MARK: - In the database

extension DirectoryState {
  private static let table = "tandem_mirror_directory"
  private static let contentTable = "tandem_mirror_content"

  /// The state of a table's files; `nil` if none were mirrored.
  static func load(
    table name: String, from connection: DatabaseConnection
  ) throws(DatabaseError) -> DirectoryState? {
    guard let schema = try connection.schema(ofTable: table) else { return nil }
    try connection.requireColumns(["table_name", "owner"], of: schema)
    let row = try connection.row("SELECT owner FROM \(table) WHERE table_name = ?", [.text(name)])
    guard let owner = row?[0].textValue else { return nil }
    let rows = try connection.rows(
      "SELECT stage, field FROM \(contentTable) WHERE table_name = ? ORDER BY position",
      [.text(name)])
    return DirectoryState(
      owner: owner, contents: rows.compactMap { Content(stage: $0[0], field: $0[1]) })
  }

  /// Makes this the state of a table's files, in the transaction that is open.
  func save(table name: String, to connection: DatabaseConnection) throws(DatabaseError) {
    try Self.prepareTables(in: connection)
    try connection.execute(
      "INSERT OR REPLACE INTO \(Self.table) VALUES (?, ?)", .text(name), .text(owner))
    try connection.execute("DELETE FROM \(Self.contentTable) WHERE table_name = ?", .text(name))
    for (position, content) in contents.enumerated() {
      try connection.execute(
        "INSERT INTO \(Self.contentTable) VALUES (?, ?, ?, ?)", .text(name),
        .integer(Int64(position)), .text(content.stage), .text(content.field))
    }
  }

  private static func prepareTables(in connection: DatabaseConnection) throws(DatabaseError) {
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS \(table) (
        table_name TEXT NOT NULL COLLATE NOCASE PRIMARY KEY, owner TEXT NOT NULL
      ) WITHOUT ROWID
      """)
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS \(contentTable) (
        table_name TEXT NOT NULL COLLATE NOCASE, position INTEGER NOT NULL, stage TEXT NOT NULL,
        field TEXT NOT NULL, PRIMARY KEY (table_name, position)
      ) WITHOUT ROWID
      """)
  }
}

extension DirectoryState.Content {
  fileprivate init?(stage: FieldValue, field: FieldValue) {
    guard let stage = stage.textValue, let field = field.textValue else { return nil }
    self.init(stage: stage, field: field)
  }
}
