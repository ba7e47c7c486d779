internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

// Any program may change the schema of attached tables at any time. Each step of a synchronization
// compares the tables with their declarations first, and takes over what changed:
//
// - A new column of a table that was attached whole is declared to the space. Its values in the rows
//   are edits, except for those that the default gave to all rows.
// - A column that is gone is no longer declared by this file. The space keeps it, and the file keeps
//   its values aside, as those of any column that it lacks.
// - Triggers and shadows are made what they should be. If triggers were gone for a time, as after a
//   table was built anew, a digest of the rows shows whether they have missed anything.

extension ReplicaTables {
  /// A schema and its version.
  package struct KnownSchema: Sendable {
    fileprivate var version: Int64
    fileprivate let schema: ReplicaSchema
    /// False if it was only read: a step has to take over what has changed, such as a new unique index.
    fileprivate var isTakenOver = true
    /// True if SQLite can compile the statements that write the tables.
    fileprivate var isChecked = false
    /// The triggers of the application.
    fileprivate var triggers: ForeignTriggers?

    /// The tables as the file declares them to the space.
    var declarations: [SpaceTable] { schema.tables.map(\.declaration) }

    /// True if any table of the file has a foreign key.
    var hasForeignKeys: Bool { !schema.listedKeys.isEmpty }
  }

  /// The synchronized tables as they are now, after all changes of the schema were taken over.
  ///
  /// - Throws: ``ReplicaError`` with code `schema` if a table is gone or has another key, or `paused`
  ///   if the file waits for the end of a change of its schema.
  /// - Complexity: O(*n*) in the number of rows if triggers were gone.
  package func schema() throws -> ReplicaSchema {
    let version = try connection.schemaVersion()
    if let knownSchema, knownSchema.version == version, knownSchema.isTakenOver {
      return knownSchema.schema
    }
    guard try !isPaused() else { throw ReplicaError.paused(connection.path) }
    let schema = try refreshedSchema()
    knownSchema = KnownSchema(version: try connection.schemaVersion(), schema: schema)
    for table in schema.tables { try rejectUnreadableEdits(of: table) }
    return schema
  }

  /// The synchronized tables as they are now, without writing, and without columns that are new.
  ///
  /// - Returns: Also true if the next synchronization has to take over changes of the schema.
  func schemaAsItIs() throws -> (schema: ReplicaSchema, isDisturbed: Bool) {
    let version = try connection.schemaVersion()
    if let knownSchema, knownSchema.version == version { return (knownSchema.schema, false) }
    let declared = try declarations()
    let known = try declared.map(remaining)
    let schema = try ReplicaSchema(known, in: connection)
    guard try !isPaused() else { return (schema, false) }
    let fitted = try fitted(known)
    let isDisturbed = try declared != fitted || !schema.tables.allSatisfy(isShadowed)
    if !isDisturbed {
      // A step that writes has to take over tables of an earlier version first.
      if try !hasFormerTables() {
        knownSchema = KnownSchema(version: version, schema: schema, isTakenOver: false)
      }
    } else if let table = try schema.tables.first(where: {
      try !connection.hasFormerVersions(of: $0.shadow)
    }) {
      throw ReplicaError(
        .schema,
        "the shadow of \(table.name) does not fit the table: another program has changed it, or migrations have dropped "
          + "a column and created it again; synchronize the file, which repairs it"
      )
    }
    return (schema, isDisturbed)
  }

  /// Forgets the schema, as after attaching.
  func forgetSchema() { knownSchema = nil }

  /// Takes note that the schema is the same as before for synchronized tables, although its version has changed.
  func noteSameSchema() throws { knownSchema?.version = try connection.schemaVersion() }

  /// Throws if SQLite cannot compile the statements that write the tables. Each version of the schema is
  /// checked once.
  func checkStatements(_ schema: ReplicaSchema) throws {
    if knownSchema?.isChecked == true { return }
    for table in schema.tables { try connection.checkStatements(on: table, .schema) }
    knownSchema?.isChecked = true
  }

