internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

// Rows that local edits deleted, and that rows of the space refer to.

extension RowPlacing {
  /// Takes note of a row if it begins to refer to a row that is not there. See
  /// ``reviveParent(of:_:)``.
  mutating func noteMissingParents(of placement: RowPlacement) throws {
    guard let record = placement.result,
      let foreignKeys = ownReferences[ObjectIdentifier(placement.table)]
    else { return }
    let key = placement.key
    for foreignKey in foreignKeys {
      if let former = placement.row.present, foreignKey.hasSameReference(record, former, key) {
        continue
      }
      if try hasDeletions(of: foreignKey.parent),
        try tables.parents(foreignKey, of: record, key).isEmpty
      {
        orphans.append((foreignKey, key))
      }
    }
  }

  /// Brings the row back that a row of the space refers to, if a local edit deleted it: another replica has
  /// added the reference without having seen the deletion. If the space has the deletion already, the row
  /// is a local edit, which the next commit contains.
  ///
  /// A row that refers to another one that was never here, or is gone for all replicas, stays without it.
  mutating func reviveParent(of key: [FieldValue], _ foreignKey: ForeignKey) throws {
    try restoreDisturbed()
    guard let child = foreignKey.attachedChild else { return }
    let row = try tables.row(child, key)
    guard let record = row.present, let base = row.base,
      foreignKey.hasSameReference(record, base, key),
      try tables.parents(foreignKey, of: record, key).isEmpty
    else { return }
    for key in try tables.formerParents(foreignKey, of: record, key) {
      let row = try tables.row(foreignKey.parent, key)
      guard case .missing = row.row, row.local == nil,
        let former = try row.base ?? tables.formerAccepted(foreignKey.parent, key)
      else { continue }
      let placement = RowPlacement(
        table: foreignKey.parent, key: key, row: row, remote: row.base, result: former)
      revived.append(placement)
      return try place(placement)
    }
  }

  private mutating func hasDeletions(of table: ReplicaTable) throws -> Bool {
    if let isKnown = hasDeletions[ObjectIdentifier(table)] { return isKnown }
    var isFound = false
    _ = try tables.forEachTouchedRow(table, .missing, after: nil) { _, _ in
      isFound = true
      return false
    }
    if !isFound, table.mayHaveAccepted {
      let page = try tables.keys(of: table, in: table.acceptedName, .missing, after: nil)
      isFound = !page.keys.isEmpty
    }
    hasDeletions[ObjectIdentifier(table)] = isFound
    return isFound
  }
}
