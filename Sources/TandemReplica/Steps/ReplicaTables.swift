internal import TandemRecords
package import TandemSQLite
internal import TandemSync

/// A replica in the application's file: what has to be sent, what was received, and how both are
/// brought together.
///
/// All functions are synchronous and run in a transaction that is open on the connection, so that
/// a simulator can run them in memory, without tasks. Those that write rows
/// (``settle(_:_:using:)``, ``applyStaged(_:decision:using:)``) need one in which foreign keys are
/// not enforced: a cascade would change rows that the space did not change.
///
/// Each function reads the state from the file. So another process may synchronize the same file,
/// and a crash between two calls changes nothing.
package final class ReplicaTables {
  /// The connection with the open transaction.
  let connection: DatabaseConnection
  /// The schema that was read last, which is good as long as the file has its version.
  package internal(set) var knownSchema: KnownSchema?
  /// The tables of the space that were read last, and their bytes.
  var knownSpaceTables: (bytes: [UInt8], tables: [SpaceTable])?

  /// The number of changes of a pull from which they are applied with all triggers disabled.
  ///
  /// The triggers of shadows do nothing that applying does not undo, so this saves time. But SQLite
  /// compiles all statements again whenever triggers are disabled or enabled.
  package var minQuietChangeCount = 500

  /// The most synchronized columns of a table, with those of the key: a query of a row and its former version
  /// has twice as many, and SQLite allows 2,000.
  static let maxColumnCount = 990

  /// The last update of a row, whose text the next one may share.
  var lastUpdate: (table: ReplicaTable, offsets: [Int], text: StatementText)?

  /// Computes the hashes of records for digests.
  let hasher = RecordHasher()

  /// The result of the last step that applied a pull.
  package internal(set) var applyReport: ReplicaApplyReport?

  /// Called after each page that is applied.
  var progress: (ReplicaProgress) -> Void = { _ in }

  /// The highest numbers that the space has given, by table, while a step makes a commit.
  var numbers: [FieldName: Int64] = [:]
  /// The fields that insertions state although the tables do not have them, while a step makes a commit.
  var defaults: [String: Record] = [:]

  /// The message of the commit that the last step made, if it has one.
  var frozenMessage: [UInt8]?

  /// True while a step runs that has found no parked fields and has parked none.
  var isWithoutParked = false

  /// True if the last step applied pages that a file beside the database has, which is of no use from its commit on.
  var hasAppliedFile = false

  /// True while ``quietly(_:)`` runs.
  private(set) var isQuiet = false
  /// The triggers of the application that are dropped for now (``withoutSilencedTriggers(areEdits:_:)``).
  var silencedPlaces: Set<String> = []

  /// The replica in the file of a connection.
  ///
  /// - Parameter knownSchema: The schema that was read last, through this connection or another.
  package init(_ connection: DatabaseConnection, knownSchema: KnownSchema? = nil) {
    self.connection = connection
    self.knownSchema = knownSchema
  }
}

// MARK: - Triggers

extension ReplicaTables {
  /// Runs `body` while no triggers run, those of the shadows included. No statement may be
  /// unfinished.
  func quietly<Value>(_ body: () throws -> Value) rethrows -> Value {
    if isQuiet { return try body() }
    isQuiet = true
    defer { isQuiet = false }
    return try connection.withoutTriggers(body)
  }
}

// MARK: - What tables forbid

extension ReplicaTables {
  /// Runs `body`; returns the error of a constraint or a trigger that forbids what it writes. A trigger that ends the
  /// transaction ends the step.
  func objection(to body: () throws -> Void) throws -> DatabaseError? {
    do {
      try body()
      return nil
    } catch let error as DatabaseError where error.forbidsRow && connection.isInTransaction {
      return error
    }
  }

  /// Runs `body`, and undoes what it writes unless it returns true.
  @discardableResult
  func attempt(_ body: () throws -> Bool) throws -> Bool {
    struct Undone: Error {}
    do {
      try connection.savepoint { if try !body() { throw Undone() } }
      return true
    } catch is Undone {
      return false
    }
  }
}

// MARK: - Rows

