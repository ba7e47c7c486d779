public import TandemDifferences
public import TandemRecords
internal import TandemSQLite
package import TandemSync

/// A conflict that a merge resolved or left open, with every version.
public struct ReplicaConflict: Hashable, Sendable, Identifiable {
  /// The outcome of the merge.
  public enum Resolution: String, Hashable, Sendable, CaseIterable {
    /// The row has the version of this file.
    case local
    /// The row has the version of the space.
    case remote
    /// The row has another version: of a policy, or as it was chosen.
    case merged
    /// The row has the remote version, and the conflict is open.
    case unresolved
  }

  /// The number of the conflict in its file.
  public let id: Int64
  /// The identity of the record.
  package let key: SyncKey
  /// The kind of conflict.
  public let kind: MergeConflict<Record>.Kind
  /// The fields in conflict; `nil` if it is the record as a whole.
  public let fields: [String]?
  /// The version that both sides started from.
  public let base: Record?
  /// The version of this file.
  public let local: Record?
  /// The version of the space.
  public let remote: Record?
  /// The outcome.
  public let resolution: Resolution

  /// The name of the table.
  public var table: String { key.table }
  /// The values of the record's primary key.
  public var primaryKey: [FieldValue] { key.id }
}

/// A change that could not be synchronized: the space refused it, a constraint forbids it, or no
/// message can hold it.
public struct ReplicaRejection: Hashable, Sendable, Identifiable {
  /// The number of the rejection in its file.
  public let id: Int64
  /// The identity of the record.
  package let key: SyncKey
  /// The reason.
  public let reason: String
  /// The record as it was; `nil` if it could not be read, or is still in its row.
  public let content: Record?

  /// The name of the table.
  public var table: String { key.table }
  /// The values of the record's primary key.
  public var primaryKey: [FieldValue] { key.id }
}

/// The version of a record that resolves an open conflict.
public enum ConflictChoice: Hashable, Sendable {
  /// The version that both sides started from.
  case base
  /// The version of this file.
  case local
  /// The version of the space.
  case remote
  /// Another version; `nil` to delete the record.
  case record(Record?)
  /// The row as it is now with these fields changed. If the row was deleted, it is revived from its
  /// last version.
  case fields(Record)
}

extension ReplicaTables {
  /// The number of resolved conflicts that a file keeps. Open ones are always kept.
  package static var maxResolvedConflictCount: Int { 10_000 }

