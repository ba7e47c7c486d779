/// The only way to what a ``Database`` holds: a transaction, as long as its closure runs.
///
/// It cannot be copied and is only borrowed, so the compiler refuses to keep it beyond the closure.
/// A function for both kinds takes a `borrowing DatabaseTransaction<some Any>`.
public struct DatabaseTransaction<Access>: ~Copyable {
  @usableFromInline let session: ConnectionSession

  init(_ session: ConnectionSession) { self.session = session }

  /// The connection, for our targets that build on it.
  package var connection: DatabaseConnection { session.connection }
}

/// What a ``ReadTransaction`` may do.
public enum ReadAccess {}

/// What a ``WriteTransaction`` may do.
public enum WriteAccess {}

/// A transaction that sees one state of the database: that of its first statement, whatever others
/// commit meanwhile.
public typealias ReadTransaction = DatabaseTransaction<ReadAccess>

/// A transaction that is alone in writing: it sees what it has written, and others see all of it or
/// nothing.
public typealias WriteTransaction = DatabaseTransaction<WriteAccess>

extension DatabaseTransaction where Access == WriteAccess {
  /// Runs `body` as a part that can fail alone: if it throws, what it wrote is undone and the error
  /// comes out here; if that is caught, the transaction goes on. Savepoints nest.
  ///
  /// - Throws: What `body` throws; ``DatabaseError``.
  public func savepoint<Value>(
    _ body: (borrowing WriteTransaction) throws -> Value
  ) throws -> Value {
    try session.savepoint { try body(self) }
  }
}
