internal import TandemRecords
internal import TandemSQLite
package import TandemSync

/// Writes the pages of a leader into the file of a copy, in the transaction that is open.
package struct SpaceCopyReceiver {
  private let space: SpaceTables
  private let file: SQLiteSpaceConnection
  private let hasher = RecordHasher()
  /// The state that the pages follow; `nil` for a whole copy.
  private let since: SpaceCopyPosition?
  private var digest = RecordDigest.empty
  /// The version of the last row of the history.
  private var lastVersion = -1
  private var tables: String?
  private var layout: RecordLayout?

  /// Prepares the file for pages.
  ///
  /// - Parameters:
  ///   - since: The position of the copy, which the pages follow; `nil` for the pages of a whole copy, which replace what
  ///     the copy has.
  ///   - journal: The identity of the leader's journal.
  /// - Throws: ``SpaceCopyError`` with `notACopy` or `changed`; ``DatabaseError``.
  package init(
    _ space: SpaceTables, since: SpaceCopyPosition?, journal: SyncToken
  ) throws {
    self.space = space
    self.since = since
    file = try space.file()
    let isNew = try file.createTables()
    let copy = isNew ? nil : try space.copy()
    guard isNew || copy != nil else { throw SpaceCopyError.notACopy }
    guard since == nil || since == copy?.position else { throw SpaceCopyError.changed }
    if isNew {
      for group in [SpaceTableGroup.numbers, .statedClaims] { try file.make(group) }
      try file.connection.execute(
        """
        CREATE TABLE followed (
          id INTEGER PRIMARY KEY CHECK (id = 1), journal TEXT NOT NULL, entry INTEGER NOT NULL,
          schema TEXT NOT NULL, absent INTEGER NOT NULL)
        """)
    }
    if let since {
      let row = try file.connection.row("SELECT digest FROM history JOIN space ON version = head")
      guard let digest = row?[0].textValue.flatMap({ RecordDigest($0) }) else {
        throw space.damaged("the history of the copy")
      }
      self.digest = digest
      lastVersion = since.head.version
    } else if !isNew {
      for table in SpaceStoredTable.allCases where try table.groups.allSatisfy(file.has) {
        try file.connection.execute("DELETE FROM \(table.rawValue)")
      }
    }
    if let since, since.journal != journal {
      // The leader sends all of these rows again.
      for table in [SpaceStoredTable.replica, .replicaName, .claim] {
        try file.connection.execute("DELETE FROM \(table.rawValue)")
      }
    }
  }

  /// Writes the rows of a page.
  ///
  /// - Throws: ``SpaceCopyError`` with `foreign` for a row that no space has; ``DatabaseError``.
  package mutating func add(_ page: [UInt8]) throws {
    for line in page.split(separator: UInt8(ascii: "\n")).dropFirst() {
      var values = try SpaceCopyLines.values(Array(line))
      guard let name = values.first?.textValue, let table = SpaceStoredTable(rawValue: name) else {
        throw SpaceCopyError.foreign("it has rows of an unknown table; update this program")
      }
      values.removeFirst()
      guard values.count == table.columns.count else {
        try remove(values, from: table)
        continue
      }
      do {
        try add(values, to: table)
      } catch let error as TextFault {
        throw SpaceCopyError.foreign("a row of \(name): \(error)")
      }
    }
  }

  /// Completes the state of the last page.
  ///
  /// - Parameter former: A state that the history has to have.
  /// - Throws: ``SpaceCopyError`` with `foreign`, `differs` or `lost`; the transaction must then be rolled back.
  package mutating func finish(_ header: SpaceCopyHeader, after former: SpaceRevision?) throws {
    let (head, connection) = (header.position.head, file.connection)
    let row = try connection.row(
      "SELECT mark, digest FROM history WHERE version = ?", [.integer(Int64(head.version))])
    guard lastVersion == head.version, row?[0] == .integer(Int64(bitPattern: head.mark)) else {
      throw SpaceCopyError.foreign("its history does not lead to its head")
    }
    guard let sum = row?[1].textValue.flatMap({ RecordDigest($0) }), sum == digest else {
      throw SpaceCopyError.differs
    }
    if let former {
      let mark = try connection.row(
        "SELECT mark FROM history WHERE version = ?", [.integer(Int64(former.version))])
      guard former.epoch == head.epoch, mark?[0] == .integer(Int64(bitPattern: former.mark)) else {
        throw SpaceCopyError.lost
      }
    }
    try space.forget(below: header.horizon)
    guard let tables = try tables ?? self.tables(connection) else {
      throw SpaceCopyError.foreign("it has no tables")
    }
    try connection.run(
      "INSERT OR REPLACE INTO space (id, epoch, head, horizon, tables) VALUES (1, ?, ?, ?, ?)",
      [
        .text(head.epoch.description), .integer(Int64(head.version)),
        // Moved: no program takes commits.
        .integer(Int64(-1 - header.horizon)), .text(tables),
      ])
    try connection.run("DELETE FROM claim WHERE rule IN (SELECT number FROM rule WHERE dropped)")
    try connection.run(
      "INSERT OR REPLACE INTO followed (id, journal, entry, schema, absent) VALUES (1, ?, ?, ?, 0)",
      [
        .text(header.position.journal.description), .integer(Int64(header.position.entry)),
        .text(header.position.schema.description),
      ])
    // Without news, only the history that they were given for keeps its members.
    if header.members != nil || (since == nil && former == nil) {
      try SpaceMember.take(header.members, along: connection)
    }
  }

  private func tables(_ connection: DatabaseConnection) throws -> String? {
    try connection.row("SELECT tables FROM space")?[0].textValue
  }
}

