internal import TandemRecords

/// A unique index of a table, by which `REPLACE` removes rows.
struct UniqueIndex: Sendable {
  let name: String
  private(set) var columns: [(name: String, collation: String)] = []
  /// True if it holds only the rows for which a condition is true.
  let isPartial: Bool
  /// True if one of its columns is an expression.
  private(set) var isByExpression = false

  /// True if the index holds exactly the given columns, byte by byte: a row that it replaces has
  /// the key of the new one.
  func isBinaryKey(_ key: [String]) -> Bool {
    columns.count == key.count
      && columns.allSatisfy { column in
        column.collation.isSameSQLName(as: "BINARY")
          && key.contains(where: column.name.isSameSQLName)
      }
  }

  /// Its columns, except for expressions.
  var columnNames: [String] { columns.map(\.name) }

  /// True if one of the given columns is one of its own.
  func holds(anyOf names: [String]) -> Bool {
    columns.contains { column in names.contains(where: column.name.isSameSQLName) }
  }

  /// The condition that a row of the table conflicts with the new one. The condition of a partial
  /// index is left out.
  var conflict: String {
    columns.map {
      "\($0.name.sqlQuoted) = new.\($0.name.sqlQuoted) COLLATE \($0.collation.sqlQuoted)"
    }
    .joined(separator: " AND ")
  }

  /// The unique indexes of a table.
  static func all(
    of table: String, in connection: DatabaseConnection
  ) throws(DatabaseError) -> [UniqueIndex] {
    let listing = try connection.prepare(
      "SELECT name, partial FROM pragma_index_list(?) WHERE \"unique\" ORDER BY name")
    try listing.bind([.text(table)])
    var indexes: [UniqueIndex] = []
    while try listing.step() {
      guard case .text(let name) = try listing.value(at: 0) else { continue }
      let isPartial = try listing.value(at: 1) == .integer(1)
      indexes.append(try UniqueIndex(name, isPartial: isPartial, in: connection))
    }
    return indexes
  }

  private init(
    _ name: String, isPartial: Bool, in connection: DatabaseConnection
  ) throws(DatabaseError) {
    self.name = name
    self.isPartial = isPartial
    let listing = try connection.prepare(
      "SELECT name, coll FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno")
    try listing.bind([.text(name)])
    while try listing.step() {
      if case .text(let column) = try listing.value(at: 0),
        case .text(let collation) = try listing.value(at: 1)
      {
        columns.append((column, collation))
      } else {
        isByExpression = true
      }
    }
  }
}
