internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

// Rows that local edits deleted, and that rows of the space refer to.

extension RowPlacing {
  /// Takes note of a record if it begins to refer to a row that is not there. See
  /// ``reviveParent(of:_:)``.
  ///
  /// - Parameter former: The version that the row had, whose references are none of the space's.
  mutating func noteMissingParents(
    of table: ReplicaTable, _ key: [FieldValue], _ record: Record?, besides former: Record?
  ) throws {
    guard let record else { return }
    for foreignKey in schema.foreignKeys(of: table) {
      if let former, foreignKey.hasSameReference(record, former, key) { continue }
      if let values = foreignKey.reference(of: record, key),
        try deletedParent(foreignKey, values) != nil
      {
        orphans.append((foreignKey, key))
      }
    }
  }

  /// Brings the row back that a row of the space refers to, if a local edit deleted it: another replica has
  /// added the reference without having seen the deletion. If the space has the deletion already, the row
  /// is a local edit, which the next commit contains. All that the row refers to comes back too.
  ///
  /// A row that refers to another one that was never here, or is gone for all replicas, stays without it.
  mutating func reviveParent(of key: [FieldValue], _ foreignKey: ForeignKey) throws {
    guard let child = foreignKey.attachedChild else { return }
    let row = try tables.row(child, key)
    let isOfSpace = row.base.map { base in
      row.local.map { foreignKey.hasSameReference($0, base, key) } ?? true
    }
    guard let record = row.local ?? row.base,
      isOfSpace ?? revived.contains(where: { $0.table === child && $0.key == key }),
      try tables.parents(foreignKey, of: record, key).isEmpty,
      let values = foreignKey.reference(of: record, key),
      let parent = try deletedParent(foreignKey, values)
    else { return }
    let parentRow = try tables.row(foreignKey.parent, parent)
    guard case .missing = parentRow.row, parentRow.local == nil,
      let former = parentRow.base
    else { return }
    let placement = RowPlacement(
      table: foreignKey.parent, key: parent, row: parentRow, remote: parentRow.base,
      result: former)
    revived.append(placement)
    try place(placement)
  }

  /// Records the deletions that were overruled, if the rows are still or again here: those of the space because local
  /// edits need the rows, and those of local edits because rows of the space refer to them.
  mutating func recordOverruledDeletions() throws {
    for (placements, isOfSpace) in [(kept, true), (revived, false)] {
      for placement in placements {
        guard let record = placement.result,
          case .values = try tables.row(placement.table, placement.key).row
        else { continue }
        let versions: MergeConflict<Record> =
          isOfSpace
          ? .editDelete(base: record, local: record) : .deleteEdit(base: record, remote: record)
        try tables.record(versions, isOfSpace ? .local : .remote, placement.syncKey)
        overruledCount += 1
      }
    }
  }

  /// The key of the deleted row that had these values.
  private mutating func deletedParent(
    _ foreignKey: ForeignKey, _ values: [FieldValue]
  ) throws -> [FieldValue]? {
    let parents =
      try deletedParents[foreignKey.number] ?? DeletedParents(foreignKey, tables)
    deletedParents[foreignKey.number] = parents
    return parents.key(of: values)
  }
}

/// The rows that local edits have deleted, by the values that a foreign key refers to. They compare as the columns of
/// the parent do.
struct DeletedParents {
  private let foreignKey: ForeignKey
  private let collations: [ComparedColumn.Collation]
  private var keys: [[FieldValue]: [FieldValue]] = [:]

  /// - Complexity: O(*n*) in the number of deleted rows, in time and memory.
  init(_ foreignKey: ForeignKey, _ tables: ReplicaTables) throws {
    self.foreignKey = foreignKey
    let parent = foreignKey.parent
    collations = foreignKey.columns.map { column in
      let origin = ColumnOrigin(table: parent.name, column: column.parent)
      return tables.connection.collation(of: origin).flatMap { .init(name: $0) } ?? .binary
    }
    try tables.forEachTouchedRow(parent, .missing) { key, row in
      if let base = row.base { add(base, key) }
      return true
    }
  }

  private mutating func add(_ record: Record, _ key: [FieldValue]) {
    guard let values = foreignKey.values(of: record, key) else { return }
    keys[comparable(values)] = key
  }

  /// The key of the row that these values of a child refer to.
  func key(of values: [FieldValue]) -> [FieldValue]? {
    if keys.isEmpty { return nil }
    let parent = foreignKey.parent
    let stored = zip(values, foreignKey.columns).map { value, column in
      parent.stored(value, inColumn: column.parent) ?? value
    }
    return keys[comparable(stored)]
  }

  private func comparable(_ values: [FieldValue]) -> [FieldValue] {
    zip(values, collations).map { $0.canonical($1) }
  }
}
