internal import TandemRecords
internal import TandemSQLite

/// What a database remembers of the files of a table's mirror, in the table `tandem_mirror_directory`.
struct DirectoryState: Equatable {
  /// A content that rows have files of.
  struct Content: Equatable {
    var stage: String
    var field: String
  }

  /// A random text, which the directory has too.
  var owner: String
  /// What the rows have files of; nothing until a run has got to its end.
  var contents: [Content] = []
}

extension DirectoryState.Content {
  init(_ content: MirroredContent) { self.init(stage: content.stage.name, field: content.field) }

  /// The column that has the files' paths.
  fileprivate var fileField: String {
    MirroredContent(MirrorStage(name: stage), field: field).fileField
  }
}

extension DirectoryState {
  /// Throws if the rows have files of contents that a run does not name: it would take their paths
  /// out of them, and the files would be nobody's.
  ///
  /// Columns that the application has dropped have no files any more.
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
    let options = forgotten.map { "--\($0.stage) \($0.field)" }.joined(separator: " ")
    throw MirrorError(
      .unfitDestination,
      "table \(schema.name) has files in \(columns), which this run would forget: give \(options) "
        + "again, with their --into; or, to have them mirrored no more, and keep what is in these "
        + "columns, first run DELETE FROM \(Self.table) WHERE table_name = \(schema.name.sqlLiteral)"
    )
  }
}

// MARK: - In the database

extension DirectoryState {
  private static let table = "tandem_mirror_directory"
  /// A column that tables of earlier versions lack.
  private static let contentsColumn = ColumnDefinition(name: "contents", type: .text)

  /// The state of a table's files; `nil` if none were mirrored.
  static func load(
    table name: String, from connection: DatabaseConnection
  ) throws(DatabaseError) -> DirectoryState? {
    guard let schema = try connection.schema(ofTable: table) else { return nil }
    let contents = schema.column(named: contentsColumn.name)?.name ?? "NULL"
    let statement = try connection.prepare(
      "SELECT owner, \(contents) FROM \(table) WHERE table_name = ?")
    try statement.bind([.text(name)])
    guard try statement.step(), let owner = try statement.value(at: 0).textValue else { return nil }
    return DirectoryState(owner: owner, contents: Self.contents(try statement.value(at: 1)))
  }

  /// Makes this the state of a table's files, in the transaction that is open.
  func save(table name: String, to connection: DatabaseConnection) throws(DatabaseError) {
    try Self.prepareTable(in: connection)
    try connection.execute(
      "INSERT OR REPLACE INTO \(Self.table) VALUES (?, ?, ?)", .text(name), .text(owner),
      .text(contentsText))
  }

  private static func prepareTable(in connection: DatabaseConnection) throws(DatabaseError) {
    if let schema = try connection.schema(ofTable: table) {
      guard schema.column(named: contentsColumn.name) == nil else { return }
      return try connection.addColumn(contentsColumn, toTable: table)
    }
    try connection.execute(
      """
      CREATE TABLE \(table) (
        table_name TEXT NOT NULL COLLATE NOCASE PRIMARY KEY, owner TEXT NOT NULL,
        \(contentsColumn.name) TEXT
      ) WITHOUT ROWID
      """)
  }

  /// The contents as a JSON array of objects, which the record reader reads back.
  private var contentsText: String {
    let records: [Record] = contents.map { ["stage": .text($0.stage), "field": .text($0.field)] }
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(records, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func contents(_ value: FieldValue) -> [Content] {
    guard let text = value.textValue,
      let records = try? RecordReader.records(in: Array(text.utf8), format: .json)
    else { return [] }
    return records.compactMap { record in
      guard let stage = record["stage"].textValue, let field = record["field"].textValue else {
        return nil
      }
      return Content(stage: stage, field: field)
    }
  }
}
