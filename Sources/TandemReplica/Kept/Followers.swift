internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The rejected changes by what they refer to. They may have changed since, so look at each one that is found.
struct Followers {
  private struct Reference: Hashable {
    let foreignKey: Int
    let values: [FieldValue]
  }

  private let foreignKeys: [ForeignKey]
  private var ids: [Reference: Set<KeptEdit.ID>] = [:]

  init(of schema: ReplicaSchema, _ edits: [KeptEdit]) {
    foreignKeys = schema.foreignKeys
    for edit in edits { insert(edit) }
  }

  mutating func insert(_ edit: KeptEdit) {
    guard edit.kind == .edit, edit.local != nil else { return }
    for foreignKey in foreignKeys {
      guard let values = edit.reference(by: foreignKey) else { continue }
      ids[Reference(foreignKey: foreignKey.number, values: values), default: []].insert(edit.id)
    }
  }

  func edits(_ foreignKey: ForeignKey, _ values: [FieldValue]) -> [KeptEdit.ID] {
    (ids[Reference(foreignKey: foreignKey.number, values: values)] ?? []).sorted()
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
