internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

// The errors of versions that a table does not accept, for people.
extension ReplicaTables {
  /// Why a table refuses a record, for people. If another row has a unique value, it is named.
  func reason(
    _ error: DatabaseError, _ record: Record?, _ key: [FieldValue], _ table: ReplicaTable
  ) -> String {
    // SQLITE_CONSTRAINT_FOREIGNKEY
    if error.code.rawValue == 787 { return Self.reasonOfReference }
    guard error.isAboutUniqueness else { return error.message }
    let other = try? holder(error.message, record, key, table)
    return other ?? "another row has the same unique value (\(error.message))"
  }

  /// The row that has the values of the columns that an error of SQLite names: `UNIQUE constraint failed: t.a, t.b`.
  private func holder(
    _ message: String, _ record: Record?, _ key: [FieldValue], _ table: ReplicaTable
  ) throws -> String? {
    let prefix = "\(table.name)."
    let names = message.split(separator: ": ", maxSplits: 1).last?.split(separator: ", ") ?? []
    guard names.allSatisfy({ $0.hasPrefix(prefix) }) else { return nil }
    let columns = names.map { FieldName(String($0.dropFirst(prefix.count))) }
    guard let values = table.declaration.values(of: columns, record, key) else { return nil }
    let condition = columns.map(\.text).sqlEquality
    return try keys(of: table.declaration, where: "\(condition) LIMIT 2", values)
      .first { $0 != key }.map { table.name(of: $0, with: columns, values) }
  }

  /// The error of a version that a table does not accept.
  func refusal(of resolution: EditResolution, _ error: DatabaseError) throws -> ReplicaError {
    let (edit, table) = (resolution.edit, resolution.table)
    let record =
      resolution.isMerged
      ? edit.local : try resolution.version(over: row(table, edit.key.id).local).chosen
    return refusal(edit.key, reason(error, record, edit.key.id, table))
  }

  /// The error of a version that violates a deferred foreign key, which SQLite reports at the end of the
  /// transaction, without the row.
  func refusalOfReference(_ key: SyncKey) -> ReplicaError {
    refusal(key, Self.reasonOfReference)
  }

  private static let reasonOfReference =
    "it refers to a row that is not there, or other rows refer to it (FOREIGN KEY constraint failed)"

  private func refusal(_ key: SyncKey, _ reason: String) -> ReplicaError {
    ReplicaError(
      .constraint,
      "the table \(key.table) does not accept this version of \(key.id.sqlText): \(reason); nothing was changed. "
        + "Change the rows that are in the way, or take other values")
  }

  /// Throws if a trigger of the application has prevented a change of a row without an error, as by
  /// `RAISE(IGNORE)`.
  func checkIsWritten(
    _ record: Record?, over former: ReplicaRow.Current, _ table: ReplicaTable, _ key: SyncKey
  ) throws {
    let isChange =
      record.map { !former.holds($0, table, except: table.alteredFields(of: $0)) }
      ?? !former.isMissing
    guard isChange else { return }
    let row = try row(table, key.id).row
    guard row.isMissing == former.isMissing, !row.differs(from: former) else { return }
    throw ReplicaError(
      .constraint,
      "a trigger of the table \(table.name) prevents this version of \(key.id.sqlText) without an error; "
        + "nothing was changed. Drop the trigger, or change what it looks at, and try again")
  }
}

extension ReplicaError {
  func naming(_ edit: KeptEdit, if namesEdit: Bool) -> ReplicaError {
    namesEdit ? ReplicaError(code, "\(edit.label): \(message)") : self
  }
}
