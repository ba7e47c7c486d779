internal import CSQLite
internal import TandemRecords

extension DatabaseTransaction where Access == WriteAccess {
  /// Runs a statement to its end.
  ///
  /// - Returns: How many rows an INSERT, UPDATE or DELETE changed itself, without its triggers and
  ///   cascades; 0 for other statements.
  /// - Throws: ``DatabaseError``. Statements that begin or end transactions are refused (`misuse`).
  @discardableResult
  public func execute(_ sql: SQL) throws(DatabaseError) -> Int {
    try session.withStatement(sql) { entry throws(DatabaseError) in
      let before = session.connection.totalChangeCount
      while try entry.statement.step() {}
      let changed = session.connection.totalChangeCount != before
      return changed ? session.connection.changeCount : 0
    }
  }

  /// The rowid of the row that was inserted last in this connection, 0 if there is none.
  public var lastInsertedRowID: Int64 {
    sqlite3_last_insert_rowid(session.connection.handle.pointer)
  }
}

extension DatabaseTransaction {
  /// The first column of the first row of a query; `nil` if there is no row.
  ///
  /// - Throws: ``DatabaseError``: `mismatch` if the value is none of the type.
  public func fetchValue<Value: DatabaseValue>(
    _ sql: SQL, as type: Value.Type = Value.self
  ) throws(DatabaseError) -> Value? {
    try session.withStatement(sql) { entry throws(DatabaseError) in
      guard try entry.statement.step() else { return nil }
      return try entry.statement.decode(type, at: 0)
    }
  }

  /// The first column of every row of a query, in order.
  ///
  /// - Throws: ``DatabaseError``: `mismatch` if a value is none of the type.
  public func fetchValues<Value: DatabaseValue>(
    _ sql: SQL, as type: Value.Type = Value.self
  ) throws(DatabaseError) -> [Value] {
    try session.withStatement(sql) { entry throws(DatabaseError) in
      var values: [Value] = []
      while try entry.statement.step() { values.append(try entry.statement.decode(type, at: 0)) }
      return values
    }
  }
}

extension ConnectionSession {
  /// Runs `body` with the statement, bound and not yet begun; it is given back whatever happens.
  func withStatement<Value>(
    _ sql: SQL, _ body: (CachedStatement) throws(DatabaseError) -> Value
  ) throws(DatabaseError) -> Value {
    let entry = try begin(sql)
    defer { end(entry) }
    let value = try body(entry)
    try checkIsInTransaction()
    return value
  }

  /// A statement, bound and not yet begun, to be ended by ``end(_:)``.
  @usableFromInline
  func begin(_ sql: SQL) throws(DatabaseError) -> CachedStatement {
    try checkIsInTransaction()
    try sql.checkIsNoTransactionControl(path: connection.path)
    if let value = sql.unstorable {
      throw DatabaseError(
        code: .mismatch, message: "SQLite cannot hold the value \(value)", sql: sql.text,
        path: connection.path)
    }
    let entry = try statements.take(sql.text)
    do throws(DatabaseError) {
      if isReading { try checkIsReading(entry.statement) }
      try entry.statement.bind(sql.parameters)
    } catch {
      statements.giveBack(entry)
      throw error
    }
    return entry
  }

  /// A `PRAGMA` may have told SQLite to let readers write.
  ///
  /// - Throws: ``DatabaseError`` with code `readOnly` if running the statement may change something.
  private func checkIsReading(_ statement: Statement) throws(DatabaseError) {
    guard !statement.isReadOnly, sqlite3_stmt_isexplain(statement.handle) == 0 else { return }
    // Some that only ask pass for ones that write: SQLite refuses those that do.
    if Statement.firstWord(of: statement.sql).isSameSQLName(as: "pragma") {
      return try connection.execute("PRAGMA query_only=ON")
    }
    throw DatabaseError(
      code: .readOnly, message: "a read may not write; use write(_:)", sql: statement.sql,
      path: connection.path)
  }

  /// Resets a statement and keeps it for the next time.
  @usableFromInline
  func end(_ entry: CachedStatement) { statements.giveBack(entry) }
}

extension SQL {
  /// - Throws: ``DatabaseError`` with code `misuse` for a statement that begins or ends a transaction.
  fileprivate func checkIsNoTransactionControl(path: String) throws(DatabaseError) {
    let word = Statement.firstWord(of: text)
    let isControl = ["begin", "commit", "end", "rollback", "savepoint", "release"].contains {
      $0.isSameSQLName(as: word)
    }
    guard isControl else { return }
    throw DatabaseError(
      code: .misuse,
      message: "the closure is the transaction: return to commit, throw to roll back, "
        + "and use savepoint(_:)", sql: text, path: path)
  }
}

extension DatabaseConnection {
  /// How many rows have ever been changed through this connection.
  fileprivate var totalChangeCount: Int64 { sqlite3_total_changes64(handle.pointer) }
}

extension Statement {
  /// The word with which a statement begins, or the beginning of a long one.
  fileprivate static func firstWord(of sql: String) -> String {
    let word = skippingComments(sql.utf8).prefix(10)
      .prefix { $0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z") }
    return String(decoding: word, as: UTF8.self)
  }

  /// The value of a column of the current row.
  ///
  /// - Throws: ``DatabaseError`` with code `mismatch` if it is none of the type.
  func decode<Value: DatabaseValue>(
    _ type: Value.Type, at column: Int
  ) throws(DatabaseError) -> Value {
    guard column < columnCount else {
      throw DatabaseError(
        code: .range, message: "it has no column \(column)", sql: sql, path: database.path)
    }
    let reader = ColumnReader(self.column(column))
    guard let value = Value(column: reader) else { throw mismatch(reader, type, at: column) }
    return value
  }

  /// What to say when a column's value is none of the type asked for.
  func mismatch(_ reader: ColumnReader, _ type: Any.Type, at column: Int) -> DatabaseError {
    let found = reader.fieldValue.map { "\($0)" } ?? "a text that is not valid UTF-8"
    return DatabaseError(
      code: .mismatch, message: "column \(columnNames[column]) holds \(found), which is no \(type)",
      sql: sql, path: database.path)
  }
}
