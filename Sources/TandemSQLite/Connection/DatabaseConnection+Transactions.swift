internal import CSQLite
internal import TandemRecords

/// Notified of every transaction that a connection writes; owned by that connection, from
/// ``DatabaseConnection/observe(by:)`` until it is replaced or the connection closes.
///
/// Calls come one at a time, from whoever has the connection for itself. Each `didBegin` is
/// followed by exactly one `didCommit` or `didRollback` before the next `didBegin`. `didCommit`
/// runs after the commit is durable and before `write` returns, outside any transaction: the
/// observer may read through the connection, but must not write, and must leave no statement
/// unfinished. It cannot throw.
package protocol CommitObserver: AnyObject {
  /// A transaction has begun.
  func didBegin(_ connection: DatabaseConnection)
  /// The transaction has been committed.
  func didCommit(_ connection: DatabaseConnection)
  /// The transaction has been rolled back, in full. (Savepoints within it are not reported.)
  func didRollback(_ connection: DatabaseConnection)
}

/// The treatment of foreign keys in a transaction that writes.
package enum ForeignKeyTreatment: Sendable {
  /// They are enforced, and their actions run.
  case enforced
  /// They are not enforced, and their actions do not run. It is up to the caller to leave none without
  /// its row.
  case ignored
  /// The transaction writes no table with foreign keys. It treats them as the one before.
  case unconcerned
}

extension DatabaseConnection {
  /// The moment at which a transaction takes the lock that writing needs.
  package enum TransactionKind: String, Sendable {
    /// At the first write: for transactions that only read.
    case deferred = "DEFERRED"
    /// At once: rows that have been read cannot change before the transaction writes.
    case immediate = "IMMEDIATE"
  }

  /// Runs `body` in a transaction: committed if it returns, rolled back if it throws.
  ///
  /// A transaction that wrote nothing leaves the file as it was. Transactions do not nest: inside
  /// one, this throws SQLite's error.
  ///
  /// - Throws: The error that `body` throws; ``DatabaseError`` if the transaction cannot begin or
  ///   commit, with code `cannotOpen` if it wrote to a file that was deleted, moved or replaced
  ///   since.
  package func transaction<Value>(
    _ kind: TransactionKind = .immediate, _ body: () throws -> Value
  ) throws -> Value {
    try transaction(kind, nil, body)
  }

  /// Runs `body` in a transaction that only reads, or in the one that is open.
  package func snapshot(_ body: () throws -> Void) throws {
    if isInTransaction { try body() } else { try transaction(.deferred, body) }
  }

  /// A write of a database.
  func write<Value>(
    foreignKeys: ForeignKeyTreatment = .enforced, _ cancellation: AccessCancellation?,
    _ body: (borrowing WriteTransaction) throws -> Value
  ) throws -> Value {
    switch foreignKeys {
    case .enforced: try enforceForeignKeys(true)
    case .ignored: try enforceForeignKeys(false)
    case .unconcerned: break
    }
    return try transaction(.immediate, cancellation) { try withTransaction(body) }
  }

  /// Makes SQLite enforce foreign keys in the next transactions, or ignore them.
  ///
  /// The pragma makes SQLite compile all statements again, so it runs only for a change.
  private func enforceForeignKeys(_ enforces: Bool) throws(DatabaseError) {
    // Inside a transaction, the pragma has no effect. The next transaction then fails to begin.
    guard enforces != enforcesForeignKeys, !isInTransaction else { return }
    try run("PRAGMA foreign_keys=\(enforces ? "ON" : "OFF")")
    enforcesForeignKeys = enforces
  }

  /// A read of a database.
  func read<Value>(
    _ cancellation: AccessCancellation?, _ body: (borrowing ReadTransaction) throws -> Value
  ) throws -> Value {
    isReading = true
    defer { isReading = false }
    guard !isReadOnly else {
      return try transaction(.deferred, cancellation) { try withTransaction(body) }
    }
    // In memory, the writer reads. Statements that may write are refused one by one: the setting makes
    // SQLite compile all statements again. So only a pragma turns it on.
    defer {
      if isQueryOnly { try? run("PRAGMA query_only=0") }
      isQueryOnly = false
    }
    return try transaction(.deferred, cancellation) { try withTransaction(body) }
  }

  /// Calls `body` with a transaction that ends with the call.
  private func withTransaction<Access, Value>(
    _ body: (borrowing DatabaseTransaction<Access>) throws -> Value
  ) throws -> Value {
    // Passed without a name, the value makes Swift 6.3's optimizer abort.
    let transaction = DatabaseTransaction<Access>(self)
    return try body(transaction)
  }

  /// Moves the content of the write-ahead log into the file and empties the log.
  func checkpoint() throws(DatabaseError) {
    let isBusy = try integer("PRAGMA wal_checkpoint(TRUNCATE)")
    guard isBusy != 1 else {
      throw DatabaseError(
        code: .busy, message: "a reader still needs the write-ahead log", path: path)
    }
  }
}

// MARK: - The transaction routine