  /// The triggers of the application, as far as they concern the synchronized tables. Each version of the
  /// schema is searched once. The exception is a connection with temporary triggers, which its version
  /// does not count.
  func foreignTriggers() throws -> ForeignTriggers {
    let tables = try schema().tables
    let hasTemporary = try !rows("SELECT 1 FROM temp.sqlite_schema WHERE type = 'trigger' LIMIT 1")
      .isEmpty
    if !hasTemporary, let known = knownSchema?.triggers { return known }
    let triggers = try ForeignTriggers(self, tables)
    if !hasTemporary, silencedPlaces.isEmpty { knownSchema?.triggers = triggers }
    return triggers
  }

  private func isShadowed(_ table: ReplicaTable) throws -> Bool {
    try connection.isKeeping(table.shadow)
  }
}

// MARK: - Taking over changes

extension ReplicaTables {
  private func refreshedSchema() throws -> ReplicaSchema {
    try upgrade()
    let stored = try declarations()
    // The rules of rows concern the space alone: a file need not be pulled anew for them.
    let declared = stored.map(\.withoutConstraints)
    let known = try declared.map(remaining)
    let fitted = try fitted(known)
    let constrained = try constrained(fitted, stored: stored, policies())
    let schema = try ReplicaSchema(constrained, in: connection)
    var disturbed: [ReplicaTable] = []
    for (table, known) in zip(schema.tables, known) {
      let shadow = try TableShadow(table: known.name, columns: known.columns, in: connection)
      if try !connection.hasMissedNothing(of: shadow) { disturbed.append(table) }
      if try !isShadowed(table) { try connection.renew(table.shadow) }
      try connection.renewFormerVersions(table.asideName, of: table.shadow)
    }
    // A program that builds a table anew seldom takes over the highest number.
    try raiseSequences(schema, above: knownNumbers(schema))
    var state = try state()
    guard state.revision != nil else {
      // Before the first synchronization, all rows are additions.
      for table in disturbed { try connection.noteNewRows(of: table.shadow) }
      if constrained != stored { try save(constrained, formerly: nil) }
      return schema
    }
    // A migration has renewed triggers that may have missed changes.
    let wasOutdated = try state.pullNeed == .columns && formerTables() == nil
    if wasOutdated { disturbed = schema.tables }
    if constrained != stored { try touchUnclaimedRows(of: schema, formerly: stored) }
    if fitted != declared {
      try save(constrained, formerly: declared)
      state.pullNeed.require(.columns)
    } else if constrained != stored {
      try run(
        "UPDATE tandem_state SET tables = ?", [.blob(SyncMessageWriter.bytes(constrained))])
    }
    try noteUngivenNumbers(
      of: disturbed, schema, base: fitted == declared && formerTables() == nil ? state.digest : nil)
    if !disturbed.isEmpty, try known != declared || hasMissedChanges(declared, state) {
      state.pullNeed.require(.repair)
    } else if wasOutdated, fitted == declared {
      state.pullNeed = .changes
    }
    try save(state)
    return schema
  }

  /// True if rows have changed that are not in a shadow. This cannot be known, and is false, if the
  /// tables no longer have all columns that the base was made with.
  func hasMissedChanges(_ state: ReplicaState) throws -> Bool {
    guard let former = try formerTables(), try former == former.map(remaining) else { return false }
    return try hasMissedChanges(former, state)
  }

  /// Demands a repair if rows have changed that are in no shadow, while it can be known: before a column is dropped.
  func noteMissedChanges() throws {
    var state = try state()
    // The rows of a commit that waits for its outcome differ from the base.
    guard state.revision != nil, state.pullNeed.trustsUntouchedRows, try outboxSummary() == nil,
      try hasMissedChanges(declarations(), state)
    else { return }
    state.pullNeed.require(.repair)
    try save(state)
  }

