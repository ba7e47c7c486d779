import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync

/// The database of a replica or of the space, in memory or in a file whose program can be killed.
///
/// One connection does everything, outside a transaction if it only reads: SQLite compiles all
/// statements of a connection again whenever it begins or ends to write, and that takes longer than
/// everything else.
final class SimulatedDatabase {
  /// The moment at which the program is killed.
  enum Kill {
    /// While the transaction is open: such a share of the pages that it has written so far is on
    /// disk.
    case inTransaction(Double)
    /// While the transaction is committed: such a share of the bytes that it writes is on disk.
    case inCommit(Double)
  }

  private var database: Database
  /// The place of the file; `nil` in memory.
  private var disk: SimulatedDisk?
  private let hasForeignKeys: Bool
  /// True if the program enforces foreign keys.
  var enforcesForeignKeys = true
  /// The replica; its schema is read once.
  private var tables: ReplicaTables?
  /// The tables with their stored columns, and the triggers of Tandem, which are read once.
  private var listing: Listing?
  /// The kill that the next transaction meets.
  var nextKill: Kill?
  private var wasKilled = false

  /// A database in memory.
  init(hasForeignKeys: Bool) throws {
    self.hasForeignKeys = hasForeignKeys
    database = try Database(path: ":memory:", configuration: SimulatedDatabase.configuration)
  }

  /// A file with a content.
  init(_ content: FileContent, at disk: SimulatedDisk, hasForeignKeys: Bool) throws {
    self.hasForeignKeys = hasForeignKeys
    self.disk = disk
    try disk.write(content)
    database = try Database(path: disk.path, configuration: SimulatedDatabase.configuration)
  }

  /// All statements of a simulation stay compiled. Only ``checkpoint(_:)`` makes checkpoints.
  private static let configuration = DatabaseConfiguration(
    checkpointPolicy: .manual, maxCachedStatementCount: 1_000)

  var isFile: Bool { disk != nil }

  /// The replica in the database of a connection.
  func replica(_ connection: DatabaseConnection) -> ReplicaTables {
    let tables = tables ?? ReplicaTables(connection)
    self.tables = tables
    return tables
  }

  /// The triggers, and the tables with the columns that they store. Tandem's own tables come last: writing the
  /// application's tables fires triggers on them. Tables that refer to others come before these, which
  /// matters if foreign keys are enforced.
  func listing(_ connection: DatabaseConnection) throws -> Listing {
    let version = try connection.schemaVersion()
    if let listing, listing.version == version { return listing }
    let names = try connection.rows(
      """
      SELECT name FROM sqlite_schema
      WHERE type = 'table' AND (name NOT LIKE 'sqlite_%' OR name = 'sqlite_sequence')
      ORDER BY name = 'sqlite_sequence', name LIKE 'tandem_%', name DESC
      """)
    let tables = try names.compactMap(\.first?.textValue).map { name in
      // Without columns that are computed.
      let columns = try connection.rows("SELECT name FROM pragma_table_info(?)", [.text(name)])
      return (name, columns.compactMap(\.first?.textValue).sqlList)
    }
    let triggers = try connection.rows(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'tandem_%'")
    let listing = Listing(
      version: version, tables: tables,
      triggers: Dictionary(
        triggers.map { ($0[0].textValue ?? "", $0[1].textValue ?? "") },
        uniquingKeysWith: { first, _ in first }))
    self.listing = listing
    return listing
  }

  /// What the schema of a database has, as far as images need it.
  struct Listing {
    fileprivate let version: Int64
    let tables: [(name: String, columns: String)]
    /// The statements that create the triggers of Tandem, by their names.
    let triggers: [String: String]
  }

  /// Ends the use of a file, and deletes it.
  func end() throws {
    guard let disk else { return }
    try database.close()
    disk.remove()
  }
}

// MARK: - Access

extension SimulatedDatabase {
  func read<Value>(_ body: (DatabaseConnection) throws -> Value) throws -> Value {
    try database.withWriter(body)
  }

  /// Writes in one transaction, as a program does.
  ///
  /// - Throws: ``ProgramKilled`` if the program was killed, and nothing was written.
  func write<Value>(_ body: (DatabaseConnection) throws -> Value) throws -> Value {
    try write(foreignKeys: enforcesForeignKeys ? .enforced : .ignored, body)
  }

  /// Writes in one transaction, as synchronization does.
  ///
  /// - Throws: ``ProgramKilled`` if the program was killed, and nothing was written.
  func write<Value>(
    foreignKeys: ForeignKeyTreatment, _ body: (DatabaseConnection) throws -> Value
  ) throws -> Value {
    let foreignKeys = hasForeignKeys ? foreignKeys : .unconcerned
    guard let kill = nextKill else { return try commit(foreignKeys, body) }
    nextKill = nil
    let before = try content()
    switch kill {
    case .inTransaction(let share):
      var torn = before
      do {
        try commit(foreignKeys) { connection in
          _ = try body(connection)
          torn = try content().losing(since: before, keeping: share)
          throw ProgramKilled()
        }
      } catch is ProgramKilled {}
      try reopen(torn)
      throw ProgramKilled()
    case .inCommit(let share):
      let value = try commit(foreignKeys, body)
      let after = try content()
      let torn = after.losing(since: before, keeping: share)
      try reopen(torn)
      guard torn.log.count == after.log.count else { throw ProgramKilled() }
      wasKilled = true
      return value
    }
  }

  private func commit<Value>(
    _ foreignKeys: ForeignKeyTreatment, _ body: (DatabaseConnection) throws -> Value
  ) throws -> Value {
    try database.write(foreignKeys: foreignKeys) { try body($0.connection) }
  }
}

// MARK: - Kills

/// The program was killed before its transaction was on disk.
struct ProgramKilled: Error {}

extension SimulatedDatabase {
  /// Kills the program between two transactions.
  func kill() throws {
    guard isFile else { return }
    try reopen(try content())
  }

  /// True if the program was killed in its last transaction, which is on disk all the same.
  func takeKill() -> Bool {
    defer { wasKilled = false }
    return wasKilled
  }

  /// Moves all commits from the log into the file.
  ///
  /// - Parameter isPageWritten: Says of each page whether it is on disk when the program is killed
  ///   during the checkpoint; `nil` if it is not killed.
  func checkpoint(killedAfter isPageWritten: ((Int) -> Bool)?) throws {
    guard isFile else { return }
    let before = try content()
    try database.checkpoint()
    guard let isPageWritten else { return }
    try reopen(before.checkpointing(to: try content(), isPageWritten))
  }

  /// What is on disk now.
  func content() throws -> FileContent {
    guard let disk else { preconditionFailure("a database in memory cannot be killed") }
    return try disk.content()
  }

  /// Opens the file anew with what a killed program has left of it.
  private func reopen(_ content: FileContent) throws {
    guard let old = disk else { preconditionFailure("a database in memory cannot be killed") }
    let next = old.next
    try next.write(content)
    try database.close()
    next.takeStagedPages(from: old)
    old.remove()
    disk = next
    tables = nil
    database = try Database(path: next.path, configuration: SimulatedDatabase.configuration)
  }
}
