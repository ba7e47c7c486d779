/// The clause that finds a record by its key: `WHERE "a" = ? AND "b" = ?`.
@usableFromInline
struct KeyCondition {
  private let type: Any.Type
  private var names: ArraySlice<String>
  private var sql = SQL(text: "")

  @usableFromInline
  init<Record: DatabaseRecord>(_ type: Record.Type) {
    self.type = type
    names = Record.keyColumnNames[...]
  }

  /// Adds the value of the next key column; a null finds nothing, as `=` has it.
  ///
  /// - Precondition: There are as many values as key columns.
  @usableFromInline
  mutating func append(_ value: some DatabaseValue) {
    guard let name = names.popFirst() else {
      preconditionFailure("more values than \(type) has key columns")
    }
    sql = sql + (sql.text.isEmpty ? " WHERE " : " AND ") + "\(identifier: name) = \(value)"
  }

  /// The clause.
  ///
  /// - Precondition: Every key column has its value: without, more rows than one would be found.
  @usableFromInline
  consuming func finished() -> SQL {
    precondition(names.isEmpty, "\(type) has further key columns: \(names)")
    return sql
  }
}
