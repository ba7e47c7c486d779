internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The content of staged pages, in a file beside the database, which is removed when the pages are applied. So the
/// database grows by its rows only.
///
/// The table `tandem_staged` of the database lists the pages and has a random token of each one; the file has the
/// content of the token. It is written first, so a page in the list is in the file. A database that was restored or
/// copied lists other pages than the file has: those that it lists are what it has received, and those that are missing
/// are pulled again.
///
/// Records of a file that has no rows yet are stored as rows, which one statement for each table copies.
struct StagedFile {
  private let connection: DatabaseConnection
  private let schema: ReplicaSchema

  /// A row has the number of its page and its position in it as its rowid.
  private static let maxPageCount: Int64 = 1 << 32

  private init(_ connection: DatabaseConnection, _ schema: ReplicaSchema) {
    self.connection = connection
    self.schema = schema
  }

  /// The file that is there, if it was made for these tables.
  init?(_ file: CompanionFile, _ schema: ReplicaSchema, layout: String) {
    guard let connection = file.opened(),
      (try? connection.row("SELECT text FROM layout")) == [.text(layout)]
    else { return nil }
    self.init(connection, schema)
  }

  /// A new file; `nil` if none can be created.
  static func created(
    _ file: CompanionFile, _ schema: ReplicaSchema, layout: String
  ) throws -> StagedFile? {
    guard let connection = file.created() else { return nil }
    try connection.transaction {
      try connection.execute("CREATE TABLE layout (text TEXT NOT NULL)")
      try connection.execute("INSERT INTO layout VALUES (?)", .text(layout))
      try connection.execute(
        """
        CREATE TABLE page (
          number INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE, version INTEGER NOT NULL,
          others BLOB NOT NULL, digest TEXT NOT NULL, row_count INTEGER NOT NULL, byte_count INTEGER NOT NULL)
        """)
      for (offset, table) in schema.tables.enumerated() {
        let columns = table.stagedColumns.map { ", \($0)" }.joined()
        try connection.execute(
          """
          CREATE TABLE row_\(offset) (position INTEGER PRIMARY KEY, version INTEGER NOT NULL\(columns))
          """)
      }
    }
    return StagedFile(connection, schema)
  }
}

// MARK: - Pages

extension StagedFile {
  /// Forgets all pages but the given ones; `false` if one of these is missing.
  ///
  /// - Parameters:
  ///   - count: The number of the pages, and `last` the token of the last one. When that was stored, there were these
  ///     pages and no others.
  ///   - tokens: All of them.
  func retainOnly(
    _ count: Int, last: FieldValue, of tokens: () throws -> [FieldValue]
  ) throws -> Bool {
    let stored = try connection.row(
      "SELECT count(*), (SELECT token FROM page ORDER BY number DESC LIMIT 1) FROM page")
    if stored == [.integer(Int64(count)), last] { return true }
    var missing = Set(try tokens())
    try connection.transaction {
      for page in try connection.rows("SELECT token, number FROM page") {
        if missing.remove(page[0]) != nil { continue }
        try connection.run("DELETE FROM page WHERE number = ?", [page[1]])
        for offset in schema.tables.indices {
          try connection.run("DELETE FROM row_\(offset) \(Self.ofPage)", [page[1]])
        }
      }
    }
    return missing.isEmpty
  }

  private static let ofPage =
    "WHERE position BETWEEN ?1 * \(maxPageCount) AND (?1 + 1) * \(maxPageCount) - 1"

