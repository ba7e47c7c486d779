public import TandemDifferences
public import TandemRecords

/// The difference of two tables, of one file or of two, by walking both in the order of their keys.
///
/// Memory does not grow with the tables, as long as an index has the order of the key. Each side is
/// read in one transaction: changes made meanwhile by others are not seen.
public struct TableComparison {
  let old: Side
  let new: Side
  private let pairs: [(old: Int, new: Int)]
  private let onlyOld: [Int]
  private let onlyNew: [Int]

  struct Side {
    let connection: DatabaseConnection
    let schema: TableSchema
    let layout: RecordLayout
    let keyOffsets: [Int]
  }

  /// Compares a table of one connection with one of another, or of the same.
  ///
  /// A column that only one of them has counts as null in the other.
  ///
  /// - Parameter key: The key columns, at least one; both tables must have them.
  /// - Throws: ``DatabaseError`` with code `error` if there is no key, or a key column is missing.
  public init(
    from oldTable: TableSchema, of oldConnection: DatabaseConnection,
    to newTable: TableSchema, of newConnection: DatabaseConnection, key: [String]
  ) throws(DatabaseError) {
    old = try Side(connection: oldConnection, schema: oldTable, key: key)
    new = try Side(connection: newConnection, schema: newTable, key: key)
    let newNames = new.layout.names
    var pairs: [(old: Int, new: Int)] = []
    var onlyOld: [Int] = []
    for (offset, name) in old.layout.names.enumerated() {
      if let match = newNames.firstIndex(where: { $0.isSameSQLName(as: name) }) {
        // The walk itself compares the keys.
        if !old.keyOffsets.contains(offset) { pairs.append((offset, match)) }
      } else {
        onlyOld.append(offset)
      }
    }
    self.pairs = pairs
    self.onlyOld = onlyOld
    let oldNames = old.layout.names
    onlyNew = newNames.indices.filter { offset in
      !oldNames.contains(where: newNames[offset].isSameSQLName)
    }
  }

  /// Calls `body` with each change, in the order of the keys.
  ///
  /// - Throws: ``DatabaseError`` if a table cannot be read, or a key is null or occurs twice; what
  ///   `body` throws.
  /// - Complexity: O(*n* + *m*) time.
  public func forEachChange(_ body: (SetChange<Record>) throws -> Void) throws {
    try old.connection.snapshot {
      try new.connection.snapshot { try walk(body) }
    }
  }

  private func walk(_ body: (SetChange<Record>) throws -> Void) throws {
    let old = try self.old.scan()
    let new = try self.new.scan()
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
        if !isEqual(old, new) { try body(.updated(old: old.record(), new: new.record())) }
        hasOld = try old.advance()
        hasNew = try new.advance()
      }
    }
  }

  private func isEqual(_ old: TableScan, _ new: TableScan) -> Bool {
    for pair in pairs
    where old.statement.column(pair.old).compare(to: new.statement.column(pair.new)) != 0 {
      return false
    }
    return onlyOld.allSatisfy { old.statement.column($0).isNull }
      && onlyNew.allSatisfy { new.statement.column($0).isNull }
  }
}

extension TableComparison.Side {
  init(
    connection: DatabaseConnection, schema: TableSchema, key: [String]
  ) throws(DatabaseError) {
    guard !key.isEmpty else {
      throw DatabaseError(
        code: .error, message: "table \(schema.name) needs a key to be compared by",
        path: connection.path)
    }
    var offsets: [Int] = []
    for name in key {
      guard let offset = schema.columns.firstIndex(where: { $0.name.isSameSQLName(as: name) })
      else {
        throw DatabaseError(
          code: .error,
          message: "table \(schema.name) has no column \(name) to be a key; it has "
            + schema.columnNames.joined(separator: ", "), path: connection.path)
      }
      offsets.append(offset)
    }
    guard let layout = RecordLayout(schema.columnNames) else {
      throw DatabaseError(
        code: .tooBig, message: "table \(schema.name) has too many columns", path: connection.path)
    }
    self.init(connection: connection, schema: schema, layout: layout, keyOffsets: offsets)
  }

  func scan() throws(DatabaseError) -> TableScan {
    try TableScan(connection, table: schema, columns: layout, key: keyOffsets)
  }
}

extension DatabaseConnection {
  /// Runs `body` in a transaction that only reads, or in the one that is open.
  package func snapshot(_ body: () throws -> Void) throws {
    if isInTransaction { try body() } else { try transaction(.deferred, body) }
  }
}
