internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The kept edits by what they refer to. They may have changed since, so look at each one that is found.
struct Followers {
  private struct Reference: Hashable {
    let foreignKey: Int
    let values: [FieldValue]
  }

  /// A value of a column by which rows refer to others.
  private struct ColumnValue: Hashable {
    let table: FieldName
    let column: FieldName
    let value: FieldValue
  }

  private let foreignKeys: [ForeignKey]
  private var ids: [Reference: Set<KeptEdit.ID>] = [:]
  /// The references that the space knows, of one column each.
  let references: [SpaceReference]
  /// Open conflicts, and rejected changes with a column that their table has lost.
  private var others: [ColumnValue: Set<KeptEdit.ID>] = [:]

  init(_ tables: ReplicaTables) throws {
    let schema = try tables.schema()
    foreignKeys = schema.foreignKeys
    references = try tables.spaceReferences(schema).filter(\.isAlone)
    for edit in try tables.keptEdits(.conflicts) + tables.keptEdits(.rejected) { insert(edit) }
  }

  mutating func insert(_ edit: KeptEdit) {
    guard let local = edit.local else { return }
    for reference in references where UTF8Order.areEqual(reference.table.name, edit.table) {
      let isLost = reference.table.schema.column(named: reference.column) == nil
      guard edit.kind.isConflict || edit.kind == .edit && isLost else { continue }
      others[Self.columnValue(reference, local[reference.column]), default: []].insert(edit.id)
    }
    guard edit.kind == .edit else { return }
    for foreignKey in foreignKeys {
      guard let values = edit.reference(by: foreignKey) else { continue }
      ids[Reference(foreignKey: foreignKey.number, values: values), default: []].insert(edit.id)
    }
  }

  func edits(_ foreignKey: ForeignKey, _ values: [FieldValue]) -> [KeptEdit.ID] {
    (ids[Reference(foreignKey: foreignKey.number, values: values)] ?? []).sorted()
  }

  /// The open conflicts, and the rejected changes with a lost column, that refer to a row by a column.
  func edits(_ reference: SpaceReference, _ value: FieldValue) -> [KeptEdit.ID] {
    (others[Self.columnValue(reference, value)] ?? []).sorted()
  }

  private static func columnValue(
    _ reference: SpaceReference, _ value: FieldValue
  ) -> ColumnValue {
    ColumnValue(
      table: FieldName(reference.table.name), column: FieldName(reference.column), value: value)
  }
}

extension KeptEdit {
  /// The values of its local version in the columns of a foreign key; `nil` if it is of another table, or refers to
  /// nothing.
  fileprivate func reference(by foreignKey: ForeignKey) -> [FieldValue]? {
    guard let child = foreignKey.attachedChild, UTF8Order.areEqual(table, child.name), let local
    else { return nil }
    let values = foreignKey.columns.map { column in
      if let place = child.keyNames.firstIndex(where: column.child.isSameSQLName) {
        return key.id[place]
      }
      if let name = child.columnNames.first(where: column.child.isSameSQLName) {
        return local[name]
      }
      let name = child.otherColumns.first(where: column.child.isSameSQLName)
      return name.flatMap { others?[$0] } ?? .null
    }
    return values.contains(.null) ? nil : values
  }

  /// The change with a reference to another row; `nil` if it does not refer to the former one.
  func moved(
    _ foreignKey: ForeignKey, from old: [FieldValue], to new: [FieldValue]
  ) -> (key: SyncKey, local: Record, others: Record?)? {
    guard let child = foreignKey.attachedChild, var version = local,
      reference(by: foreignKey) == old
    else { return nil }
    var (id, others) = (key.id, others)
    for (column, value) in zip(foreignKey.columns, new) {
      if let place = child.keyNames.firstIndex(where: column.child.isSameSQLName) {
        id[place] = value
      } else if let name = child.columnNames.first(where: column.child.isSameSQLName) {
        version[field: FieldName(name)] = value
      } else if let name = child.otherColumns.first(where: column.child.isSameSQLName) {
        others?[field: FieldName(name)] = value
      }
    }
    return (child.syncKey(id), version, others)
  }
}