  /// Stores a page; it is on disk when this returns.
  ///
  /// - Parameters:
  ///   - first: The token of the first page of the pull; `nil` for that page itself.
  ///   - asRows: True if records that fit their table are stored as rows. Those are left out that came after the first
  ///     page had been made: a record that comes again is one of these.
  /// - Returns: The token of the page.
  func store(
    _ page: SyncPage, after first: FieldValue?, asRows: Bool, _ hasher: RecordHasher
  ) throws -> FieldValue {
    var generator = SystemRandomNumberGenerator()
    let token = FieldValue.text(SyncToken.random(using: &generator).description)
    try connection.transaction {
      let version =
        try first.flatMap {
          try connection.integer("SELECT version FROM page WHERE token = ?", $0)
        } ?? Int64(page.revision.version)
      let number = (try connection.integer("SELECT max(number) FROM page") ?? 0) + 1
      let insertions = schema.tables.enumerated().map { $1.stagedInsertion($0) }
      var others: [SyncRecordState] = []
      var digest = RecordDigest.empty
      for (offset, change) in page.changes.enumerated() {
        guard asRows, change.version <= version, let (place, values, fields) = row(change) else {
          others.append(change)
          continue
        }
        digest.add(change.key, fields, by: hasher)
        try connection.run(
          insertions[place],
          [.integer(number * Self.maxPageCount + Int64(offset)), .integer(Int64(change.version))]
            + change.key.id + values)
      }
      var count = RowCount()
      count.add(page)
      try connection.run(
        "INSERT INTO page VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
          .integer(number), token, .integer(version),
          .blob(SyncMessageWriter.bytes(page.with(others))), .text(digest.description),
          .integer(Int64(count.rowCount)), .integer(Int64(count.byteCount)),
        ])
    }
    return token
  }

  /// The row of a record that its table can hold as it is, and the place of the table; `nil` if there is none.
  private func row(
    _ change: SyncRecordState
  ) -> (place: Int, values: [FieldValue], fields: Record)? {
    let name = change.key.table
    guard let place = schema.tables.firstIndex(where: { UTF8Order.areEqual($0.name, name) }) else {
      return nil
    }
    let table = schema.tables[place]
    guard let fields = change.fields.map(table.adopting), table.stores(key: change.key.id),
      table.unstorableFields(of: fields) == nil, !table.hasDefaults(for: fields)
    else { return nil }
    return (place, table.values(of: fields), fields)
  }

  /// A page, as it came.
  func page(_ token: FieldValue) throws -> SyncPage? {
    guard let others = try pageWithoutRows(token),
      let number = try connection.integer("SELECT number FROM page WHERE token = ?", token)
    else { return nil }
    var rows: [(position: Int64, change: SyncRecordState)] = []
    for (offset, table) in schema.tables.enumerated() {
      let sql = "SELECT * FROM row_\(offset) \(Self.ofPage)"
      try connection.forEachRow(sql, [.integer(number)]) { statement in
        let values = try statement.values()
        guard case .integer(let position) = values[0], case .integer(let version) = values[1]
        else { return true }
        let key = table.syncKey(Array(values[2..<(2 + table.keyNames.count)]))
        let fields = Record(
          uncheckedLayout: table.layout, values: Array(values[(2 + table.keyNames.count)...]))
        rows.append(
          (position, SyncRecordState(key: key, version: Int(version), fields: fields)))
        return true
      }
    }
    guard !rows.isEmpty else { return others }
    rows.sort { $0.position < $1.position }
    var changes: [SyncRecordState] = []
    var rest = others.changes[...]
    for (position, change) in rows {
      while changes.count < position % Self.maxPageCount, let other = rest.popFirst() {
        changes.append(other)
      }
      changes.append(change)
    }
    return others.with(changes + rest)
  }

  /// A page with those of its records that are not stored as rows.
  func pageWithoutRows(_ token: FieldValue) throws -> SyncPage? {
    guard
      case .blob(let bytes)? = try connection.row(
        "SELECT others FROM page WHERE token = ?", [token])?.first
    else { return nil }
    return try? SyncMessageReader(limits: .unlimited).page(bytes)
  }
}

// MARK: - Rows

extension StagedFile {
  /// Copies all rows into empty tables, in the order of their keys.
  ///
  /// - Returns: The number of rows, their digest, and the records of all pages.
  /// - Throws: Also the `DatabaseError` of a constraint that forbids a row.
  func copyRows(
    to tables: ReplicaTables
  ) throws -> (writtenCount: Int, digest: RecordDigest, received: RowCount) {
    var writtenCount = 0
    for (offset, table) in schema.tables.enumerated() {
      let query = try connection.prepare(
        """
        SELECT \(table.stagedColumns.joined(separator: ", ")) FROM row_\(offset)
        ORDER BY \(table.stagedColumns.prefix(table.keyNames.count).joined(separator: ", "))
        """)
      writtenCount += try tables.connection.run(table.statements.insert, forEachRowOf: query)
    }
    var digest = RecordDigest.empty
    var received = RowCount()
    for page in try connection.rows("SELECT digest, row_count, byte_count FROM page") {
      guard case .text(let text) = page[0], let part = RecordDigest(text),
        let rowCount = page[1].integerValue, let byteCount = page[2].integerValue
      else { continue }
      digest.add(part)
      received.add(RowCount(rowCount: rowCount, byteCount: byteCount))
    }
    return (writtenCount, digest, received)
  }
}

extension ReplicaTable {
  /// The columns of staged rows: those of the key come first. They have no types, so that values stay as they are.
  fileprivate var stagedColumns: [String] {
    (0..<(keyNames.count + columnNames.count)).map { "c\($0)" }
  }

  fileprivate func stagedInsertion(_ place: Int) -> StatementText {
    let marks = stagedColumns.map { _ in ", ?" }.joined()
    return StatementText("INSERT INTO row_\(place) VALUES (?, ?\(marks))")
  }
}

extension SyncPage {
  /// The page with other changes.
  fileprivate func with(_ changes: [SyncRecordState]) -> SyncPage {
    SyncPage(
      revision: revision, digest: digest, replica: replica, changes: changes, next: next,
      numbers: numbers)
  }
}
