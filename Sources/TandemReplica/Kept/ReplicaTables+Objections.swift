internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

extension ReplicaTables {
  /// The reason for which the space refused a change, for people. An objection has no key of the other record, so
  /// that is the one that this file has.
  ///
  /// - Parameters:
  ///   - base: The record before the change.
  ///   - record: The record that the space refused.
  ///   - known: The tables with the constraints of all copies.
  func reason(
    _ reason: SyncObjection.Reason, _ key: SyncKey, of table: ReplicaTable, base: Record?,
    record: Record?, _ known: [SpaceTable]
  ) throws -> String {
    let text: String
    switch reason {
    case .taken:
      text =
        try holder(key, of: table, record, known) ?? holder(key, of: table, in: record)
        ?? "a unique value of it is that of another record"
    case .needed: text = try need(key, of: table, base, known) ?? "other records refer to it"
    case .missingParent:
      text =
        try missingParent(key, of: table, record, known)
        ?? "a record that it refers to is not in the space"
    case .unclaimed:
      let fault = try indexClaims(schema()).faults[FieldName(table.name)]
      text =
        "the change has to state the record's value in a unique index"
        + (fault.map { ", but \($0)" } ?? "; synchronize with the newest version of Tandem")
    default: text = reason.rawValue
    }
    return "the space refused it: \(text)"
  }

  /// The row that has a unique value of a record.
  private func holder(
    _ key: SyncKey, of table: ReplicaTable, _ record: Record?, _ known: [SpaceTable]
  ) throws -> String? {
    for case .unique(let columns) in known.table(named: table.name)?.constraints ?? [] {
      guard let values = table.declaration.values(of: columns.map(\.name), record, key.id),
        let other = try keys(of: table.declaration, where: columns, values).first(where: {
          $0 != key.id
        })
      else { continue }
      return table.name(of: other, with: columns.map(\.name), values)
        + table.declaration.origin(of: .unique(columns))
    }
    return nil
  }

  /// The row that has the values of a record in a unique index, which the table need not have.
  private func holder(
    _ key: SyncKey, of table: ReplicaTable, in record: Record?
  ) throws -> String? {
    guard let record else { return nil }
    for index in try indexClaims(schema()).values[FieldName(table.name)] ?? [] {
      guard let other = try keys(with: index, of: record, key.id, in: table).first else { continue }
      let values = try index.values(of: key.id, record)
      return "\(table.name) \(other.sqlText) has \(values.sqlText) in the unique index "
        + index.index.name + table.declaration.origin(of: .index(index.index))
    }
    return nil
  }

  /// The keys of other rows with the value of a record in a unique index, which the table need not have.
  func keys(
    with index: IndexValues, of record: Record, _ key: [FieldValue], in table: ReplicaTable
  ) throws -> [[FieldValue]] {
    let values = try index.values(of: key, record)
    guard !values.isEmpty, index.isComputable(in: table.declaration) else { return [] }
    // An expression may fail for some row of a table that does not have the index.
    let found = try? readableRows(
      "SELECT \(table.declaration.keyColumns.sqlList) FROM main.\(table.name.sqlQuoted) "
        + "WHERE \(index.comparison) LIMIT 2", values
    ).rows
    return (found ?? []).filter { $0 != key }
  }

  /// The table whose rows refer to a record.
  private func need(
    _ key: SyncKey, of table: ReplicaTable, _ base: Record?, _ known: [SpaceTable]
  ) throws -> String? {
    let own = try declarations()
    for child in known {
      for case .reference(let names, let parent, let columns) in child.constraints ?? []
      where parent == FieldName(table.name) && names.allSatisfy(child.synchronizes) {
        let values = table.declaration.values(of: columns.map(\.name), base, key.id)
        let compared = zip(names, columns).map { ComparedColumn($0, $1.collation) }
        if let values, try !keys(of: child, where: compared, values).isEmpty {
          return "rows of \(child.name) refer to it"
            + (own.table(named: child.name) ?? child).origin(
              of: .reference(names, to: parent, columns))
        }
      }
    }
    return nil
  }

  /// The values to which a record refers in vain.
  private func missingParent(
    _ key: SyncKey, of table: ReplicaTable, _ record: Record?, _ known: [SpaceTable]
  ) throws -> String? {
    for case .reference(let names, let parent, let columns)
      in known.table(named: table.name)?.constraints ?? []
    {
      guard let other = known.table(named: parent.text),
        columns.allSatisfy({ other.synchronizes($0.name) }),
        let values = table.declaration.values(of: names, record, key.id),
        try keys(of: other, where: columns, values).isEmpty
      else { continue }
      return "there is no \(other.name) \(values.sqlText)"
        + table.declaration.origin(of: .reference(names, to: parent, columns))
    }
    return nil
  }

  /// The keys of two rows of a table with some values, at most.
  func keys(
    of table: SpaceTable, where columns: [ComparedColumn], _ values: [FieldValue]
  ) throws -> [[FieldValue]] {
    let condition = columns.map {
      "\($0.name.text.sqlQuoted) = ? COLLATE \($0.collation.rawValue)"
    }.joined(separator: " AND ")
    return try readableRows(
      "SELECT \(table.keyColumns.sqlList) FROM main.\(table.name.sqlQuoted) WHERE \(condition) LIMIT 2",
      values
    ).rows
  }
}

extension ReplicaTable {
  /// A row that has some values, in words.
  func name(
    of key: [FieldValue], with columns: [FieldName], _ values: [FieldValue]
  ) -> String {
    let parts = zip(columns, values).map { "\($0.text) \($1.sqlText)" }
    return "\(name) \(key.sqlText) has \(parts.joined(separator: " and "))"
  }
}

extension SpaceTable {
  /// Whose rule it is, if this file does not have it.
  fileprivate func origin(of constraint: SpaceConstraint) -> String {
    if constraints?.contains(constraint) ?? false { return "" }
    return
      "; another copy has declared this rule, which this file does not have: if no copy has it any more, an "
      + "operator removes it (`dropConstraint`)"
  }

  /// The values of columns of a record; `nil` if one of them is null or not synchronized.
  func values(
    of names: [FieldName], _ record: Record?, _ key: [FieldValue]
  ) -> [FieldValue]? {
    var values: [FieldValue] = []
    for name in names {
      let offset = keyColumns.firstIndex { FieldName($0) == name }
      guard synchronizes(name), let value = offset.map({ key[$0] }) ?? record?[name.text],
        !value.isNull
      else { return nil }
      values.append(value)
    }
    return values
  }
}

extension [FieldValue] {
  /// The values as SQL writes them, for people.
  var sqlText: String { map(\.sqlText).joined(separator: ", ") }
}

extension FieldValue {
  /// The value as SQL writes it, shortened, for people.
  fileprivate var sqlText: String {
    guard case .text(let text) = self else { return description }
    let shown = text.count > 60 ? text.prefix(60) + "…" : text[...]
    return "'\(shown.replacing("'", with: "''"))'"
  }
}
