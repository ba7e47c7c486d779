internal import CSQLite
internal import TandemRecords

/// The only access to the contents of a ``Database``: a transaction, as long as its closure runs.
///
/// It cannot be copied and is only borrowed, so the compiler refuses to keep it beyond the closure.
/// A function for both kinds takes a `borrowing DatabaseTransaction<some Any>`.
public struct DatabaseTransaction<Access>: ~Copyable {
  /// The connection, for targets of this package that build on it.
  @usableFromInline package let connection: DatabaseConnection

  init(_ connection: DatabaseConnection) { self.connection = connection }
}

/// The access of a ``ReadTransaction``.
public enum ReadAccess {}

/// The access of a ``WriteTransaction``.
public enum WriteAccess {}

/// A transaction that sees one state of the database: that of its first statement, whatever others
/// commit meanwhile.
public typealias ReadTransaction = DatabaseTransaction<ReadAccess>

/// A transaction that is alone in writing: it sees its own writes, and others see all of them or
/// none.
public typealias WriteTransaction = DatabaseTransaction<WriteAccess>

extension DatabaseTransaction where Access == WriteAccess {
  /// Runs `body` as a part that can fail alone: if it throws, its writes are undone and this throws
  /// the error; if the caller catches that, the transaction continues. Savepoints nest.
  ///
  /// - Throws: The error that `body` throws; ``DatabaseError``.
  @discardableResult
  public func savepoint<Value>(
    _ body: (borrowing WriteTransaction) throws -> Value
  ) throws -> Value {
    try connection.savepoint { try body(self) }
  }
}

// MARK: - Statements

extension DatabaseTransaction where Access == WriteAccess {
  /// Runs a statement to its end.
  ///
  /// - Returns: The number of rows that an INSERT, UPDATE or DELETE changed itself, without its
  ///   triggers and cascades; 0 for other statements.
  /// - Throws: ``DatabaseError``. Statements that begin or end transactions are rejected
  ///   (`misuse`).
  @discardableResult
  public func execute(_ sql: SQL) throws(DatabaseError) -> Int {
    try connection.withStatement(sql) { statement throws(DatabaseError) in
      let before = connection.totalChangeCount
      while try statement.step() {}
      let changed = connection.totalChangeCount != before
      return changed ? connection.changeCount : 0
    }
  }
}

extension DatabaseTransaction {
  /// The first column of the first row of a query; `nil` if there is no row.
  ///
  /// - Throws: ``DatabaseError``: `mismatch` if the value is not of the type.
  public func fetchValue<Value: DatabaseValue>(
    _ sql: SQL, as type: Value.Type = Value.self
  ) throws(DatabaseError) -> Value? {
    try connection.withStatement(sql) { statement throws(DatabaseError) in
      guard try statement.step() else { return nil }
      return try statement.decode(type, at: 0)
    }
  }

  /// The first column of every row of a query, in order.
  ///
  /// - Throws: ``DatabaseError``: `mismatch` if a value is not of the type.
  public func fetchValues<Value: DatabaseValue>(
    _ sql: SQL, as type: Value.Type = Value.self
  ) throws(DatabaseError) -> [Value] {
    try connection.withStatement(sql) { statement throws(DatabaseError) in
      var values: [Value] = []
      while try statement.step() { values.append(try statement.decode(type, at: 0)) }
      return values
    }
  }
}

extension DatabaseConnection {
  /// Runs `body` with the statement, bound and not yet begun.
  fileprivate func withStatement<Value>(
    _ sql: SQL, _ body: (Statement) throws(DatabaseError) -> Value
  ) throws(DatabaseError) -> Value {
    let entry = try checkOut(sql)
    defer { checkIn(entry) }
    let value = try body(entry.statement)
    try checkIsInTransaction()
    return value
  }

  /// A statement of a transaction, bound and not yet begun; to be returned by ``checkIn(_:)``.
  @usableFromInline
  func checkOut(_ sql: SQL) throws(DatabaseError) -> CachedStatement {
    try checkIsInTransaction()
    try sql.checkIsNoTransactionControl(path: path)
    if let value = sql.unstorable {
      throw DatabaseError(
        code: .mismatch, message: "SQLite cannot hold the value \(value)", sql: sql.text, path: path
      )
    }
    let entry = try statements.checkOut(StatementText(sql.text))
    do throws(DatabaseError) {
      if isReading { try checkIsReading(entry.statement) }
      try entry.statement.bind(sql.parameters)
    } catch {
      statements.checkIn(entry)
      throw error
    }
    return entry
  }

  /// Returns a statement to the cache.
  @usableFromInline
  func checkIn(_ entry: CachedStatement) { statements.checkIn(entry) }

  /// Throws ``DatabaseError`` with code `readOnly` if running the statement may change something: a
  /// `PRAGMA` may have made SQLite let readers write.
  private func checkIsReading(_ statement: Statement) throws(DatabaseError) {
    let mayWrite = !statement.isReadOnly && sqlite3_stmt_isexplain(statement.handle) == 0
    guard mayWrite || !isReadOnly else { return }
    let isPragma = Statement.firstWord(of: statement.sql).isSameSQLName(as: "pragma")
    // SQLite reports some pragmas that only ask as writing, and some that write as reading; with this
    // setting it refuses those that write. In memory, the setting must not outlast the read.
    if isPragma {
      isQueryOnly = !isReadOnly
      return try execute("PRAGMA query_only=ON")
    }
    guard mayWrite else { return }
    throw DatabaseError(
      code: .readOnly, message: "a read may not write; use write(_:)", sql: statement.sql,
      path: path)
  }
}

extension SQL {
  /// Throws ``DatabaseError`` with code `misuse` for a statement that begins or ends a transaction.
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
  /// The number of rows that have ever been changed through this connection.
  fileprivate var totalChangeCount: Int64 { sqlite3_total_changes64(handle.pointer) }
}

extension Statement {
  /// The first word of a statement, or the beginning of a long one.
  fileprivate static func firstWord(of sql: String) -> String {
    let word = skippingComments(sql.utf8).prefix(10)
      .prefix { $0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z") }
    return String(decoding: word, as: UTF8.self)
  }

  /// The value of a column of the current row.
  ///
  /// - Throws: ``DatabaseError`` with code `mismatch` if the value is not of the type.
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

  /// The error for a column's value that is not of the type requested.
  func mismatch(_ reader: ColumnReader, _ type: Any.Type, at column: Int) -> DatabaseError {
    let found = reader.fieldValue.map { "\($0)" } ?? "a text that is not valid UTF-8"
    return mismatch("holds \(found), which is no \(type)", at: column)
  }

  /// The error of a column, which `fault` describes.
  func mismatch(_ fault: String, at column: Int) -> DatabaseError {
    let table = origin(ofColumn: column).map { " of table \($0.table)" } ?? ""
    return DatabaseError(
      code: .mismatch, message: "column \(columnNames[column])\(table) \(fault)", sql: sql,
      path: database.path)
  }

  /// A column of the current row as any `Decodable` type.
  func decode<Value: Decodable>(
    _ type: Value.Type, at column: Int, _ coding: RecordCoding
  ) throws -> Value {
    if let columnType = type as? any DatabaseValue.Type {
      guard let value = try decode(columnType, at: column) as? Value else {
        preconditionFailure("It is of the type asked for")
      }
      return value
    }
    do {
      return try FieldDecoder(try value(at: column), coding).decode(type)
    } catch let error as DecodingError {
      throw mismatch("cannot be decoded: \(error.fieldMessage)", at: column)
    }
  }
}
