internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// An edit of a column that the table no longer has. It stays until a commit has brought it to the
/// space, as an edit of the record that all other copies see.
private struct DroppedEdit {
  let name: FieldName
  /// The value that the edit was made from.
  let former: FieldValue
  let value: FieldValue

  init?(_ row: [FieldValue]) {
    guard row.count == 3, case .text(let name) = row[0] else { return nil }
    (self.name, former, value) = (FieldName(name), row[1], row[2])
  }

  /// Writes the value, or the former one, into a record.
  func write(_ value: FieldValue, to record: inout Record) {
    record[field: name] = value.isNull ? nil : value
  }
}

extension ReplicaTable {
  /// The table of the edits of dropped columns, in SQL.
  fileprivate var droppedEdits: String { TableShadow.droppedName(name).sqlQuoted }
  /// The condition that an edit is of a column in a row. The parameters are the key and the name of the column.
  fileprivate var isDroppedEdit: String {
    "\(keyNames.sqlEquality) AND \(TableShadow.droppedColumn) = ?"
  }
}

extension ReplicaTables {
  /// True if columns that were dropped have edits that were not sent.
  func hasDroppedEdits(_ table: ReplicaTable) throws -> Bool {
    guard table.mayHaveDroppedEdits else { return false }
    return try !rows("SELECT 1 FROM \(table.droppedEdits) LIMIT 1").isEmpty
  }

  /// Makes the rows with edits of dropped columns touched, so that the next commit contains them.
  ///
  /// If the table has such a column again, the edit is written into the row. If the space has deleted
  /// the record, the edit is kept as a conflict.
  func touchDroppedEdits(of table: ReplicaTable) throws {
    guard try hasDroppedEdits(table) else { return }
    let keys = table.keyNames.sqlList
    for key in try rows("SELECT DISTINCT \(keys) FROM \(table.droppedEdits)") {
      let row = try row(table, key)
      if row.row.isMissing, row.shadow == nil {
        try recordLost(try droppedEdits(of: table, key), table, key)
        continue
      }
      for edit in try droppedEdits(of: table, key) {
        guard let offset = table.layout.offset(of: edit.name.text) else { continue }
        try writeAgain(edit, at: offset, over: row, key)
      }
    }
    let isSame = table.declaration.sameKey("t", "s")
    try touch(table, where: "EXISTS (SELECT 1 FROM \(table.droppedEdits) AS s WHERE \(isSame))")
  }

  /// Keeps edits of dropped columns as resolved conflicts, and forgets them.
  ///
  /// - Parameters:
  ///   - remote: The record of the space, which stays.
  ///   - isGivenUp: True for the columns of these edits.
  func giveUpDroppedEdits(
    of table: ReplicaTable, _ key: [FieldValue], beside remote: Record,
    where isGivenUp: (FieldName) -> Bool
  ) throws {
    guard table.mayHaveDroppedEdits else { return }
    // One of a column that came back is written into the row.
    let edits = try droppedEdits(of: table, key).filter {
      table.layout.offset(of: $0.name.text) == nil && isGivenUp($0.name)
    }
    guard !edits.isEmpty else { return }
    var (former, edited) = (remote, remote)
    for edit in edits {
      edit.write(edit.former, to: &former)
      edit.write(edit.value, to: &edited)
      try forget(edit, table, key)
    }
    try record(
      .editEdit(base: former, local: edited, remote: remote), .remote, table.syncKey(key),
      fields: edits.map(\.name.text))
  }

  /// The record of a row that is about to be sent, with the edits of columns that were dropped.
  ///
  /// If the space has changed such a field too, the policy of the field decides. Without one, the
  /// version of the space stays, and the edit is kept as a conflict.
  func addingDroppedEdits(
    to row: ReplicaRow, _ key: [FieldValue], _ merging: TableMerging
  ) throws -> Record? {
    let table = row.table
    let edits = try table.mayHaveDroppedEdits ? droppedEdits(of: table, key) : []
    guard !edits.isEmpty else { return row.local }
    guard var local = row.local else {
      // The row was deleted later.
      for edit in edits { try forget(edit, table, key) }
      return nil
    }
    guard let base = row.base else {
      for edit in edits { edit.write(edit.value, to: &local) }
      return local
    }
    var (former, edited) = (base, base)
    for edit in edits {
      edit.write(edit.former, to: &former)
      edit.write(edit.value, to: &edited)
    }
    let merge = RowMerge(
      base: former, local: edited, remote: base, .field, TableMerging(fields: merging.fields))
    if let conflict = merge.conflict {
      let isOpen = conflict.resolution.isUnresolved
      try record(
        conflict.versions, isOpen ? .remote : conflict.resolution, table.syncKey(key),
        fields: conflict.fields)
    }
    for edit in edits {
      let value = merge.result?[edit.name.text] ?? .null
      edit.write(value, to: &local)
      if value.hasSameStorage(as: base[edit.name.text]) {
        try forget(edit, table, key)
      } else if merge.conflict != nil {
        try replace(edit, by: value, from: base[edit.name.text], table, key)
      }
    }
    return local
  }

