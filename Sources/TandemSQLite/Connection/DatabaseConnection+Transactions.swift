internal import CSQLite

extension DatabaseConnection {
  /// When a transaction takes the lock that writing needs.
  public enum TransactionKind: String, Sendable {
    /// At the first write: for transactions that only read.
    case deferred = "DEFERRED"
    /// At once: what has been read cannot be overtaken before it is written.
    case immediate = "IMMEDIATE"
  }

  /// Runs `body` in a transaction: committed if it returns, rolled back if it throws.
  ///
  /// A transaction that wrote nothing leaves the file as it was. Transactions do not nest: inside one,
  /// SQLite's error says so.
  ///
  /// - Throws: What `body` throws; ``DatabaseError`` if the transaction cannot begin or commit, with code
  ///   `cannotOpen` if it wrote to a file that was deleted, moved or replaced since.
  public func transaction<Result>(
    _ kind: TransactionKind = .immediate, _ body: () throws -> Result
  ) throws -> Result {
    try execute("BEGIN \(kind.rawValue)")
    do {
      let result = try body()
      try checkMayCommit()
      try execute("COMMIT")
      return result
    } catch {
      // Some errors, such as a full disk, have rolled it back already.
      if isInTransaction { try? execute("ROLLBACK") }
      throw error
    }
  }

  /// Whether a transaction is open.
  public var isInTransaction: Bool { sqlite3_get_autocommit(handle.pointer) == 0 }
}
