internal import CSQLite
package import TandemRecords

/// One connection to a SQLite file, beneath a ``Database``.
///
/// Foreign keys are enforced, and a commit is on disk when it returns (`synchronous=EXTRA`). A
/// statement that meets another connection's lock waits for it, up to the busy timeout.
///
/// A connection and its statements belong to one isolation domain at a time; they are not
/// `Sendable`.
@usableFromInline
package final class DatabaseConnection {
  let handle: DatabaseHandle
  let interruption: ConnectionInterruption
  let statements: StatementCache
  /// The statements that insert, update and delete records, by the records' type.
  var records = RecordCache()
  /// Notified of every transaction that writes.
  private(set) var observer: (any CommitObserver)?
  /// The journal that the first transaction that writes is to establish; `nil` once it has.
  var pendingJournal: DatabaseConfiguration.Journal?
  /// True if the connection enforces foreign keys. Only a write that needs another setting changes it.
  package var enforcesForeignKeys = true
  /// The end of the write-ahead log in the snapshot of the open transaction, if it is known.
  var snapshotLogEnd: LogEnd?
  /// True while a read of a database uses the connection, which then writes nothing.
  var isReading = false
  /// True while a read in memory has made SQLite refuse all changes.
  var isQueryOnly = false
  /// True if the connection was opened for reading only.
  let isReadOnly: Bool

  /// Opens a file, and establishes the write-ahead log at once if the connection may write.
  ///
  /// - Parameters:
  ///   - path: A path, or `:memory:`; never interpreted as a URI.
  ///   - access: The permitted operations.
  ///   - busyTimeout: The longest wait for another connection's lock.
  ///   - journal: The journal that is established.
  /// - Throws: ``DatabaseError``: `cannotOpen`, `notADatabase`, `busy`, `readOnly`, `corrupt`.
  package convenience init(
    path: String, access: DatabaseConfiguration.Access = .readWriteCreate,
    busyTimeout: Duration = DatabaseConfiguration.defaultBusyTimeout,
    journal: DatabaseConfiguration.Journal = .writeAhead
  ) throws(DatabaseError) {
    try self.init(
      path: path,
      DatabaseConfiguration(access: access, journal: journal, busyTimeout: busyTimeout))
    try establishJournal()
  }

  /// Opens a file and writes nothing, apart from creating a file that is missing.
  ///
  /// - Parameter place: Where to open the file that errors call `path`; `path` itself if `nil`.
  init(
    path: String, at place: String? = nil, _ configuration: DatabaseConfiguration
  ) throws(DatabaseError) {
    handle = try DatabaseHandle(
      path: path, at: place ?? path, creates: configuration.access == .readWriteCreate)
    isReadOnly = configuration.access == .readOnly
    interruption = ConnectionInterruption(handle, busyTimeout: configuration.busyTimeout)
    statements = StatementCache(handle, maxCount: configuration.maxCachedStatementCount)
    try addUTF8Collation()
    for collation in configuration.collations { try add(collation) }
    for function in SQLiteLibrary.functions + configuration.functions { try add(function) }
    for file in SQLiteLibrary.extensions { try handle.loadExtension(file) }
    try execute("PRAGMA foreign_keys=ON")
    // The first read: it finds out that a file is no database before anything is written.
    try execute("PRAGMA schema_version")
    guard !isReadOnly else {
      try execute("PRAGMA query_only=ON")
      return
    }
    pendingJournal = configuration.journal
    // Without a write-ahead log, a commit is the removal of the journal, which only EXTRA makes durable.
    try execute("PRAGMA synchronous=EXTRA")
    switch configuration.checkpointPolicy {
    case .automatic(let pageCount):
      try execute("PRAGMA wal_autocheckpoint=\(max(1, pageCount))")
    case .manual: try execute("PRAGMA wal_autocheckpoint=0")
    }
  }

  /// The file's path, as given.
  package var path: String { handle.path }

  /// Replaces the observer by the one that `make` returns for this connection.
  ///
  /// The former one is released first, so that its hooks are removed before the new one's are set.
  package func observe(
    by make: (DatabaseConnection) throws(DatabaseError) -> (any CommitObserver)?
  ) throws(DatabaseError) {
    observer = nil
    observer = try make(self)
  }
}

// MARK: - Statements

extension DatabaseConnection {
  /// Compiles one statement.
  ///
  /// - Throws: ``DatabaseError`` for a mistake in the statement, for an empty one, and for more
  ///   than one.
  package func prepare(_ sql: String) throws(DatabaseError) -> Statement {
    try Statement(sql, database: handle)
  }

  /// Runs `body` with a statement of the cache: reset, without parameters, and compiled only if no
  /// idle one has this text. Calls with the same text may be nested; each gets a statement of its
  /// own.
  package func withStatement<Value>(
    _ sql: String, _ body: (Statement) throws(DatabaseError) -> Value
  ) throws(DatabaseError) -> Value {
    try withStatement(StatementText(sql), body)
  }

  /// Runs `body` with a statement of the cache.
  package func withStatement<Value>(
    _ text: StatementText, _ body: (Statement) throws(DatabaseError) -> Value
  ) throws(DatabaseError) -> Value {
    let entry = try statements.checkOut(text)
    defer { statements.checkIn(entry) }
    return try body(entry.statement)
  }

  /// Calls `body` with a statement of the cache at each of its rows, until it returns false.
  package func forEachRow(
    _ sql: String, _ parameters: [FieldValue] = [], _ body: (Statement) throws -> Bool
  ) throws {
    try forEachRow(StatementText(sql), parameters, body)
  }

