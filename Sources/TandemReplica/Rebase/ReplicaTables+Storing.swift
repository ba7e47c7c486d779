internal import TandemRecords
internal import TandemSQLite

extension ReplicaTables {
  /// Makes a row hold a record; `nil` deletes it.
  ///
  /// A value of which a column would lose a part is not written: it throws the error of a constraint.
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
    guard let record else {
      if case .missing = current { return }
      return try run(table.statements.delete, key)
    }
    let values = table.values(of: record)
    let changed: [Int]
    switch current {
    case .missing:
      try checkLoss(values, at: values.indices, table)
      try run(table.insertion(of: values), key, values)
      guard !table.otherColumns.isEmpty else { return }
      return try restore(try others ?? parked(table.syncKey(key))?.others, table, key)
    case .unreadable: changed = Array(values.indices)
    case .values(let old):
      changed = values.indices.filter { !values[$0].hasSameStorage(as: old[$0]) }
    }
    guard !changed.isEmpty else { return }
    try checkLoss(values, at: changed, table)
    let new = changed.map { values[$0] }
    try run(update(table, of: changed, to: new), key, new)
  }

  /// Throws the error of a constraint if a column would lose a part of its value.
  func checkLoss(
    _ values: [FieldValue], at offsets: some Sequence<Int>, _ table: ReplicaTable
  ) throws(DatabaseError) {
    guard let loss = table.loss(of: values, at: offsets) else { return }
    throw DatabaseError(code: .constraint, message: loss, path: connection.path)
  }

  /// The update of some columns of a row. Most updates of a pull change the same columns as the one
  /// before.
  private func update(
    _ table: ReplicaTable, of offsets: [Int], to values: [FieldValue]
  ) -> StatementText {
    if table.updatesDepend(on: values) { return table.update(of: offsets, to: values) }
    if let lastUpdate, lastUpdate.table === table, lastUpdate.offsets == offsets {
      return lastUpdate.text
    }
    let text = table.update(of: offsets, to: values)
    lastUpdate = (table, offsets, text)
    return text
  }

  /// The values of a row in columns that are not synchronized; `nil` if there are none.
  func otherValues(_ table: ReplicaTable, _ key: [FieldValue]) throws -> Record? {
    let names = table.otherColumns
    guard !names.isEmpty else { return nil }
    let rows = try readableRows(
      "SELECT \(names.sqlList) FROM \(table.name.sqlQuoted) WHERE \(table.hasKey)", key
    )
    return rows.first.map {
      Record(uncheckedLayout: RecordLayout(uniqueNames: names), values: $0).withoutNulls
    }
  }

  /// Writes the values of a row in columns that are not synchronized, as far as the table still has them
  /// and accepts them.
  ///
  /// - Parameter isNew: False for a row that keeps the values that it has.
  func restore(
    _ others: Record?, _ table: ReplicaTable, _ key: [FieldValue], isNew: Bool = true
  ) throws {
    guard let others else { return }
    let names = table.otherColumns.filter { !others[$0].isNull }
    guard !names.isEmpty else { return }
    let assignments = names.enumerated().map { offset, name in
      let (name, new) = (name.sqlQuoted, "?\(key.count + offset + 1)")
      return "\(name) = \(isNew ? new : "coalesce(\(name), \(new))")"
    }
    _ = try objection {
      try run(table.statements.update(assignments), key, names.map { others[$0] })
    }
  }
}