// MARK: - Rows

extension SpaceCopyReceiver {
  private mutating func add(_ row: [FieldValue], to table: SpaceStoredTable) throws {
    switch table {
    case .space:
      // All rules and definitions follow.
      tables = try checkedTables(row[3])
      for table in [SpaceStoredTable.rule, .columnDefinition] {
        try file.connection.execute("DELETE FROM \(table.rawValue)")
      }
      return
    case .history: try addHistory(row)
    case .record: return try addRecord(row)
    case .overruled: try checkOverruled(row)
    case .changeCount: try require(isVersion(row[0]) && isText(row[1]) && isInteger(row[2]))
    case .replica: try checkReplica(row)
    case .replicaName: try require(isToken(row[0]) && isText(row[1]))
    case .columnDefinition:
      _ = try space.reader.definitions(Array(try text(row[1]).utf8))
      try require(isText(row[0]))
    case .rule:
      _ = try space.reader.constraint(Array(try text(row[3]).utf8))
      try require(
        isInteger(row[0]) && isText(row[1]) && (row[2].isNull || isText(row[2]))
          && isInteger(row[4]))
    case .claim:
      try remove([row[0], row[3]], from: .claim)
      guard row[1] == .integer(Int64(SpaceClaim.Side.stated.rawValue)), case .blob = row[2] else {
        throw SpaceCopyError.foreign("a claim is none that a commit stated")
      }
    case .number: try require(isText(row[0]) && isInteger(row[1]))
    case .part, .usage: throw SpaceCopyError.foreign("it has rows of \(table.rawValue)")
    }
    let columns = table.columns
    let places = columns.map { _ in "?" }.joined(separator: ", ")
    try file.connection.run(
      "INSERT OR REPLACE INTO \(table.rawValue) (\(columns.sqlList)) VALUES (\(places))", row)
  }

  /// Removes a row that the leader has no more, by its key.
  private func remove(_ key: [FieldValue], from table: SpaceStoredTable) throws {
    switch (table, key.count) {
    case (.replicaName, 1):
      try file.connection.run("DELETE FROM replica_name WHERE id = ?", key)
    case (.claim, 2):
      guard isInteger(key[0]), case .blob = key[1] else {
        throw SpaceCopyError.foreign("the key of a claim is none")
      }
      try file.connection.run("DELETE FROM claim WHERE rule = ? AND key = ? AND side = 2", key)
    default:
      throw SpaceCopyError.foreign("a row of \(table.rawValue) has \(key.count) values")
    }
  }

