public import TandemDifferences
public import TandemRecords

/// The comparison of two tables, of one database or of two, by reading both in the order of their
/// keys.
///
/// <!-- Snippets/DatabaseCodeInComments.swift tables -->
/// ```swift
/// let comparison = TableComparison(from: draft, to: final, key: ["id"])
/// try database.read { transaction in
///   try comparison.forEachChange(from: transaction, to: transaction) { change in print(change) }
/// }
/// ```
///
/// Memory does not grow with the tables, as long as an index has the order of the key; rows that
/// differ are kept, at most 64 MB of them, where that saves reading by the index. A column that only
/// one of the tables has counts as null in the other.
public struct TableComparison: Hashable, Sendable {
  /// The table to compare from.
  public var old: TableSchema
  /// The table to compare with.
  public var new: TableSchema
  /// The key columns, which both tables must have.
  public var key: [String]
  /// True if the key need not identify a row: equal rows are paired as often as both tables have them.
  package var allowsAnyKey = false

  /// A comparison of two tables by the given key columns.
  public init(from old: TableSchema, to new: TableSchema, key: [String]) {
    self.old = old
    self.new = new
    self.key = key
  }

  /// Calls `body` with each change, in the order of the keys.
  ///
  /// - Parameters:
  ///   - oldTransaction: A transaction of the database that has the old table.
  ///   - newTransaction: A transaction of the database that has the new table; it may be the same.
  ///   - body: Called with each change.
  /// - Throws: ``DatabaseError`` with code `error` if there is no key, or a key column is missing,
  ///   and if a table cannot be read, or a key is null or occurs twice; the error that `body`
  ///   throws.
  /// - Complexity: O(*n* + *m*) time.
  public func forEachChange(
    from oldTransaction: borrowing DatabaseTransaction<some Any>,
    to newTransaction: borrowing DatabaseTransaction<some Any>,
    _ body: (SetChange<Record>) throws -> Void
  ) throws {
    try forEachChange(from: oldTransaction.connection, to: newTransaction.connection, body)
  }

  /// Calls `body` with each change; each connection reads in its open transaction, or in one of its
  /// own.
  package func forEachChange(
    from oldConnection: DatabaseConnection, to newConnection: DatabaseConnection,
    _ body: (SetChange<Record>) throws -> Void
  ) throws {
    let old = try ComparedTable(old, key: key, of: oldConnection, allowsAnyKey: allowsAnyKey)
    let new = try ComparedTable(new, key: key, of: newConnection, allowsAnyKey: allowsAnyKey)
    try oldConnection.snapshot {
      try newConnection.snapshot {
        let columns = ComparedColumns(old, new)
        // Before anything else is read: the pages are those of this snapshot.
        let ranges = try ChangedRowids.ranges(from: old, to: new)
        if let ranges, let walk = try RowidWalk(old, new, columns, in: ranges),
          try walk.forEachChange(body)
        {
          return
        }
        if let walk = try RowidWalk(old, new, columns), try walk.forEachChange(body) { return }
        try Walk(old, new, columns).forEachChange(body)
      }
    }
  }
}

/// The columns of two tables by which their rows are compared.
struct ComparedColumns {
  /// The columns of both tables that are no part of the key.
  private var pairs: [(old: Int, new: Int)] = []
  private var onlyOld: [Int] = []
  private let onlyNew: [Int]

  init(_ old: ComparedTable, _ new: ComparedTable) {
    let newNames = new.layout.names
    for (offset, name) in old.layout.names.enumerated() {
      if let match = newNames.firstIndex(where: { $0.isSameSQLName(as: name) }) {
        // The walk itself compares the keys.
        if !old.keyOffsets.contains(offset) { pairs.append((offset, match)) }
      } else {
        onlyOld.append(offset)
      }
    }
    let oldNames = old.layout.names
    onlyNew = newNames.indices.filter { offset in
      !oldNames.contains(where: newNames[offset].isSameSQLName)
    }
  }

  /// True if the current rows of two statements, of the same key, have equal values.
  func areEqual(_ old: Statement, _ new: Statement) -> Bool {
    for pair in pairs where old.column(pair.old).compare(to: new.column(pair.new)) != 0 {
      return false
    }
    return onlyOld.allSatisfy { old.column($0).isNull }
      && onlyNew.allSatisfy { new.column($0).isNull }
  }

  /// The same for two records.
  func areEqual(_ old: Record, _ new: Record) -> Bool {
    pairs.allSatisfy { old.values[$0.old] == new.values[$0.new] }
      && onlyOld.allSatisfy { old.values[$0].isNull }
      && onlyNew.allSatisfy { new.values[$0].isNull }
  }
}

/// One run through both tables.
private struct Walk {
  let old: TableScan
  let new: TableScan
  let columns: ComparedColumns

  init(
    _ old: ComparedTable, _ new: ComparedTable, _ columns: ComparedColumns
  ) throws(DatabaseError) {
    self.columns = columns
    self.old = try old.scan()
    self.new = try new.scan()
  }

  func forEachChange(_ body: (SetChange<Record>) throws -> Void) throws {
    var hasOld = try old.advance()
    var hasNew = try new.advance()
    while hasOld || hasNew {
      let order = !hasNew ? -1 : !hasOld ? 1 : old.compareKey(to: new)
      if order < 0 {
        try body(.deleted(old.record()))
        hasOld = try old.advance()
      } else if order > 0 {
        try body(.inserted(new.record()))
        hasNew = try new.advance()
      } else {
        if !columns.areEqual(old.statement, new.statement) {
          try body(.updated(old: old.record(), new: new.record()))
        }
        hasOld = try old.advance()
        hasNew = try new.advance()
      }
    }
  }
}