  /// Records a conflict with its resolution.
  func record(
    _ conflict: MergeConflict<Record>, _ resolution: MergeResolution<Record>, _ key: SyncKey,
    fields: [String]? = nil, version: Int
  ) throws {
    let outcome: ReplicaConflict.Resolution
    switch resolution {
    case .local: outcome = .local
    case .remote: outcome = .remote
    case .unresolved: outcome = .unresolved
    case .merged: outcome = .merged
    case .deleted:
      outcome = conflict.local == nil ? .local : conflict.remote == nil ? .remote : .merged
    }
    let versions = [conflict.base, conflict.local, conflict.remote]
      .map { $0.map { FieldValue.text($0.text) } ?? .null }
    try run(
      """
      INSERT INTO tandem_conflicts (
        "table", "key", kind, fields, base, "local", remote, resolution, version)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(key.table), .text(key.idText), .text(conflict.kind.rawValue),
        fields.map { names in
          let values = names.map { FieldValue.text($0) }
          return .text(String(decoding: SyncMessageWriter.bytes(id: values), as: UTF8.self))
        } ?? .null,
      ] + versions + [.text(outcome.rawValue), .integer(Int64(version))])
  }

  /// Removes the oldest conflicts that are resolved and known to the space, beyond the limit.
  func pruneConflicts() throws {
    try run(
      """
      DELETE FROM tandem_conflicts WHERE resolution <> 'unresolved' AND reported_in = 0
        AND id <= (SELECT max(id) FROM tandem_conflicts) - ?
      """, [.integer(Int64(ReplicaTables.maxResolvedConflictCount))])
  }

  /// The conflicts, in the order in which they came.
  ///
  /// - Parameter isOpen: True for those that are open, without the resolved ones.
  package func conflicts(isOpen: Bool = false) throws -> [ReplicaConflict] {
    try rows(
      """
      SELECT id, "table", "key", kind, base, "local", remote, resolution, fields
      FROM tandem_conflicts
      \(isOpen ? "WHERE resolution = 'unresolved'" : "") ORDER BY id
      """
    ).map { row in
      guard case .integer(let id) = row[0], case .text(let table) = row[1],
        case .text(let keyText) = row[2], case .text(let kindText) = row[3],
        case .text(let resolutionText) = row[7],
        let key = try? SyncMessageReader(limits: .unlimited).id(Array(keyText.utf8)),
        let kind = MergeConflict<Record>.Kind(rawValue: kindText),
        let resolution = ReplicaConflict.Resolution(rawValue: resolutionText)
      else { throw ReplicaError.damaged("tandem_conflicts", connection.path) }
      return ReplicaConflict(
        id: id, key: SyncKey(table: table, id: key), kind: kind, fields: try fieldNames(row[8]),
        base: try version(row[4]),
        local: try version(row[5]), remote: try version(row[6]), resolution: resolution)
    }
  }

  private func fieldNames(_ value: FieldValue) throws -> [String]? {
    guard case .text(let text) = value else { return nil }
    guard let values = try? SyncMessageReader(limits: .unlimited).id(Array(text.utf8)) else {
      throw ReplicaError.damaged("tandem_conflicts", connection.path)
    }
    return values.compactMap { if case .text(let name) = $0 { name } else { nil } }
  }

  private func version(_ value: FieldValue) throws -> Record? {
    guard case .text(let text) = value else { return nil }
    guard let record = try? SyncMessageReader(limits: .unlimited).fields(Array(text.utf8)) else {
      throw ReplicaError.damaged("tandem_conflicts", connection.path)
    }
    return record
  }

  /// Resolves an open conflict by an ordinary edit of its row, which the next commit contains. Only
  /// the fields in conflict are written.
  ///
  /// - Throws: ``ReplicaError`` with code `unknownConflict`; `DatabaseError` with code `constraint`
  ///   if the table does not accept the version.
  package func resolve(conflict id: Int64, by choice: ConflictChoice) throws {
    guard let conflict = try conflicts(isOpen: true).first(where: { $0.id == id }),
      let table = try schema().table(named: conflict.key.table)
    else {
      throw ReplicaError(
        .unknownConflict, "there is no open conflict with the number \(id)")
    }
    let record: Record?
    let resolution: ReplicaConflict.Resolution
    switch choice {
    case .base: (record, resolution) = (conflict.base, .merged)
    case .local: (record, resolution) = (conflict.local, .local)
    case .remote: (record, resolution) = (conflict.remote, .remote)
    case .record(let chosen): (record, resolution) = (chosen, .merged)
    case .fields(let fields):
      record = try conflict.changing(fields, of: try row(table, conflict.key.id).local, in: table)
      resolution = .merged
    }
    let key = conflict.key.id
    let row = try row(table, key)
    var chosen = record
    if case .fields = choice {
      // They are changes of the row as it is.
    } else if let fields = conflict.fields, let record, var current = row.local {
      // The other fields were merged, and may have changed since.
      for name in fields {
        current[field: FieldName(name)] = record[name].isNull ? nil : record[name]
      }
      chosen = current
    }
    try store(chosen, over: row.row, table, key)
    try run(
      "UPDATE tandem_conflicts SET resolution = ? WHERE id = ?",
      [.text(resolution.rawValue), .integer(id)])
  }

  /// The changes that could not be synchronized, in the order in which they came.
  package func rejections() throws -> [ReplicaRejection] {
    try rows("SELECT id, \"table\", \"key\", reason, content FROM tandem_rejected ORDER BY id").map
    {
      row in
      guard case .integer(let id) = row[0], case .text(let table) = row[1],
        case .text(let keyText) = row[2], case .text(let reason) = row[3],
        let key = try? SyncMessageReader(limits: .unlimited).id(Array(keyText.utf8))
      else { throw ReplicaError.damaged("tandem_rejected", connection.path) }
      return ReplicaRejection(
        id: id, key: SyncKey(table: table, id: key), reason: reason, content: try version(row[4]))
    }
  }

  /// Forgets a change that could not be synchronized.
  ///
  /// - Throws: ``ReplicaError`` with code `unknownRejection`.
  package func discard(rejection id: Int64) throws {
    guard try rejections().contains(where: { $0.id == id }) else {
      throw ReplicaError(.unknownRejection, "there is no rejected change with the number \(id)")
    }
    try run("DELETE FROM tandem_rejected WHERE id = ?", [.integer(id)])
  }

  /// Writes the content of a rejected change into its row again, as an ordinary edit, and forgets the
  /// rejection.
  ///
  /// - Throws: ``ReplicaError`` with code `unknownRejection` if there is none of that number or it has
  ///   no content; `DatabaseError` with code `constraint` if the table does not accept it.
  package func retry(rejection id: Int64) throws {
    guard let rejection = try rejections().first(where: { $0.id == id }),
      let table = try schema().table(named: rejection.key.table)
    else {
      throw ReplicaError(.unknownRejection, "there is no rejected change with the number \(id)")
    }
    guard let content = rejection.content else {
      throw ReplicaError(
        .unknownRejection,
        "the rejected change \(id) is still in its row: correct the row, and discard the rejection")
    }
    try store(content, over: try row(table, rejection.key.id).row, table, rejection.key.id)
    try discard(rejection: id)
  }

  /// Notes a change that cannot be synchronized, with the row as it was.
  func reject(_ key: SyncKey, _ reason: String, _ content: Record?) throws {
    let content = content.map { FieldValue.text($0.text) } ?? .null
    let entry: [FieldValue] = [.text(key.table), .text(key.idText), .text(reason), content]
    let known = try rows(
      """
      SELECT 1 FROM tandem_rejected
      WHERE "table" = ? AND "key" = ? AND reason = ? AND content IS ?
      """, entry)
    guard known.isEmpty else { return }
    // Numbers of changes that were discarded are not used again.
    try run("UPDATE tandem_state SET last_rejection = last_rejection + 1", [])
    try run(
      """
      INSERT INTO tandem_rejected (id, "table", "key", reason, content)
      VALUES ((SELECT last_rejection FROM tandem_state), ?, ?, ?, ?)
      """, entry)
  }
}

// MARK: - Writing rows

extension ReplicaTables {
  /// Makes a row hold a record; `nil` deletes it.
  ///
  /// `OR ABORT` overrides the conflict clause that the table declares: `REPLACE` would remove other
  /// rows, and `IGNORE` would not write this one.
  func store(
    _ record: Record?, over current: ReplicaRow.Current, _ table: ReplicaTable, _ key: [FieldValue]
  ) throws {
    let statements = table.statements
    guard let record else {
      if case .missing = current { return }
      return try run(statements.delete, statements.keyCondition.parameters(key))
    }
    let values = table.values(of: record)
    let changed: [Int]
    switch current {
    case .missing:
      let marks = values.indices.map { ", \(table.storing(values[$0], at: $0))" }
      return try run("\(statements.insert)\(marks.joined()))", key + values)
    case .unreadable: changed = Array(values.indices)
    case .values(let old):
      changed = values.indices.filter { !values[$0].hasSameStorage(as: old[$0]) }
    }
    guard !changed.isEmpty else { return }
    let list = changed.map {
      "\(statements.assignments[$0])\(table.storing(values[$0], at: $0))"
    }
    try run(
      "\(statements.update)\(list.joined(separator: ", ")) WHERE \(statements.keyCondition.sql)",
      changed.map { values[$0] } + statements.keyCondition.parameters(key))
  }
}

extension ReplicaConflict {
  /// The row, or the last version of a row that was deleted, with other values of some fields.
  ///
  /// - Throws: ``ReplicaError`` with code `unsuitable` if the table synchronizes no such column.
  fileprivate func changing(
    _ fields: Record, of current: Record?, in table: ReplicaTable
  ) throws -> Record {
    var record =
      current ?? remote ?? local ?? base
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
}