  private mutating func addHistory(_ row: [FieldValue]) throws {
    let isForgotten = row[2] == .text("")
    guard row[0] == .integer(Int64(lastVersion + 1)), isInteger(row[1]),
      isForgotten || row[2].textValue.flatMap({ RecordDigest($0) }) != nil,
      row[3].isNull || isToken(row[3]), row[4].isNull || isToken(row[4]), isInteger(row[5])
    else { throw SpaceCopyError.foreign("its history has a gap") }
    lastVersion += 1
  }

  private mutating func addRecord(_ row: [FieldValue]) throws {
    guard case .blob(let bytes) = row[1], isVersion(row[4]), isInteger(row[5]) else {
      throw SpaceCopyError.foreign("a record has no key or no version")
    }
    let key = SyncKey(
      table: try text(row[0]), id: try space.reader.id(Array(try text(row[2]).utf8)))
    guard key.idBytes == bytes, bytes.count <= SyncLimits.maxKeyByteCount else {
      throw SpaceCopyError.foreign("the key of a record is not that of its values")
    }
    let versions = try space.reader.fields(Array(try text(row[6]).utf8))
    try require(versions.values.allSatisfy(isInteger))
    let new = try fields(row[3])
    let old = try file.connection.row(
      "SELECT fields FROM record WHERE tab = ? AND key = ?", [row[0], row[1]])
    if let old, let fields = try fields(old[0]) { digest.remove(key, fields, by: hasher) }
    if let new { digest.add(key, new, by: hasher) }
    layout = new?.layout ?? layout
    try file.connection.run(
      """
      INSERT INTO record (\(SpaceStoredTable.record.columns.sqlList)) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (tab, key) DO UPDATE SET id = excluded.id, fields = excluded.fields,
          version = excluded.version, created = excluded.created, field_versions = excluded.field_versions
      """, row)
  }

  private func fields(_ value: FieldValue) throws -> Record? {
    value.isNull
      ? nil : try space.reader.fields(Array(try text(value).utf8), expecting: layout)
  }

  private func checkOverruled(_ row: [FieldValue]) throws {
    try require(isVersion(row[0]) && isText(row[1]) && isInteger(row[3]))
    _ = try space.reader.id(Array(try text(row[2]).utf8))
    _ = try fields(row[4])
  }

  private func checkReplica(_ row: [FieldValue]) throws {
    try require(
      isToken(row[0]) && (row[1].isNull || isText(row[1])) && isInteger(row[2]) && isToken(row[3]))
    guard case .success = try space.reader.answer(Array(try text(row[4]).utf8)) else {
      throw SpaceCopyError.foreign("the outcome of a replica is none")
    }
  }

  private func checkedTables(_ value: FieldValue) throws -> String {
    let text = try text(value)
    _ = try space.reader.tables(Array(text.utf8))
    return text
  }

  private func require(_ condition: Bool) throws {
    guard condition else { throw SpaceCopyError.foreign("a row has values of other types") }
  }

  private func text(_ value: FieldValue) throws -> String {
    guard let text = value.textValue else {
      throw SpaceCopyError.foreign("a row has values of other types")
    }
    return text
  }

  private func isText(_ value: FieldValue) -> Bool { value.textValue != nil }
  private func isInteger(_ value: FieldValue) -> Bool { value.integerValue != nil }
  private func isToken(_ value: FieldValue) -> Bool {
    value.textValue.flatMap { SyncToken($0) } != nil
  }

  /// True for a version after the state that the pages follow.
  private func isVersion(_ value: FieldValue) -> Bool {
    guard let version = value.integerValue else { return false }
    return version > since?.head.version ?? -1 && version <= SpaceRevision.maxVersion
  }
}
