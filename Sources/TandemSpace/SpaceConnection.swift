package import TandemRecords

/// The rows of one space, in the transaction that is open: how a store keeps what ``SpaceTables`` decides.
///
/// All calls come from one thread, one after the other. A read sees the writes before it.
package protocol SpaceConnection {
  /// Where the space is, for messages: the path of a file, or the name of the space in a database.
  var place: String { get }

  /// True while the transaction is open. An error may have ended it.
  var isInTransaction: Bool { get }

  /// Runs a statement that writes.
  func run(_ statement: SpaceStatement, _ parameters: [FieldValue]) throws

  /// Calls `body` with each row of a query, until it returns false.
  func forEachRow(
    _ statement: SpaceStatement, _ parameters: [FieldValue],
    _ body: ([FieldValue]) throws -> Bool) throws

  /// The first row of a query; `nil` if there is none.
  func row(_ statement: SpaceStatement, _ parameters: [FieldValue]) throws -> [FieldValue]?

  /// True for a store that reads faster if reads are announced.
  var readsAhead: Bool { get }

  /// Announces what is read next, so that the store may read all of it at once.
  func expect(_ lookups: [SpaceLookup]) throws

  /// Runs `body`: its writes stay if it returns, and are undone if it throws.
  func savepoint<Value>(_ body: () throws -> Value) throws -> Value

  /// Makes the tables of a space.
  ///
  /// - Returns: False if there is a space already.
  func createTables() throws -> Bool

  /// Throws ``SpaceError`` if this is neither a space that this version can read nor, if that is allowed, empty.
  func check(allowsEmptyFile: Bool) throws

  /// True if the space has tables that not every space has.
  func has(_ group: SpaceTableGroup) throws -> Bool

  /// Makes tables that are missing.
  func make(_ group: SpaceTableGroup) throws

  /// The size of what is stored, about; `nil` if only reading all of it would tell.
  func byteCount() throws -> Int64?

  // MARK: Copying

  /// The number of rows of a table.
  func rowCount(of table: SpaceStoredTable) throws -> Int

  /// Calls `body` with all rows of a table, whose values are those of its columns.
  func forEachRow(of table: SpaceStoredTable, _ body: ([FieldValue]) throws -> Void) throws

  /// Inserts rows into a table.
  func insert(_ rows: [[FieldValue]], into table: SpaceStoredTable) throws

  /// Prepares a transaction that may take minutes, in which all rows are read or written.
  ///
  /// - Throws: ``SpaceError`` if the place where the rows are is damaged.
  func prepareCopy() throws
}

/// A query with its parameters.
package struct SpaceLookup: Hashable, Sendable {
  package let statement: SpaceStatement
  package let parameters: [FieldValue]

  package init(_ statement: SpaceStatement, _ parameters: [FieldValue]) {
    self.statement = statement
    self.parameters = parameters
  }
}

/// Tables that a space may lack until something is written to them.
package enum SpaceTableGroup: CaseIterable, Sendable {
  case changeCounts, replicaNames, columnDefinitions, parts, constraints, statedClaims, numbers
  case usage
}

extension SpaceConnection {
  /// All rows of a query.
  func rows(
    _ statement: SpaceStatement, _ parameters: [FieldValue]
  ) throws -> [[FieldValue]] {
    var rows: [[FieldValue]] = []
    try forEachRow(statement, parameters) { row in
      rows.append(row)
      return true
    }
    return rows
  }

  /// The number that a query answers; 0 for null.
  func integer(_ statement: SpaceStatement) throws -> Int64 {
    if case .integer(let number)? = try row(statement, [])?.first { number } else { 0 }
  }
}
