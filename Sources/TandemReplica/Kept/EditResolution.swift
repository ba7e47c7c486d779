internal import TandemRecords
internal import TandemSync

/// The version that resolves a kept edit.
struct EditResolution {
  let edit: KeptEdit
  let choice: KeptEdit.Choice
  let table: ReplicaTable
  /// The fields that newer conflicts of the row decide.
  var newerFields: Set<FieldName> = []
  /// The version of the row before any of the resolutions is written.
  var former: Record?

  /// True if the edit is merged with the present row.
  var isMerged: Bool { edit.kind == .edit && choice == .local }

  /// The version for the row, and the fields that are written; all if `nil`.
  ///
  /// - Throws: ``ReplicaError`` with code `unsuitable` if the table synchronizes no such column.
  func version(over present: Record?) throws -> (chosen: Record?, fields: [String]?) {
    var fields = edit.fields ?? (edit.kind == .edit ? edit.changedFields : nil)
    var chosen: Record?
    switch choice {
    case .base: chosen = edit.base
    case .local: chosen = edit.local
    case .remote, .same: chosen = present
    case .record(let record): (chosen, fields) = (record, nil)
    case .fields(let values):
      chosen = try edit.changing(values, of: present, in: table)
      let others = edit.kind == .edit ? edit.changedFields ?? [] : []
      // A row that was added here is written as a whole.
      fields =
        edit.kind == .edit && edit.base == nil
        ? nil : values.layout.names + others.filter { values.layout.offset(of: $0) == nil }
    }
    try edit.checkColumns(of: chosen, among: fields, in: table)
    fields = fields?.filter { !newerFields.contains(FieldName($0)) }
    if let fields, let version = chosen, let present {
      // The other fields were merged, and may have changed since.
      chosen = present.with(fields, of: version)
    } else if let present {
      chosen = chosen?.with(newerFields.map(\.text), of: present)
    }
    return (chosen, fields)
  }
}

extension KeptEdit.Choice {
  /// The outcome of an edit that it resolves.
  var resolution: KeptEdit.Resolution {
    switch self {
    case .remote, .same: .remote
    case .local: .local
    case .base: .base
    case .record, .fields: .chosen
    }
  }
}

extension KeptEdit {
  /// The fields that an edit of a row changed; `nil` if it added or deleted the row.
  fileprivate var changedFields: [String]? {
    guard let base, let local else { return nil }
    let names = base.layout.names + local.layout.names.filter { base.layout.offset(of: $0) == nil }
    return names.filter { !base[$0].hasSameStorage(as: local[$0]) }
  }

  /// The row, or the last version of a row that was deleted, with other values of some fields.
  fileprivate func changing(
    _ fields: Record, of current: Record?, in table: ReplicaTable
  ) throws -> Record {
    // The other fields of an edit that was refused are made as well.
    let edited = kind == .edit ? local : nil
    var record =
      edited ?? current ?? remote ?? local ?? base
      ?? Record(uncheckedLayout: table.layout, values: table.layout.names.map { _ in .null })
    for (name, value) in zip(fields.layout.names, fields.values) {
      guard table.layout.offset(of: name) != nil else {
        throw ReplicaError(
          .unsuitable,
          "the table \(table.name) synchronizes no column \(name) that is not part of its key; "
            + "it synchronizes \(table.columnNames.joined(separator: ", "))")
      }
      record[field: FieldName(name)] = value.isNull ? nil : value
    }
    return record
  }

  /// Throws if a version needs a column that the table no longer has.
  ///
  /// - Parameter fields: The fields that are written; if `nil`, all that the version changes.
  fileprivate func checkColumns(
    of chosen: Record?, among fields: [String]?, in table: ReplicaTable
  ) throws {
    guard let chosen else { return }
    let changed = chosen.layout.names.filter { name in
      base.map { !$0[name].hasSameStorage(as: chosen[name]) } ?? false
    }
    try table.checkColumns(fields ?? changed)
  }

  /// True if this conflict is about no other fields than a later one of the same record.
  func isAbout(fieldsOf later: KeptEdit) -> Bool {
    guard let others = later.fields else { return true }
    return fields?.allSatisfy(others.contains) ?? false
  }
}

extension ReplicaTable {
  /// Throws if a column that is to be written is not synchronized.
  func checkColumns(_ names: [String]) throws {
    let missing = names.filter { layout.offset(of: $0) == nil }
    guard missing.isEmpty else {
      throw ReplicaError(
        .unsuitable,
        "the table \(name) no longer has the column \(missing.joined(separator: ", ")) of this "
          + "version; add it again, or choose values of other columns. Nothing was changed")
    }
  }
}

extension Optional<Record> {
  /// True if both are absent, or store the given fields identically; all fields if `nil`.
  func hasSameStorage(as other: Record?, among names: [String]?) -> Bool {
    guard let names, let one = self, let other else { return hasSameStorage(as: other) }
    return names.allSatisfy { one[$0].hasSameStorage(as: other[$0]) }
  }
}
