/// One step of a database's schema: a name, and a change.
///
/// Once released, a migration is never changed, renamed or moved; a new one is added behind it.
public struct DatabaseMigration: Sendable {
  /// The name, which the file remembers.
  public var name: String
  /// The change of the schema, made in a transaction of its own.
  public var body: @Sendable (borrowing WriteTransaction) throws -> Void

  /// A migration of this name.
  public init(
    _ name: String, _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Void
  ) {
    self.name = name
    self.body = body
  }
}

extension Database {
  /// Brings the file's schema up to date: runs those migrations, in order, that it has not yet run.
  ///
  /// <!-- Snippets/DatabaseCodeInComments.swift migrations -->
  /// ```swift
  /// try await database.migrate([
  ///   DatabaseMigration("create places") { transaction in
  ///     try transaction.execute("CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT)")
  ///   }
  /// ])
  /// ```
  ///
  /// Each runs in a transaction that also records its name in the table `tandem_migrations`, so it
  /// has happened in full or not at all; after a failure or a crash, the next call continues where
  /// it stopped. Two programs may migrate one file at the same time: each step runs once.
  ///
  /// Foreign keys are not enforced while a migration runs, so that a table may be dropped and
  /// created again without deleting the rows that refer to it; they are checked before it commits.
  /// (Actions such as ON DELETE CASCADE do not run either.) Foreign keys whose row was missing
  /// before the migration may stay: programs that do not enforce foreign keys leave them.
  ///
  /// Tables that are attached to a space may be changed in any way, except for their names and
  /// primary keys. A migration of a file with such tables takes time in proportion to their rows.
  ///
  /// - Returns: The names of those that ran.
  /// - Throws: ``DatabaseError``: `migration` if the file has run migrations that are not the first
  ///   of these, in this order: it was written by another, maybe newer program, and nothing is
  ///   changed; `constraint` if one leaves more foreign keys without their row than before. The
  ///   error that a migration throws.
  /// - Precondition: No two have the same name.
  @discardableResult
  public func migrate(_ migrations: [DatabaseMigration]) async throws -> [String] {
    try await writer().withConnection { connection, cancellation in
      try DatabaseMigrations(migrations).run(in: connection, cancellation)
    }
  }

  /// Brings the file's schema up to date; blocks this thread.
  @discardableResult
  public func migrate(_ migrations: [DatabaseMigration]) throws -> [String] {
    try writer().withConnection { connection in
      try DatabaseMigrations(migrations).run(in: connection, nil)
    }
  }
}