extension ReplicaTables {
  /// All that the file knows about one record.
  func row(_ table: ReplicaTable, _ key: [FieldValue]) throws -> ReplicaRow {
    let count = table.columnNames.count
    let (row, shadow) = try connection.withStatement(table.statements.row) {
      statement throws(DatabaseError) in
      try statement.bind(key)
      guard try statement.step() else { preconditionFailure("an outer join of one row has a row") }
      return try ReplicaRow.versions(statement, at: 0, columnCount: count)
    }
    return ReplicaRow(
      table: table, shadow: shadow, row: row,
      parked: try parked(table.syncKey(key)))
  }

  /// Calls `body` with the rows that may have changed, in the order of their keys, until it returns
  /// false. It must not write the table or its shadow. Rows whose key is not UTF-8 are left out: no
  /// message can name them.
  ///
  /// - Parameter presence: The rows that are there, or those that were deleted.
  /// - Returns: True if keys were left out.
  @discardableResult
  func forEachTouchedRow(
    _ table: ReplicaTable, _ presence: RowPresence,
    _ body: ([FieldValue], ReplicaRow) throws -> Bool
  ) throws -> Bool {
    let (keyCount, count) = (table.keyNames.count, table.columnNames.count)
    var hasUnreadable = false
    try connection.forEachRow(table.statements.touched[presence.rawValue], []) { statement in
      guard let key = try? statement.values(in: 0..<keyCount) else {
        hasUnreadable = true
        return true
      }
      let (row, shadow) = try ReplicaRow.versions(statement, at: keyCount, columnCount: count)
      return try body(
        key,
        ReplicaRow(
          table: table, shadow: shadow, row: row, parked: try parked(table.syncKey(key))))
    }
    return hasUnreadable
  }

  /// The former version of a row that a frozen commit covers.
  func aside(_ table: ReplicaTable, _ key: [FieldValue]) throws -> ReplicaRow.Shadow? {
    try connection.withStatement(table.statements.aside) { statement throws(DatabaseError) in
      try statement.bind(key)
      guard try statement.step() else { return nil }
      return try ReplicaRow.Shadow(statement, existed: 0, 1..<(table.columnNames.count + 1))
    }
  }

  /// Sets the former version of a row; `nil` if the row has not changed.
  func setShadow(
    _ shadow: ReplicaRow.Shadow?, _ table: ReplicaTable, _ key: [FieldValue]
  ) throws {
    switch shadow {
    case nil: try run(table.statements.deleteShadow, key)
    case .absent?: try run(table.statements.replaceShadowByAbsence, key)
    case .values(let former)?: try run(table.statements.replaceShadow, key, former)
    case .unreadable?: return
    }
  }

  /// Runs one of the statements on the rows of a table to its end.
  func run(_ text: StatementText, _ key: [FieldValue] = [], _ values: [FieldValue] = []) throws {
    try connection.withStatement(text) { statement throws(DatabaseError) in
      try statement.bind(key, values)
      while try statement.step() {}
    }
  }

  /// Runs a statement of the cache to its end.
  func run(_ sql: String, _ values: [FieldValue]) throws {
    try connection.run(sql, values)
  }

  /// The rows of a query, which are few.
  func rows(_ sql: String, _ values: [FieldValue] = []) throws -> [[FieldValue]] {
    try connection.rows(sql, values)
  }
}

extension ReplicaTables {
  /// Runs a step that reads many rows. If no record has parked fields, it does not look for those
  /// of each.
  func readingRows<Value>(_ body: () throws -> Value) throws -> Value {
    isWithoutParked = try rows("SELECT 1 FROM tandem_parked LIMIT 1").isEmpty
    defer { isWithoutParked = false }
    return try body()
  }
}

extension SyncKey {
  /// The bytes of the key's values, which are equal for equal keys.
  var canonicalBytes: [UInt8] {
    var bytes: [UInt8] = []
    RecordEncoding.append(id: id, to: &bytes)
    return bytes
  }

  /// The key's values as a JSON array with exact values.
  var idText: String { String(decoding: SyncMessageWriter.bytes(id: id), as: UTF8.self) }
}

extension Record {
  /// The record as a JSON object with exact values.
  var text: String { String(decoding: SyncMessageWriter.bytes(fields: self), as: UTF8.self) }
}
