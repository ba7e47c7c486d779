internal import CSQLite

/// A connection with what it keeps between transactions, and the rules of a transaction on it.
///
/// Belongs to whoever has borrowed its ``PooledConnection``.
@usableFromInline
final class ConnectionSession {
  let connection: DatabaseConnection
  let statements: StatementCache
  var records = RecordCache()
  private(set) var observer: (any CommitObserver)?
  private let interruption: ConnectionInterruption

  let isWriter: Bool
  /// Whether a read of the database uses it, to which nothing is written.
  var isReading = false

  init(_ connection: DatabaseConnection, isWriter: Bool, configuration: DatabaseConfiguration) {
    self.connection = connection
    self.isWriter = isWriter
    statements = StatementCache(connection, maxCount: configuration.maxCachedStatementCount)
    interruption = ConnectionInterruption(
      connection.handle, busyTimeout: configuration.busyTimeout)
  }

  deinit { observer?.willDetach(connection) }

  /// Replaces the observer.
  func setObserver(_ observer: (any CommitObserver)?) {
    self.observer?.willDetach(connection)
    self.observer = observer
    observer?.didAttach(connection)
  }

  /// Runs a statement of ours that has no parameters and no rows.
  func run(_ sql: String) throws(DatabaseError) {
    let entry = try statements.take(sql)
    defer { statements.giveBack(entry) }
    while try entry.statement.step() {}
  }
}

// MARK: - Transactions

extension ConnectionSession {
  /// Runs `body` in a transaction: committed if it returns, rolled back if it throws or is cancelled.
  func transaction<Value>(
    _ kind: DatabaseConnection.TransactionKind, _ cancellation: AccessCancellation?,
    _ body: () throws -> Value
  ) throws -> Value {
    interruption.begin(cancellation)
    defer { interruption.end() }
    let observer = kind == .immediate ? self.observer : nil
    do {
      try interruption.check()
      try run("BEGIN \(kind.rawValue)")
      observer?.didBegin(connection)
      return try commit(observer, after: body)
    } catch let error as DatabaseError where interruption.isCause(of: error) {
      throw CancellationError()
    }
  }

  private func commit<Value>(
    _ observer: (any CommitObserver)?, after body: () throws -> Value
  ) throws -> Value {
    do {
      let value = try body()
      try checkIsInTransaction()
      try interruption.check()
      try connection.checkMayCommit()
      // A commit that has begun is finished.
      interruption.end()
      try commit()
      observer?.didCommit(connection)
      return value
    } catch {
      rollBack()
      observer?.didRollback(connection)
      throw error
    }
  }

  private func commit() throws(DatabaseError) {
    guard !isWriter else {
      resetStatements()
      return try run("COMMIT")
    }
    try run("COMMIT")
    // A reader may keep many statements. Only one that is unfinished keeps the transaction open.
    let state = sqlite3_txn_state(connection.handle.pointer, nil)
    if state != SQLITE_TXN_NONE { resetStatements() }
  }

  /// Ends the transaction without a trace, whatever state it is in.
  func rollBack() {
    interruption.end()
    // An unfinished statement would keep an interruption pending, which would hit the rollback.
    resetStatements()
    // Some errors, such as a full disk, have rolled it back already.
    if connection.isInTransaction { try? run("ROLLBACK") }
  }

  /// Runs `body` in a savepoint: what it wrote stays if it returns, and is undone if it throws.
  func savepoint<Value>(_ body: () throws -> Value) throws -> Value {
    try checkIsInTransaction()
    try run("SAVEPOINT tandem")
    do {
      let value = try body()
      try checkIsInTransaction()
      try run("RELEASE tandem")
      return value
    } catch {
      if connection.isInTransaction {
        try run("ROLLBACK TO tandem")
        try run("RELEASE tandem")
      }
      throw error
    }
  }

  /// - Throws: ``DatabaseError`` with code `misuse` if a statement, or an error such as a full disk, has
  ///   ended the transaction: further statements would be committed one by one.
  @usableFromInline
  func checkIsInTransaction() throws(DatabaseError) {
    guard connection.isInTransaction else {
      throw DatabaseError(
        code: .misuse,
        message: "the transaction has ended before its closure, by a statement or an earlier error",
        path: connection.path)
    }
  }

  /// Ends every statement that has begun, also those that somebody keeps.
  private func resetStatements() {
    for statement in connection.unfinishedStatements { sqlite3_reset(statement) }
  }
}
