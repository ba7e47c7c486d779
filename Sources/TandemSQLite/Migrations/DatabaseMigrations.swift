internal import TandemRecords

/// The migrations of a program, to be run on a file.
struct DatabaseMigrations {
  private let migrations: [DatabaseMigration]

  init(_ migrations: [DatabaseMigration]) {
    precondition(
      Set(migrations.map(\.name)).count == migrations.count, "two migrations have the same name")
    self.migrations = migrations
  }

  /// Runs the missing migrations; returns their names.
  func run(
    in connection: DatabaseConnection, _ cancellation: AccessCancellation?
  ) throws -> [String] {
    // A file that is up to date, the usual case, costs no lock: others may be writing.
    if try connection.read(cancellation, isComplete) { return [] }
    var ran: [String] = []
    while try connection.write(
      foreignKeys: .ignored, cancellation, { try runNext($0, noting: &ran) })
    {}
    return ran
  }

  /// True if the file has all migrations, and no others.
  private func isComplete(_ transaction: borrowing ReadTransaction) throws -> Bool {
    guard try transaction.connection.schema(ofTable: "tandem_migrations") != nil else {
      return false
    }
    return try recordedNames(transaction) == migrations.map(\.name)
  }

  /// Runs the first migration that the file does not have; returns `false` if there is none.
  private func runNext(
    _ transaction: borrowing WriteTransaction, noting ran: inout [String]
  ) throws -> Bool {
    // Read again each time: another program may have migrated meanwhile.
    try transaction.execute(
      """
      CREATE TABLE IF NOT EXISTS tandem_migrations (
        position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)
      """)
    let known = try recordedNames(transaction)
    try check(known, path: transaction.connection.path)
    guard known.count < migrations.count else { return false }
    let migration = migrations[known.count]
    try transaction.changeSchema("the migration \(migration.name)", migration.body)
    try transaction.execute(
      """
      INSERT INTO tandem_migrations (position, name) \
      VALUES (\(known.count + 1), \(migration.name))
      """)
    ran.append(migration.name)
    return true
  }

  private func recordedNames(
    _ transaction: borrowing DatabaseTransaction<some Any>
  ) throws -> [String] {
    try transaction.fetchValues("SELECT name FROM tandem_migrations ORDER BY position")
  }

  private func check(_ recorded: [String], path: String) throws(DatabaseError) {
    let names = migrations.map(\.name)
    guard !names.starts(with: recorded) else { return }
    let message: String
    if let unknown = recorded.first(where: { !names.contains($0) }) {
      message =
        "the file has run the migration \(unknown), which this program does not have; "
        + "a newer version of it may have written the file"
    } else {
      message =
        "the file has run its migrations in the order \(recorded.joined(separator: ", ")), "
        + "which this program does not begin with; add new ones at the end"
    }
    throw DatabaseError(code: .migration, message: message, path: path)
  }
}

extension WriteTransaction {
  /// Runs a change of the schema. Tables that a replica synchronizes may be altered and built anew.
  ///
  /// - Parameter name: The name of the change, for errors.
  /// - Throws: ``DatabaseError`` with code `constraint` if there are more foreign keys without their
  ///   row afterwards; the error of `body`.
  package borrowing func changeSchema(
    _ name: String, _ body: (borrowing WriteTransaction) throws -> Void
  ) throws {
    // Programs that do not enforce foreign keys may have left some without their row long ago.
    let earlierViolations = try ForeignKeyViolations(self)
    try connection.pausingShadows { try body(self) }
    try ForeignKeyViolations(self).check(
      since: earlierViolations, after: name, path: connection.path)
  }
}
