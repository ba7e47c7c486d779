internal import TandemRecords

/// The migrations of a program, and how they meet a file.
struct DatabaseMigrations {
  private let migrations: [DatabaseMigration]

  init(_ migrations: [DatabaseMigration]) {
    precondition(
      Set(migrations.map(\.name)).count == migrations.count, "two migrations have the same name")
    self.migrations = migrations
  }

  /// Runs what is missing; returns the names of what ran.
  func run(
    in session: ConnectionSession, _ cancellation: AccessCancellation?
  ) throws -> [String] {
    // A file that is up to date, as it mostly is, costs no lock: others may be writing.
    if try session.read(cancellation, isComplete) { return [] }
    // Has no effect inside a transaction, so it comes before.
    try session.run("PRAGMA foreign_keys=OFF")
    defer { try? session.run("PRAGMA foreign_keys=ON") }
    var ran: [String] = []
    while try session.write(cancellation, { try runNext($0, noting: &ran) }) {}
    return ran
  }

  /// Whether the file has all migrations, and no others.
  private func isComplete(_ transaction: borrowing ReadTransaction) throws -> Bool {
    guard try transaction.connection.schema(ofTable: "tandem_migrations") != nil else {
      return false
    }
    return try recordedNames(transaction) == migrations.map(\.name)
  }

  /// Runs the first migration that the file does not have; returns whether there was one.
  private func runNext(
    _ transaction: borrowing WriteTransaction, noting ran: inout [String]
  ) throws -> Bool {
    // Read anew each time: another program may have migrated meanwhile.
    try transaction.execute(
      """
      CREATE TABLE IF NOT EXISTS tandem_migrations (
        position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)
      """)
    let known = try recordedNames(transaction)
    try check(known, path: transaction.connection.path)
    guard known.count < migrations.count else { return false }
    let migration = migrations[known.count]
    // Programs that do not enforce foreign keys may have left some without their row long ago.
    let earlierViolations = try ForeignKeyViolations(before: transaction)
    try migration.body(transaction)
    try ForeignKeyViolations(transaction).check(
      since: earlierViolations, after: migration.name, path: transaction.connection.path)
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

/// How many foreign keys of each table are without their row, by the table that they refer to.
private struct ForeignKeyViolations {
  private struct Reference: Hashable, Comparable {
    let table: String
    let parent: String

    static func < (one: Reference, other: Reference) -> Bool {
      (one.table, one.parent) < (other.table, other.parent)
    }
  }

  private struct Violation: RowDecodable {
    static let columnNames = ["table", "parent", "count"]

    let reference: Reference
    let count: Int

    init(row: inout RowDecoder) throws {
      reference = Reference(table: try row.next(), parent: try row.next())
      count = try row.next()
    }
  }

  private let counts: [Reference: Int]

  private init(counts: [Reference: Int]) { self.counts = counts }

  init(_ transaction: borrowing WriteTransaction) throws {
    let violations = try transaction.fetchAll(
      """
      SELECT "table", "parent", count(*) AS "count" FROM pragma_foreign_key_check
      GROUP BY "table", "parent"
      """, as: Violation.self)
    counts = Dictionary(violations.map { ($0.reference, $0.count) }, uniquingKeysWith: +)
  }

  /// Those of a file as it was found. Where even the declarations do not fit each other, which the
  /// migration may be there to repair, none are known.
  init(before transaction: borrowing WriteTransaction) throws {
    do {
      try self.init(transaction)
    } catch let error as DatabaseError where error.code == .error {
      self.init(counts: [:])
    }
  }

  /// Throws if there are more now than there were.
  func check(
    since earlier: ForeignKeyViolations, after name: String, path: String
  ) throws(DatabaseError) {
    let grown = counts.filter { $0.value > earlier.counts[$0.key, default: 0] }
    guard let (reference, count) = grown.min(by: { $0.key < $1.key }) else { return }
    let before = earlier.counts[reference, default: 0]
    throw DatabaseError(
      code: .constraint,
      message:
        "after the migration \(name), \(reference.table) would have \(count) references to rows "
        + "of \(reference.parent) that do not exist; before it, it had \(before)",
      path: path)
  }
}
