internal import CSQLite
internal import TandemRecords

/// Another form for keys that SQLite numbers.
package enum KeyForm: Sendable {
  /// INTEGER PRIMARY KEY AUTOINCREMENT: no number is given again.
  case autoincrement
  /// Random texts, which all columns that refer to the keys by foreign keys hold as well.
  case text
}

/// A change of the keys of tables: its extent, and the statements that make it.
///
/// The change is one transaction, in which foreign keys are not enforced. It ends with a comparison: the schema is the
/// former one but for the declarations that change, and the foreign keys lack no more rows than before.
package struct KeyChange: Sendable {
  /// A table whose key changes.
  package struct Table: Hashable, Sendable {
    package let name: String
    package let key: String
  }

  /// A column that refers to a key that changes, and changes with it.
  package struct Reference: Hashable, Sendable {
    package let table: String
    package let column: String
    /// The table with the key.
    package let parent: String
  }

  /// A part of the change.
  enum Step: Sendable {
    case statement(String)
    case copy(RowCopy)
    /// A query that counts what must not be, and the name of the table.
    case check(String, table: String)
  }

  package internal(set) var tables: [Table] = []
  package internal(set) var references: [Reference] = []
  /// What the user should look at, in sentences.
  package internal(set) var notes: [String] = []
  var steps: [Step] = []
  /// The new statements of the tables that change, by their names.
  var declarations: [String: String] = [:]
  /// The columns that become texts, by their tables.
  var textColumns: [String: [String]] = [:]

  /// The statements, to be run in a transaction in which foreign keys are not enforced.
  package var statements: [String] {
    steps.compactMap { step in
      switch step {
      case .statement(let sql): sql
      case .copy(let copy): copy.sql
      case .check: nil
      }
    }
  }

  /// A change of the keys of tables.
  ///
  /// - Throws: ``DatabaseError`` if a table does not allow it, with the reason and a remedy.
  init(
    _ names: [String], _ form: KeyForm, in connection: DatabaseConnection
  ) throws(DatabaseError) {
    switch form {
    case .autoincrement: for name in names { try addAutoincrement(name, in: connection) }
    case .text: self = try TextKeys(names, in: connection).change()
    }
  }

  init() {}
}

extension Database {
  /// Gives the keys of tables another form, in one transaction.
  ///
  /// - Parameters:
  ///   - isDryRun: True to change nothing.
  ///   - progress: Called for each part of the rows that are copied: with the table, and the share that is done.
  /// - Returns: The change.
  /// - Throws: ``DatabaseError`` if a table does not allow it, with the reason and a remedy; nothing has changed then.
  package func rekey(
    _ names: [String], _ form: KeyForm, isDryRun: Bool = false,
    progress: @escaping @Sendable (_ table: String, _ share: Double) -> Void = { _, _ in }
  ) async throws -> KeyChange {
    guard !isDryRun else {
      return try await read { try KeyChange(names, form, in: $0.connection) }
    }
    return try await write(foreignKeys: .ignored) { transaction in
      let change = try KeyChange(names, form, in: transaction.connection)
      // AUTOINCREMENT changes no row.
      let earlier = form == .text ? try ForeignKeyViolations(transaction) : nil
      try change.run(in: transaction.connection, progress)
      if let earlier {
        try ForeignKeyViolations(transaction).check(
          since: earlier, after: "the change of the keys", path: transaction.connection.path)
      }
      return change
    }
  }
}

// MARK: - Running