  private func hasMissedChanges(_ declared: [SpaceTable], _ state: ReplicaState) throws -> Bool {
    // The rows of a commit that waits for its outcome differ from the base.
    guard try outboxSummary() == nil else { return true }
    return try computedDigest(try ReplicaSchema(declared, in: connection)) != state.digest
  }

  /// A declared table without the columns that the file's table no longer has.
  private func remaining(_ declared: SpaceTable) throws -> SpaceTable {
    guard let schema = try connection.schema(ofTable: declared.name) else { return declared }
    return declared.with(
      declared.columns.filter { schema.column(named: $0)?.isGenerated == false })
  }

  /// The tables with the new columns of those that were attached whole.
  private func fitted(_ known: [SpaceTable]) throws -> [SpaceTable] {
    let whole = try wholeTables()
    return try known.map { table in
      guard whole.contains(table.name), let schema = try connection.schema(ofTable: table.name)
      else { return table }
      let names = table.keyColumns + table.columns + [TableShadow.existed]
      let added = schema.columns.filter { column in
        !column.isGenerated && !names.contains(where: column.name.isSameSQLName)
      }
      let count = table.keyColumns.count + table.columns.count + added.count
      guard count <= ReplicaTables.maxColumnCount else {
        throw ReplicaError(
          .schema,
          "the table \(table.name) has \(count) columns to synchronize, more than "
            + "\(ReplicaTables.maxColumnCount); detach the file, and attach the columns that you need"
        )
      }
      return table.with(table.columns + added.map(\.name))
    }
  }
}

// MARK: - Pauses

extension ReplicaTables {
  /// True if the file waits for the end of a change of its schema.
  package func isPaused() throws -> Bool {
    try connection.integer("SELECT is_paused FROM tandem_state") != 0
  }

  /// Removes the triggers until ``endSchemaChange()``, so that any program can change the schema.
  /// The present rows are kept in the shadows, so that all later changes are found.
  ///
  /// - Complexity: O(*n*) in the number of rows.
  package func beginSchemaChange() throws {
    try checkIsAttached()
    guard try !isPaused() else { return }
    let tables = try schema().tables
    try noteMissedChanges()
    for table in tables {
      try connection.pauseKeeping(table.shadow)
      try saveSequence(of: table)
    }
    try run("UPDATE tandem_state SET is_paused = 1", [])
    forgetSchema()
  }

  /// Installs the triggers again, and takes over all changes of the schema and of rows.
  ///
  /// - Throws: ``ReplicaError`` with code `schema` if a table is gone or has another key; nothing is
  ///   changed then.
  /// - Complexity: O(*n*) in the number of rows.
  package func endSchemaChange() throws {
    try checkIsAttached()
    if try isPaused() {
      for declaration in try declarations() {
        try connection.resumeKeeping(table: declaration.name, key: declaration.keyColumns)
      }
      try run("UPDATE tandem_state SET is_paused = 0", [])
    }
    forgetSchema()
    for table in try schema().tables { try forgetSequence(of: table) }
  }
}

// MARK: - The declarations

extension ReplicaTables {
  /// Replaces the declarations.
  ///
  /// - Parameter former: Those that are replaced, if there is a base; it was made with them unless
  ///   others are noted already.
  private func save(_ tables: [SpaceTable], formerly former: [SpaceTable]?) throws {
    var noted = former
    if let former, let first = try formerTables() {
      // A column that was dropped and came back is a new one: its values are not those of the base.
      noted = first.map { table in
        guard let new = tables.first(where: { UTF8Order.areEqual($0.name, table.name) }),
          let old = former.first(where: { UTF8Order.areEqual($0.name, table.name) })
        else { return table }
        let columns = table.columns.filter {
          old.columns.contains($0) || !new.columns.contains($0)
        }
        let isNoted = columns.count == table.columns.count || columns.contains(Self.returnedColumn)
        return table.with(columns + (isNoted ? [] : [Self.returnedColumn]))
      }
    }
    try run(
      "UPDATE tandem_state SET tables = ?, former_tables = ?",
      [
        .blob(SyncMessageWriter.bytes(tables)),
        noted.map { .blob(SyncMessageWriter.bytes($0)) } ?? .null,
      ])
  }

