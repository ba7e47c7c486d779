internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// An edit of a column that the table no longer has. It stays until a commit has brought it to the
/// space, as an edit of the record that all other copies see.
struct DroppedEdit {
  let name: FieldName
  /// The value that the edit was made from.
  let former: FieldValue
  let value: FieldValue

  fileprivate init?(_ row: [FieldValue]) {
    guard row.count == 3, case .text(let name) = row[0] else { return nil }
    (self.name, former, value) = (FieldName(name), row[1], row[2])
  }

  /// False if the table has the column again.
  func isMissing(in table: ReplicaTable) -> Bool { table.layout.offset(of: name.text) == nil }

  /// False for a value of a row that may have been changed unnoticed.
  var isKnown: Bool { !former.hasSameStorage(as: value) }

  /// Writes the value, or the former one, into a record.
  func write(_ value: FieldValue, to record: inout Record) {
    record[field: name] = value.isNull ? nil : value
  }
}

extension [DroppedEdit] {
  /// A record with the values that the edits were made from, and with those that they made.
  func versions(of record: Record) -> (former: Record, edited: Record) {
    var (former, edited) = (record, record)
    for edit in self {
      edit.write(edit.former, to: &former)
      edit.write(edit.value, to: &edited)
    }
    return (former, edited)
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

  /// Takes out the edits with texts that are not UTF-8, which no message can hold. Their bytes are kept as rejected changes.
  func rejectUnreadableEdits(of table: ReplicaTable) throws {
    guard table.mayHaveDroppedEdits else { return }
    let keys = table.keyNames.sqlList
    var found: [FieldValue] = []
    let (former, value) = (TableShadow.droppedFormer, TableShadow.droppedValue)
    try connection.forEachRow(
      "SELECT _rowid_, \(keys), \(former), \(value) FROM \(table.droppedEdits)"
    ) { statement in
      if (try? statement.values()) == nil { found.append(try statement.value(at: 0)) }
      return true
    }
    for id in found {
      let rows = try readableRows(
        """
        SELECT \(TableShadow.droppedColumn), CAST(\(value) AS BLOB), \(keys) FROM \(table.droppedEdits)
        WHERE _rowid_ = ?
        """, [id])
      // A row whose key is not UTF-8 was never sent either.
      if let row = rows.first, case .text(let name) = row[0] {
        var content = Record.empty
        content[field: FieldName(name)] = row[1]
        _ = try reject(
          table.syncKey(Array(row.dropFirst(2))),
          "a text of the dropped column \(name) is not UTF-8 (its bytes are shown as a blob)",
          content, from: .empty)
      }
      try run("DELETE FROM \(table.droppedEdits) WHERE _rowid_ = ?", [id])
    }
  }

  /// Lets edits of a dropped column refer to another row.
  func moveDroppedReferences(
    _ reference: SpaceReference, from old: FieldValue, to new: FieldValue
  ) throws {
    // Of a value that may have changed unnoticed, both are the same.
    let (former, value) = (TableShadow.droppedFormer, TableShadow.droppedValue)
    try run(
      """
      UPDATE \(reference.table.droppedEdits)
      SET \(former) = iif(\(former) IS \(value), ?1, \(former)), \(value) = ?1
      WHERE \(TableShadow.droppedColumn) = ?2 COLLATE NOCASE AND \(value) = ?3 AND typeof(\(value)) = typeof(?3)
      """, [new, .text(reference.column), old])
  }

  /// Makes the rows with edits of dropped columns touched, so that the next commit contains them.
  ///
  /// If the table has such a column again, the edit is written into the row. If the space has deleted
  /// the record, the edit is kept as a conflict.
  func touchDroppedEdits(of table: ReplicaTable, _ merging: TableMerging) throws {
    guard try hasDroppedEdits(table) else { return }
    let keys = table.keyNames.sqlList
    for key in try rows("SELECT DISTINCT \(keys) FROM \(table.droppedEdits)") {
      let row = try row(table, key)
      if row.row.isMissing, row.shadow == nil {
        try recordLost(try droppedEdits(of: table, key), table, key)
        continue
      }
      for edit in try droppedEdits(of: table, key) {
        guard table.layout.offset(of: edit.name.text) != nil else { continue }
        let others = table.columnNames.filter { FieldName($0) != edit.name }
        for column in try table.newColumns(besides: others, in: connection) {
          try writeAgain(edit, in: column, over: row, key, merging)
        }
      }
    }
    let isSame = table.shadow.sameKey("t", "s")
    try touch(table, where: "EXISTS (SELECT 1 FROM \(table.droppedEdits) AS s WHERE \(isSame))")
  }

  /// Makes a version of the space the base of edits of dropped columns.
  ///
  /// - Parameters:
  ///   - remote: The version of the space.
  ///   - result: Its merge with a version that contains the edits.
  ///   - keeps: True for an edit that is kept as a resolved conflict if the version of the space stays.
  func rebase(
    _ edits: [DroppedEdit], on remote: Record, _ result: Record, of table: ReplicaTable,
    _ key: [FieldValue], keeping keeps: (DroppedEdit) -> Bool = { _ in true }
  ) throws {
    let overruled = edits.filter {
      let value = result[$0.name.text]
      return keeps($0) && value.hasSameStorage(as: remote[$0.name.text])
        && !value.hasSameStorage(as: $0.value)
    }
    if !overruled.isEmpty { try record(overruled, over: remote, table, key) }
    for edit in edits {
      let (value, former) = (result[edit.name.text], remote[edit.name.text])
      if value.hasSameStorage(as: former) {
        try forget(edit, table, key)
      } else {
        try replace(edit, by: value, from: former, table, key)
      }
    }
  }

  /// The record of a row that is about to be sent, with the edits of columns that were dropped.
  ///
  /// If the space has changed such a field too, the policy of the field decides. Without one, the
  /// version of the space stays, and the edit is kept as a conflict.
  func addingDroppedEdits(
    to row: ReplicaRow, _ key: [FieldValue], _ merging: TableMerging
  ) throws -> Record? {
    let table = row.table
    let edits = try droppedEdits(of: table, key)
    guard !edits.isEmpty else { return row.local }
    guard let local = row.local else {
      // The row was deleted later.
      for edit in edits { try forget(edit, table, key) }
      return nil
    }
    guard let base = row.base else { return edits.versions(of: local).edited }
    // A page has merged them, unless the row could not be read then, or had no base.
    let (former, edited) = edits.versions(of: base)
    let merge = RowMerge(
      base: former, local: edited, remote: base, .field, TableMerging(fields: merging.fields))
    if let conflict = merge.conflict?.limited(to: table.layout) {
      try record(conflict, table.syncKey(key))
    }
    let result = merge.result ?? base
    try rebase(edits, on: base, result, of: table, key)
    return local.with(edits.map(\.name.text), of: result)
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
    for edit in try droppedEdits(of: table, key) {
      var sent = base ?? .empty
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

  /// The edits of columns that the table does not have, or has again.
  func droppedEdits(
    of table: ReplicaTable, _ key: [FieldValue]
  ) throws -> [DroppedEdit] {
    guard table.mayHaveDroppedEdits else { return [] }
    return try rows(
      """
      SELECT \(TableShadow.droppedColumn), \(TableShadow.droppedFormer), \(TableShadow.droppedValue)
      FROM \(table.droppedEdits) WHERE \(table.keyNames.sqlEquality)
      """, key
    ).compactMap(DroppedEdit.init)
  }

  /// A new row's record with its edits of dropped columns, which are forgotten. If the table has a column again, a later value
  /// of the row stays.
  func takeDroppedEdits(
    of table: ReplicaTable, _ key: [FieldValue], into record: Record
  ) throws -> Record {
    var content = record
    for edit in try droppedEdits(of: table, key) {
      try forget(edit, table, key)
      let others = table.columnNames.filter { FieldName($0) != edit.name }
      let column = try table.newColumns(besides: others, in: connection).first
      if column?.isStandard(record[edit.name.text]) ?? true {
        edit.write(edit.value, to: &content)
      }
    }
    return content
  }

  func forget(_ edit: DroppedEdit, _ table: ReplicaTable, _ key: [FieldValue]) throws {
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
  /// the edit was made from, or the table does not accept it, the edit is kept as a conflict. An addition to a counter is
  /// made to the value of the space: that is the same number if another copy has added as much.
  private func writeAgain(
    _ edit: DroppedEdit, in column: NewColumn, over row: ReplicaRow, _ key: [FieldValue],
    _ merging: TableMerging
  ) throws {
    let (table, offset) = (row.table, column.offset)
    guard case .values(let values) = row.row else { return }
    let present = values[offset]
    try forget(edit, table, key)
    var value = edit.value
    let sum: FieldValue? =
      if edit.isKnown, let base = row.base, base[edit.name.text].hasSameStorage(as: present) {
        merging.sum(edit.name.text, base: edit.former, local: edit.value, remote: present)
      } else {
        nil
      }
    if let sum { value = sum }
    if present.hasSameStorage(as: value) { return }
    // A row that the space does not have has got the default.
    if sum != nil || present.hasSameStorage(as: edit.former)
      || row.base == nil && column.isStandard(present)
    {
      let assignment = "\(table.columnNames[offset].sqlQuoted) = ?\(key.count + 1)"
      do {
        return try run(table.statements.update([assignment]), key, [value])
      } catch let error as DatabaseError
        where error.forbidsRow && connection.isInTransaction
      {}
    }
    if let present = row.local { try record([edit], over: present, table, key) }
  }

  /// Keeps edits as resolved conflicts with a record, which stays.
  private func record(
    _ edits: [DroppedEdit], over remote: Record, _ table: ReplicaTable, _ key: [FieldValue]
  ) throws {
    let (former, edited) = edits.versions(of: remote)
    // A lost history may decide against an edit that meets no other one. A change that no trigger noted has no base.
    let areTwoSided = edits.allSatisfy {
      $0.isKnown && !$0.former.hasSameStorage(as: remote[$0.name.text])
    }
    try record(
      areTwoSided
        ? .editEdit(base: former, local: edited, remote: remote)
        : .addAdd(local: edited, remote: remote),
      .remote, table.syncKey(key), fields: edits.map(\.name.text))
  }

  /// Keeps the edits of a record that the space has deleted as a conflict.
  private func recordLost(
    _ edits: [DroppedEdit], _ table: ReplicaTable, _ key: [FieldValue]
  ) throws {
    for edit in edits { try forget(edit, table, key) }
    let (former, edited) = edits.versions(of: .empty)
    try record(
      .editDelete(base: former, local: edited), .remote, table.syncKey(key))
  }
}