extension KeyChange {
  /// Makes the change, in the transaction that is open.
  fileprivate func run(
    in connection: DatabaseConnection, _ progress: (_ table: String, _ share: Double) -> Void
  ) throws(DatabaseError) {
    // Apple's library refuses edits of the text of the schema unless they are asked for.
    let wasDefensive = csqlite_set_defensive(connection.handle.pointer, 0)
    defer {
      try? connection.execute("PRAGMA writable_schema = OFF")
      _ = csqlite_set_defensive(connection.handle.pointer, wasDefensive)
    }
    let expected = try connection.schemaEntries().map { entry in
      guard entry[0] == "table", let name = entry[1].textValue, let sql = declarations[name] else {
        return entry
      }
      return [entry[0], entry[1], entry[2], .text(sql)]
    }
    let declared = try declared(in: connection)
    let total = steps.reduce(0) { sum, step in
      if case .copy(let copy) = step { sum + copy.rowCount } else { sum }
    }
    var doneCount = 0
    for step in steps {
      switch step {
      case .statement(let sql): try connection.execute(sql)
      case .check(let sql, let table):
        guard try connection.integer(sql) == 0 else { throw connection.wouldChange(table) }
      case .copy(let copy):
        try copy.run(in: connection) { count in
          progress(copy.table, Double(doneCount + count) / Double(max(1, total)))
        }
        doneCount += copy.rowCount
      }
    }
    guard try connection.schemaEntries() == expected, try self.declared(in: connection) == declared
    else {
      throw DatabaseError(
        code: .error,
        message: "the schema would differ in more than the keys; nothing was changed",
        path: connection.path)
    }
  }
}

extension KeyChange {
  /// The columns of the tables that change, but for those that become texts, and their foreign keys.
  private func declared(in connection: DatabaseConnection) throws(DatabaseError) -> [[FieldValue]] {
    var declared: [[FieldValue]] = []
    for name in declarations.keys.sorted() {
      let columns = try connection.rows("SELECT * FROM pragma_table_xinfo(?)", [.text(name)])
      declared += columns.filter { column in
        column[1].textValue.map { textColumns[name, default: []].contains($0) } != true
      }
      declared += try connection.rows("SELECT * FROM pragma_foreign_key_list(?)", [.text(name)])
    }
    return declared
  }
}

extension DatabaseConnection {
  /// The entries of the schema but for SQLite's own tables; the triggers of a table in the order in which they are
  /// created, which is that in which they run.
  fileprivate func schemaEntries() throws(DatabaseError) -> [[FieldValue]] {
    try rows(
      """
      SELECT type, name, tbl_name, sql FROM sqlite_schema
      WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite@_%' ESCAPE '@'
      ORDER BY type, tbl_name, CASE type WHEN 'trigger' THEN rowid END, name
      """)
  }

  fileprivate func wouldChange(_ table: String) -> DatabaseError {
    rekeyingRefusal(
      "\(table) has rows that would not stay as they are; nothing was changed. Check the file with "
        + "PRAGMA integrity_check")
  }

  func rekeyingRefusal(_ message: String) -> DatabaseError {
    DatabaseError(code: .error, message: message, path: path)
  }

  /// The facts about a table whose declaration a change of keys may write anew.
  func rekeyableFacts(_ name: String) throws(DatabaseError) -> TableFacts {
    guard let facts = try TableFacts(name, in: self), !TriggerSet.isOwnName(facts.schema.name)
    else { throw rekeyingRefusal("there is no table \(name)") }
    let table = facts.schema.name
    guard facts.isOrdinary else {
      throw rekeyingRefusal("\(table) is a view or a virtual table; name the table beneath it")
    }
    let names = try rows(
      """
      SELECT name FROM sqlite_schema WHERE name LIKE 'tandem@_%' ESCAPE '@'
        AND (type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE OR name = ?2 COLLATE NOCASE)
      """, [.text(table), .text(TableShadow.name(table))]
    ).compactMap { $0[0].textValue }
    if names.contains(where: { $0.hasPrefix(TableTracking.prefix) }) {
      throw rekeyingRefusal(
        "\(table) is tracked; untrack it first, and track it again afterwards")
    }
    if names.contains(where: { $0.hasPrefix("tandem_validators_") }) {
      throw rekeyingRefusal("\(table) is mirrored, so that its keys are those of a list")
    }
    guard names.isEmpty else {
      throw rekeyingRefusal(
        "\(table) is synchronized, and all its copies have the same keys; synchronize and detach them first"
      )
    }
    return facts
  }

