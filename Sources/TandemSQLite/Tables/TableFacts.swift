internal import TandemRecords

/// The facts about a table that following its rows requires.
package struct TableFacts: Sendable {
  package let schema: TableSchema
  /// True if it is an ordinary table, whose changes can be followed row by row.
  package let isOrdinary: Bool
  private let hasRowid: Bool
  /// True if an index holds the primary key, so that it is not the rowid.
  private let hasKeyIndex: Bool

  /// Looks a table or view up; `nil` if there is none of that name.
  package init?(_ name: String, in connection: DatabaseConnection) throws(DatabaseError) {
    guard let schema = try connection.schema(ofTable: name) else { return nil }
    let listing = try connection.prepare(
      "SELECT type, wr FROM pragma_table_list WHERE schema = 'main' AND name = ? COLLATE NOCASE")
    try listing.bind([.text(schema.name)])
    guard try listing.step() else { return nil }
    self.schema = schema
    isOrdinary = try listing.value(at: 0) == .text("table")
    hasRowid = try listing.value(at: 1) == .integer(0) && !schema.isView
    hasKeyIndex =
      try connection.integer(
        "SELECT count(*) FROM pragma_index_list(?) WHERE origin = 'pk'", .text(schema.name)) != 0
  }

  private var hasGeneratedColumns: Bool { schema.columns.contains(where: \.isGenerated) }

  /// The source of the key of a row that changes, its values in the order of the given columns of
  /// the primary key; `.none` if there is none.
  package func key(ofColumns names: [String]) -> TableInterest.Key {
    guard names.count == max(1, schema.primaryKey.count) else { return .none }
    if schema.primaryKey.isEmpty { return isRowid(names[0]) ? .rowid : .none }
    guard schema.primaryKey.allSatisfy({ part in names.contains(where: part.isSameSQLName) }) else {
      return .none
    }
    if isRowid(names[0]) { return .rowid }
    // Columns that are not stored shift the positions that the preupdate hook counts.
    guard !hasGeneratedColumns else { return .none }
    return .columns(names.compactMap(position), mayBeRounded: mayRoundKey)
  }

  /// True if the preupdate hook may report integers of the primary key as reals.
  ///
  /// For a row without rowid, whose key is stored first, SQLite 3.40 converts the value at each
  /// place of storage as the column at this place of the declaration requires.
  private var mayRoundKey: Bool {
    !hasRowid
      && zip(schema.columns, schema.primaryKey).contains { column, part in
        column.affinity == .real && schema.column(named: part)?.affinity != .real
      }
  }

  /// The columns that identify a row: the primary key or, without one, a name of the rowid; empty
  /// if there is neither.
  package var identity: [String] {
    schema.primaryKey.isEmpty ? rowidName.map { [$0] } ?? [] : schema.primaryKey
  }

  /// True if the rows are identified by their rowid.
  package var isIdentifiedByRowid: Bool { identity.first.map(isRowid) ?? false }

  private static let rowidNames = ["rowid", "_rowid_", "oid"]

  /// The names of the rowid that no column has; none if the rows have no rowid.
  package var rowidNames: [String] {
    hasRowid ? TableFacts.rowidNames.filter { schema.column(named: $0) == nil } : []
  }

  /// A name of the rowid, if there is one.
  package var rowidName: String? { TableFacts.rowidNames.first(where: isRowid) }

  /// True if a name stands for the rowid: because no column has it, or as the integer primary key.
  package func isRowid(_ name: String) -> Bool {
    guard hasRowid else { return false }
    guard let column = schema.column(named: name) else {
      return TableFacts.rowidNames.contains(where: name.isSameSQLName)
    }
    return !hasKeyIndex && schema.primaryKey.count == 1
      && schema.primaryKey[0].isSameSQLName(as: column.name)
  }

  /// The positions of the columns read; `nil` for all, if the preupdate hook may report old values
  /// of other columns, or old values that are rounded.
  package func positions(ofColumns names: Set<String>) -> [Int]? {
    let mayRound = !hasRowid && schema.columns.contains { $0.affinity == .real }
    guard !hasGeneratedColumns, !mayRound else { return nil }
    var positions: [Int] = []
    for name in names where !name.isEmpty {
      guard let position = position(of: name) else { return nil }
      positions.append(position)
    }
    return positions.sorted()
  }

  private func position(of name: String) -> Int? {
    schema.columns.firstIndex { $0.name.isSameSQLName(as: name) }
  }
}