  /// Takes note of the outcome of a commit: forgets the edits that it contained.
  ///
  /// - Parameters:
  ///   - base: The record before the commit.
  ///   - verbs: The changes of the record in the commit.
  ///   - isAccepted: False if the space refused them: they are among the rejected changes.
  func noteOutcomeOfDroppedEdits(
    of table: ReplicaTable, _ key: [FieldValue], _ base: Record?, _ verbs: [SyncChange.Verb],
    isAccepted: Bool
  ) throws {
    guard table.mayHaveDroppedEdits else { return }
    for edit in try droppedEdits(of: table, key) {
      var sent = base ?? Record(uncheckedLayout: RecordLayout(uniqueNames: []), values: [])
      if sent[edit.name.text].isNull { edit.write(edit.former, to: &sent) }
      for verb in verbs {
        if case .insert(let record) = verb { sent = record } else { sent = sent.applying(verb) }
      }
      let value = sent[edit.name.text]
      if verbs == [.delete] || value.hasSameStorage(as: edit.value) {
        try forget(edit, table, key)
      } else if isAccepted {
        try replace(edit, by: edit.value, from: value, table, key)
      }
    }
  }

  private func droppedEdits(
    of table: ReplicaTable, _ key: [FieldValue]
  ) throws -> [DroppedEdit] {
    try rows(
      """
      SELECT \(TableShadow.droppedColumn), \(TableShadow.droppedFormer), \(TableShadow.droppedValue)
      FROM \(table.droppedEdits) WHERE \(table.keyNames.sqlEquality)
      """, key
    ).compactMap(DroppedEdit.init)
  }

  private func forget(_ edit: DroppedEdit, _ table: ReplicaTable, _ key: [FieldValue]) throws {
    try run(
      "DELETE FROM \(table.droppedEdits) WHERE \(table.isDroppedEdit)",
      key + [.text(edit.name.text)])
  }

  private func replace(
    _ edit: DroppedEdit, by value: FieldValue, from former: FieldValue, _ table: ReplicaTable,
    _ key: [FieldValue]
  ) throws {
    try run(
      """
      UPDATE \(table.droppedEdits) SET \(TableShadow.droppedFormer) = ?, \(TableShadow.droppedValue) = ?
      WHERE \(table.isDroppedEdit)
      """, [former, value] + key + [.text(edit.name.text)])
  }

  /// Writes an edit into the row, whose table has the column again. If the row has another value than
  /// the edit was made from, or the table does not accept it, the edit is kept as a conflict.
  private func writeAgain(
    _ edit: DroppedEdit, at offset: Int, over row: ReplicaRow, _ key: [FieldValue]
  ) throws {
    let table = row.table
    try forget(edit, table, key)
    guard case .values(let values) = row.row, !values[offset].hasSameStorage(as: edit.value) else {
      return
    }
    if values[offset].hasSameStorage(as: edit.former) {
      let assignment = "\(table.columnNames[offset].sqlQuoted) = ?\(key.count + 1)"
      do {
        return try run(table.statements.update([assignment]), key, [edit.value])
      } catch let error as DatabaseError
        where error.forbidsRow && connection.isInTransaction
      {}
    }
    guard let present = row.local else { return }
    var (former, edited) = (present, present)
    edit.write(edit.former, to: &former)
    edit.write(edit.value, to: &edited)
    try record(
      .editEdit(base: former, local: edited, remote: present), .remote, table.syncKey(key),
      fields: [edit.name.text])
  }

  /// Keeps the edits of a record that the space has deleted as a conflict.
  private func recordLost(
    _ edits: [DroppedEdit], _ table: ReplicaTable, _ key: [FieldValue]
  ) throws {
    let none = Record(uncheckedLayout: RecordLayout(uniqueNames: []), values: [])
    var (former, edited) = (none, none)
    for edit in edits {
      edit.write(edit.former, to: &former)
      edit.write(edit.value, to: &edited)
      try forget(edit, table, key)
    }
    try record(
      .editDelete(base: former, local: edited), .remote, table.syncKey(key))
  }
}