  /// The statement that created a table.
  func creation(ofTable name: String) throws(DatabaseError) -> String {
    guard let sql = try declaration(ofTable: name) else {
      throw rekeyingRefusal("there is no table \(name)")
    }
    return sql
  }

  /// The highest number that SQLite has given in a table with AUTOINCREMENT, if it has given one.
  package func sequence(ofTable name: String) throws(DatabaseError) -> Int64? {
    let exists = "SELECT 1 FROM main.sqlite_schema WHERE name = 'sqlite_sequence'"
    guard try integer(exists) != nil else { return nil }
    return try integer("SELECT max(seq) FROM main.sqlite_sequence WHERE name = ?", .text(name))
  }

  /// Lets SQLite give numbers above `number` only, in a table with AUTOINCREMENT.
  package func raiseSequence(ofTable name: String, to number: Int64) throws(DatabaseError) {
    if let present = try sequence(ofTable: name) {
      guard present < number else { return }
      try execute("DELETE FROM main.sqlite_sequence WHERE name = \(name.sqlLiteral)")
    }
    try execute("INSERT INTO main.sqlite_sequence VALUES (\(name.sqlLiteral), \(number))")
  }
}

// MARK: - AUTOINCREMENT

extension KeyChange {
  /// Adds the statements that give a table AUTOINCREMENT.
  ///
  /// They edit the text of the declaration, and touch no row: a row is stored alike with AUTOINCREMENT and without it.
  /// SQLite reads the declaration again before the transaction ends, and refuses one that it does not understand. The
  /// table that is created and dropped makes SQLite create its own table `sqlite_sequence`, and makes the connections of
  /// other programs read the schema again.
  private mutating func addAutoincrement(
    _ name: String, in connection: DatabaseConnection
  ) throws(DatabaseError) {
    let facts = try connection.rekeyableFacts(name)
    let table = facts.schema.name
    guard let key = facts.schema.primaryKey.first, facts.isIdentifiedByRowid else {
      throw connection.rekeyingRefusal(
        "\(table) has no key that SQLite numbers, as id INTEGER PRIMARY KEY is; it needs no AUTOINCREMENT"
      )
    }
    let declaration = CreateTableStatement(try connection.creation(ofTable: table))
    guard !declaration.hasAutoincrement else {
      return notes.append("\(table) has AUTOINCREMENT already")
    }
    guard let sql = declaration.autoincrementing() else {
      throw connection.rekeyingRefusal(
        "the declaration of \(table) is unusual; create the table anew with AUTOINCREMENT")
    }
    let highest = try connection.integer(
      "SELECT max(\(key.sqlQuoted)) FROM \(table.sqlQuoted)")
    guard highest != .max else {
      throw connection.rekeyingRefusal(
        "\(table) has a row with the number \(Int64.max), above which AUTOINCREMENT finds none; give that row another number"
      )
    }
    tables.append(Table(name: table, key: key))
    declarations[table] = sql
    let entry = table.sqlLiteral
    steps += [
      "CREATE TABLE tandem_rekey (id INTEGER PRIMARY KEY AUTOINCREMENT)",
      "DROP TABLE tandem_rekey",
      "PRAGMA writable_schema = ON",
      "UPDATE sqlite_schema SET sql = \(sql.sqlLiteral) WHERE type = 'table' AND name = \(entry)",
      "PRAGMA writable_schema = RESET",
      "DELETE FROM sqlite_sequence WHERE name = \(entry)",
    ].map(Step.statement)
    let former = try connection.sequence(ofTable: table)
    if let number = [highest, former].compactMap({ $0 }).max(), number > 0 {
      steps.append(.statement("INSERT INTO sqlite_sequence VALUES (\(entry), \(number))"))
    }
  }
}
