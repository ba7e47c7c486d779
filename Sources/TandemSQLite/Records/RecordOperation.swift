/// An operation on a record, and its statement.
///
/// The parameter of a column has the column's number in all of these, so that one way of binding a
/// record serves all.
@usableFromInline
enum RecordOperation: Hashable, Sendable {
  case insert
  /// An insertion into a table where nothing can fail once the row is written, so that SQLite need
  /// not record how to undo half of it.
  case insertWithoutUndo
  case upsert
  case update
  case delete
  /// Returns the values as a row, without a table.
  case show

  /// The statement for a table with these columns, at least one.
  func sql(table: String, columns: [String], key: [String]) -> String {
    let table = table.sqlQuoted
    let list = columns.map(\.sqlQuoted).joined(separator: ", ")
    let marks = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
    let values = "INTO \(table) (\(list)) VALUES (\(marks))"
    let insertion = "INSERT \(values)"
    switch self {
    case .insert: return insertion
    case .insertWithoutUndo: return "INSERT OR FAIL \(values)"
    case .upsert:
      let conflict = " ON CONFLICT (\(key.map(\.sqlQuoted).joined(separator: ", "))) DO "
      let others = Self.others(columns, key).map { "\($0) = excluded.\($0)" }
      return insertion + conflict
        + (others.isEmpty ? "NOTHING" : "UPDATE SET " + others.joined(separator: ", "))
    case .update:
      let others = Self.others(columns, key)
      let assigned = others.isEmpty ? key.map(\.sqlQuoted) : others
      let assignments = assigned.map { "\($0) = \(Self.parameter($0, columns))" }
      return "UPDATE \(table) SET \(assignments.joined(separator: ", "))"
        + Self.condition(columns, key)
    case .delete: return "DELETE FROM \(table)" + Self.condition(columns, key)
    case .show:
      let columns = columns.enumerated().map { "?\($0 + 1) AS \($1.sqlQuoted)" }
      return "SELECT " + columns.joined(separator: ", ")
    }
  }

  /// The quoted columns that are no part of the key.
  private static func others(_ columns: [String], _ key: [String]) -> [String] {
    columns.filter { !key.contains(where: $0.isSameSQLName) }.map(\.sqlQuoted)
  }

  /// The parameter of a quoted column; null if the record has no such column.
  private static func parameter(_ name: String, _ columns: [String]) -> String {
    columns.firstIndex { $0.sqlQuoted.isSameSQLName(as: name) }.map { "?\($0 + 1)" } ?? "NULL"
  }

  private static func condition(_ columns: [String], _ key: [String]) -> String {
    let parts = key.map { "\($0.sqlQuoted) = \(parameter($0.sqlQuoted, columns))" }
    return " WHERE " + parts.joined(separator: " AND ")
  }
}