extension DatabaseConnection {
  /// Runs `body` in a transaction: committed if it returns, rolled back if it throws or is
  /// cancelled.
  private func transaction<Value>(
    _ kind: TransactionKind, _ cancellation: AccessCancellation?, _ body: () throws -> Value
  ) throws -> Value {
    interruption.begin(cancellation)
    defer {
      interruption.end()
      snapshotLogEnd = nil
    }
    let observer = kind == .immediate ? self.observer : nil
    do {
      try interruption.check()
      if kind == .immediate { try establishJournal() }
      try begin(kind)
      observer?.didBegin(self)
      return try commit(observer, after: body)
    } catch let error as DatabaseError where interruption.isCause(of: error) {
      throw CancellationError()
    }
  }

  private func begin(_ kind: TransactionKind) throws(DatabaseError) {
    let isNested = isInTransaction
    do throws(DatabaseError) {
      try run("BEGIN \(kind.rawValue)")
    } catch {
      // SQLite may notice an interruption after the transaction has begun.
      if !isNested { rollBack() }
      throw error
    }
  }

  /// Turns the file's journal into the one configured, unless that is done.
  ///
  /// A file keeps its journal mode, so this writes only to a file that has another one.
  func establishJournal() throws(DatabaseError) {
    guard let pendingJournal else { return }
    // The log is opened by its name, and would be that of another file that took this one's place.
    try checkIsFileThere()
    if pendingJournal == .writeAhead {
      try interruption.repeatingWhileLocked { () throws(DatabaseError) in
        try execute("PRAGMA journal_mode=WAL")
      }
    }
    self.pendingJournal = nil
  }

  /// Throws ``DatabaseError`` with code `misuse` if a write would wait for the read that it is
  /// inside: only a write-ahead log lets both run at once, and no read may run while it is
  /// established.
  func checkWritesBesideReads() throws(DatabaseError) {
    // A connection knows the journal mode of its last read.
    _ = try schemaVersion()
    guard try blocksWriters() else { return }
    throw DatabaseError(
      code: .misuse,
      message:
        "a write inside a read would wait for that read, because the file has no write-ahead "
        + "log: write outside the read"
        + (pendingJournal == .writeAhead ? "; the first write establishes the log" : ""),
      path: path)
  }

  /// True if no other connection can commit while this one reads: the file has no write-ahead log.
  package func blocksWriters() throws(DatabaseError) -> Bool {
    guard filePath != nil else { return false }
    return try withStatement("PRAGMA main.journal_mode") { statement throws(DatabaseError) in
      guard try statement.step() else { return false }
      return try statement.value(at: 0) != .text("wal")
    }
  }

  private func commit<Value>(
    _ observer: (any CommitObserver)?, after body: () throws -> Value
  ) throws -> Value {
    do {
      let value = try body()
      try checkIsInTransaction()
      try interruption.check()
      try checkMayCommit()
      // A commit that has begun is completed.
      interruption.end()
      try commit()
      observer?.didCommit(self)
      return value
    } catch {
      rollBack()
      observer?.didRollback(self)
      throw error
    }
  }

  private func commit() throws(DatabaseError) {
    do throws(DatabaseError) {
      try run("COMMIT")
    } catch {
      // A statement that is unfinished prevents the commit if it writes, and keeps an interruption
      // pending.
      guard [.busy, .interrupted].contains(error.code.primary), isInTransaction,
        !unfinishedStatements.isEmpty
      else { throw error }
      resetStatements()
      try run("COMMIT")
    }
    // A connection may keep many statements. Only one that is unfinished keeps the transaction open.
    let state = sqlite3_txn_state(handle.pointer, nil)
    if state != SQLITE_TXN_NONE { resetStatements() }
  }

  /// Ends the transaction without a trace, whatever state it is in.
  func rollBack() {
    interruption.end()
    // An unfinished statement would keep an interruption pending, which would hit the rollback.
    resetStatements()
    // Some errors, such as a full disk, have rolled it back already.
    if isInTransaction { try? run("ROLLBACK") }
  }

  /// Runs `body` in a savepoint: its writes stay if it returns, and are undone if it throws.
  package func savepoint<Value>(_ body: () throws -> Value) throws -> Value {
    try checkIsInTransaction()
    try run("SAVEPOINT tandem")
    do {
      let value = try body()
      try checkIsInTransaction()
      try run("RELEASE tandem")
      return value
    } catch {
      if isInTransaction {
        try run("ROLLBACK TO tandem")
        try run("RELEASE tandem")
      }
      throw error
    }
  }

  /// True if the open transaction cannot be committed as it is: its changes violate a deferred foreign key.
  package var violatesDeferredKeys: Bool {
    var (current, highest): (Int32, Int32) = (0, 0)
    sqlite3_db_status(
      handle.pointer, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
    return current != 0
  }

  /// True if a transaction is open.
  package var isInTransaction: Bool { sqlite3_get_autocommit(handle.pointer) == 0 }

  /// Throws ``DatabaseError`` with code `misuse` if a statement, or an error such as a full disk,
  /// has ended the transaction: further statements would be committed one by one.
  @usableFromInline
  func checkIsInTransaction() throws(DatabaseError) {
    guard isInTransaction else {
      throw DatabaseError(
        code: .misuse,
        message: "the transaction has ended before its closure, by a statement or an earlier error",
        path: path)
    }
  }

  /// Ends every statement that has begun, including those that are not in the cache.
  private func resetStatements() {
    for statement in unfinishedStatements { sqlite3_reset(statement) }
  }
}