  /// Stands among the columns that the base was made with for one that was dropped and came back. No table has it.
  private static var returnedColumn: String { TableShadow.existed }

  /// The tables that the base was made with; `nil` if they are the present ones.
  private func formerTables() throws -> [SpaceTable]? {
    guard case .blob(let bytes)? = try rows("SELECT former_tables FROM tandem_state").first?[0]
    else { return nil }
    guard let former = try? SyncMessageReader().tables(bytes) else {
      throw ReplicaError.damaged("tandem_state", connection.path)
    }
    return former
  }

  /// The tables that were attached with all their columns.
  private func wholeTables() throws -> Set<String> {
    guard case .text(let text)? = try rows("SELECT whole FROM tandem_state").first?[0],
      let names = try? SyncMessageReader().id(Array(text.utf8))
    else { throw ReplicaError.damaged("tandem_state", connection.path) }
    return Set(names.compactMap { if case .text(let name) = $0 { name } else { nil } })
  }

  /// The changes of columns since the base was made, by table.
  func columnChanges(_ schema: ReplicaSchema) throws -> [String: ColumnChanges] {
    guard let former = try formerTables() else { return [:] }
    var changes: [String: ColumnChanges] = [:]
    for table in schema.tables {
      let known = former.first { UTF8Order.areEqual($0.name, table.name) }?.columns ?? []
      changes[table.name] = ColumnChanges(
        added: try table.newColumns(besides: known, in: connection),
        dropped: known.filter {
          table.layout.offset(of: $0) == nil && $0 != Self.returnedColumn
        }.map { FieldName($0) })
    }
    return changes
  }

  /// Takes note that the base has been made with the present columns.
  func forgetFormerTables() throws { try run("UPDATE tandem_state SET former_tables = NULL", []) }
}

/// The changes of a table's columns since the base was made.
struct ColumnChanges {
  /// The columns that the base was made without.
  let added: [NewColumn]
  /// The columns of the base that the table no longer has.
  let dropped: [FieldName]
}

extension ReplicaTable {
  /// The columns that are not among the given ones.
  func newColumns(
    besides known: [String], in connection: DatabaseConnection
  ) throws -> [NewColumn] {
    let names = columnNames.filter { !known.contains(where: $0.isSameSQLName) }
    guard !names.isEmpty else { return [] }
    let defaults = try connection.defaults(of: name, among: names)
    return try columnNames.enumerated().filter { names.contains($1) }.map { offset, name in
      let sql = defaults.first { $0.column.isSameSQLName(as: name) }?.sql
      let standard = try sql.map { try standardValue($0, offset, in: connection) } ?? .null
      return NewColumn(offset: offset, name: FieldName(name), standard: standard)
    }
  }

  /// The value of a default; null if it is no constant.
  private func standardValue(
    _ sql: String, _ offset: Int, in connection: DatabaseConnection
  ) throws -> FieldValue {
    // ALTER TABLE allows no other defaults in a table with rows.
    guard let first = sql.utf8.first, first != UInt8(ascii: "("),
      let statement = try? connection.prepare("SELECT \(sql)"), try statement.step()
    else { return .null }
    let value = try statement.value(at: 0)
    return stored(value, at: offset) ?? value
  }
}

extension ReplicaState.PullNeed {
  /// Requires a pull of everything, unless one is required for a stronger reason.
  fileprivate mutating func require(_ need: ReplicaState.PullNeed) {
    switch self {
    case .none, .changes, .conflict, .horizon, .columns: self = need
    case .first, .repair, .epoch, .history: break
    }
  }
}

extension SpaceTable {
  /// This table with other columns.
  fileprivate func with(_ columns: [String]) -> SpaceTable {
    var table = self
    table.columns = columns
    return table
  }
}