  /// Calls `body` with a statement of the cache at each of its rows, until it returns false.
  package func forEachRow(
    _ text: StatementText, _ parameters: [FieldValue], _ body: (Statement) throws -> Bool
  ) throws {
    var failure: (any Error)?
    try withStatement(text) { statement throws(DatabaseError) in
      try statement.bind(parameters)
      while failure == nil, try statement.step() {
        do {
          guard try body(statement) else { return }
        } catch {
          failure = error
        }
      }
    }
    if let failure { throw failure }
  }

  /// Runs a statement of the cache to its end, with the given parameters in order.
  package func run(_ sql: String, _ parameters: [FieldValue] = []) throws(DatabaseError) {
    try run(StatementText(sql), parameters)
  }

  /// Runs a statement of the cache to its end, with the given parameters in order.
  package func run(_ text: StatementText, _ parameters: [FieldValue]) throws(DatabaseError) {
    try withStatement(text) { statement throws(DatabaseError) in try statement.run(parameters) }
  }

  /// The first row of a query; `nil` if there is none. The statement is one of the cache.
  package func row(
    _ sql: String, _ parameters: [FieldValue] = []
  ) throws(DatabaseError) -> [FieldValue]? {
    try row(StatementText(sql), parameters)
  }

  /// The first row of a query; `nil` if there is none. The statement is one of the cache.
  package func row(
    _ text: StatementText, _ parameters: [FieldValue]
  ) throws(DatabaseError) -> [FieldValue]? {
    try withStatement(text) { statement throws(DatabaseError) in
      try statement.bind(parameters)
      return try statement.step() ? try statement.values() : nil
    }
  }

  /// Runs a statement of the cache once for each row of a query, which may be one of another connection: the columns of
  /// the row are the parameters. Returns the number of rows.
  package func run(
    _ text: StatementText, forEachRowOf query: Statement
  ) throws(DatabaseError) -> Int {
    try withStatement(text) { statement throws(DatabaseError) in
      let columns = 0..<sqlite3_column_count(query.handle)
      var count = 0
      while try query.step() {
        for column in columns {
          let value = sqlite3_column_value(query.handle, column)
          let result = sqlite3_bind_value(statement.handle, column + 1, value)
          guard result == SQLITE_OK else { throw handle.error(result, sql: text.sql) }
        }
        while try statement.step() {}
        count += 1
      }
      return count
    }
  }

  /// The rows of a query, which should be few. The statement is one of the cache.
  package func rows(
    _ sql: String, _ parameters: [FieldValue] = []
  ) throws(DatabaseError) -> [[FieldValue]] {
    try withStatement(sql) { statement throws(DatabaseError) in
      try statement.bind(parameters)
      var rows: [[FieldValue]] = []
      while try statement.step() { rows.append(try statement.values()) }
      return rows
    }
  }

  /// Runs a statement that is not kept in the cache to its end, with the given parameters in order.
  package func execute(_ sql: String, _ parameters: FieldValue...) throws(DatabaseError) {
    let statement = try prepare(sql)
    try statement.bind(parameters)
    while try statement.step() {}
  }

  /// The first column of the first row as an integer, or `nil` if there is no row or it is null. The
  /// statement is one of the cache.
  ///
  /// - Throws: ``DatabaseError``; with code `mismatch` if it is a value of another type.
  package func integer(_ sql: String, _ parameters: FieldValue...) throws(DatabaseError) -> Int64? {
    let value: FieldValue = try withStatement(sql) { statement throws(DatabaseError) in
      try statement.bind(parameters)
      return try statement.step() ? try statement.value(at: 0) : .null
    }
    switch value {
    case .null: return nil
    case .integer(let value): return value
    case .real, .text, .blob:
      throw DatabaseError(
        code: .mismatch, message: "the value is no integer", sql: sql, path: path)
    }
  }

  /// The version of the schema, which every change of the schema increases.
  ///
  /// As the first read of a transaction, this takes the snapshot that the transaction sees.
  package func schemaVersion() throws(DatabaseError) -> Int64 {
    try withStatement("PRAGMA schema_version") { statement throws(DatabaseError) in
      guard try statement.step() else {
        preconditionFailure("SQLite always returns the version of the schema")
      }
      return statement.column(0).integer
    }
  }

  /// The statements that have begun and not ended, including those that are not in the cache.
  var unfinishedStatements: [OpaquePointer] {
    var unfinished: [OpaquePointer] = []
    var statement = sqlite3_next_stmt(handle.pointer, nil)
    while let current = statement {
      if sqlite3_stmt_busy(current) != 0 { unfinished.append(current) }
      statement = sqlite3_next_stmt(handle.pointer, current)
    }
    return unfinished
  }

  /// The number of times that statements were compiled since the connection was opened, those included
  /// that SQLite compiled again because the schema or a setting had changed. Of statements that are
  /// gone, only the first time counts.
  package var compilationCount: Int {
    var count = handle.statementCount
    var statement = sqlite3_next_stmt(handle.pointer, nil)
    while let current = statement {
      count += Int(sqlite3_stmt_status(current, SQLITE_STMTSTATUS_REPREPARE, 0))
      statement = sqlite3_next_stmt(handle.pointer, current)
    }
    return count
  }

  /// The number of rows that the last insert, update or delete statement changed itself.
  package var changeCount: Int { Int(sqlite3_changes64(handle.pointer)) }
}
