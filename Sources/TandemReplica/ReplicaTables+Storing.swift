internal import TandemRecords
internal import TandemSQLite

extension ReplicaTables {
  /// Makes a row hold a record; `nil` deletes it.
  ///
  /// `OR ABORT` overrides the conflict clause that the table declares: `REPLACE` would remove other
  /// rows, and `IGNORE` would not write this one.
  ///
  /// - Parameter others: The values of a new row in columns that are not synchronized. By default,
  ///   those of the former row of a record that was kept beside the table.
  func store(
    _ record: Record?, over current: ReplicaRow.Current, _ table: ReplicaTable, _ key: [FieldValue],
    others: Record? = nil
  ) throws {
    let statements = table.statements
    guard let record else {
      if case .missing = current { return }
      return try run(statements.delete, statements.keyCondition.parameters(key))
    }
    let values = table.values(of: record)
    let changed: [Int]
    switch current {
    case .missing:
      let marks = values.indices.map { ", \(table.storing(values[$0], at: $0))" }
      try run("\(statements.insert)\(marks.joined()))", key + values)
      guard !table.otherColumns.isEmpty else { return }
      return try restore(try others ?? parked(table.syncKey(key))?.others, table, key)
    case .unreadable: changed = Array(values.indices)
    case .values(let old):
      changed = values.indices.filter { !values[$0].hasSameStorage(as: old[$0]) }
    }
    guard !changed.isEmpty else { return }
    let list = changed.map {
      "\(statements.assignments[$0])\(table.storing(values[$0], at: $0))"
    }
    try run(
      "\(statements.update)\(list.joined(separator: ", ")) WHERE \(statements.keyCondition.sql)",
      changed.map { values[$0] } + statements.keyCondition.parameters(key))
  }

  /// The values of a row in columns that are not synchronized; `nil` if there are none.
  func otherValues(_ table: ReplicaTable, _ key: [FieldValue]) throws -> Record? {
    let names = table.otherColumns
    guard !names.isEmpty else { return nil }
    let condition = table.keyCondition
    let rows = try readableRows(
      "SELECT \(names.sqlList) FROM \(table.name.sqlQuoted) WHERE \(condition.sql)",
      condition.parameters(key)
    ).rows
    return rows.first.map {
      Record(uncheckedLayout: RecordLayout(uniqueNames: names), values: $0).withoutNulls
    }
  }

  /// Writes the values of a new row in columns that are not synchronized, as far as the table still
  /// has them and accepts them.
  private func restore(_ others: Record?, _ table: ReplicaTable, _ key: [FieldValue]) throws {
    guard let others else { return }
    let names = table.otherColumns.filter { !others[$0].isNull }
    guard !names.isEmpty else { return }
    let list = names.map { "\($0.sqlQuoted) = ?" }.joined(separator: ", ")
    do {
      try run(
        "\(table.statements.update)\(list) WHERE \(table.keyCondition.sql)",
        names.map { others[$0] } + table.keyCondition.parameters(key))
    } catch let error as DatabaseError where error.forbidsRow {}
  }
}
