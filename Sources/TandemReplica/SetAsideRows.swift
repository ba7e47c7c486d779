internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

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
        base: try record(row[4], of: "tandem_conflicts"),
        local: try record(row[5], of: "tandem_conflicts"),
        remote: try record(row[6], of: "tandem_conflicts"), resolution: resolution)
    }
  }

  private func fieldNames(_ value: FieldValue) throws -> [String]? {
    guard case .text(let text) = value else { return nil }
    guard let values = try? SyncMessageReader(limits: .unlimited).id(Array(text.utf8)) else {
      throw ReplicaError.damaged("tandem_conflicts", connection.path)
    }
    return values.compactMap { if case .text(let name) = $0 { name } else { nil } }
  }

  /// Resolves an open conflict by an ordinary edit of its row, which the next commit contains. Only
  /// the fields in conflict are written.
  ///
  /// The remote version is in the row already, or was replaced by a later edit: the row stays as it
  /// is. Another version replaces the row as it is now. If the row has changed since the conflict, the
  /// version that is replaced is recorded as another conflict, which is resolved.
  ///
  /// Older open conflicts of the record in the same fields are resolved too.
  ///
  /// - Throws: ``ReplicaError`` with code `unknownConflict`; with code `unsuitable` if the version
  ///   needs a column that the table no longer has; with code `constraint` if the table does not
  ///   accept the version.
  package func resolve(conflict id: Int64, by choice: ConflictChoice) throws {
    let open = try conflicts(isOpen: true)
    guard let conflict = open.first(where: { $0.id == id }),
      let table = try schema().table(named: conflict.key.table)
    else {
      throw ReplicaError(
        .unknownConflict, "there is no open conflict with the number \(id)")
    }
    let resolution: ReplicaConflict.Resolution
    switch choice {
    case .remote: resolution = .remote
    case .local: resolution = .local
    case .base, .record, .fields: resolution = .merged
    }
    if choice != .remote { try write(choice, of: conflict, in: table) }
    try close(id, resolution)
    for older in open where older.id < id && older.key == conflict.key {
      if older.isAbout(fieldsOf: conflict) {
        try close(older.id, choice == .remote ? .remote : .merged)
      }
    }
  }

  private func close(_ id: Int64, _ resolution: ReplicaConflict.Resolution) throws {
    try run(
      "UPDATE tandem_conflicts SET resolution = ? WHERE id = ?",
      [.text(resolution.rawValue), .integer(id)])
  }

  /// Writes the version that resolves a conflict.
  private func write(
    _ choice: ConflictChoice, of conflict: ReplicaConflict, in table: ReplicaTable
  ) throws {
    let row = try row(table, conflict.key.id)
    let present = row.local
    var fields = conflict.fields
    var chosen: Record?
    switch choice {
    case .base: chosen = conflict.base
    case .local: chosen = conflict.local
    case .remote: return
    case .record(let record): (chosen, fields) = (record, nil)
    case .fields(let values):
      chosen = try conflict.changing(values, of: present, in: table)
      fields = values.layout.names
    }
    try conflict.checkColumns(of: chosen, among: fields, in: table)
    if let fields, let version = chosen, var current = present {
      // The other fields were merged, and may have changed since.
      for name in fields {
        current[field: FieldName(name)] = version[name].isNull ? nil : version[name]
      }
      chosen = current
    }
    if !present.hasSameStorage(as: conflict.remote, among: fields),
      !present.hasSameStorage(as: chosen, among: fields)
    {
      try recordReplaced(present, by: chosen, conflict)
    }
    try accepting("--take", conflict.key) {
      try store(chosen, over: row.row, table, conflict.key.id)
    }
  }

  /// Records the version of a row that changed after a conflict, and that its resolution replaces.
  private func recordReplaced(
    _ present: Record?, by chosen: Record?, _ conflict: ReplicaConflict
  ) throws {
    let versions =
      MergeConflict(base: conflict.remote, local: chosen, remote: present)
      ?? present.map { .deleteEdit(base: $0, remote: $0) }
    guard let versions else { return }
    try record(
      versions, .local, conflict.key, fields: conflict.fields,
      version: try state().revision?.version ?? 0)
  }

  /// Runs `body`, which writes a row as a person asked for, and words the error of a constraint.
  private func accepting(_ option: String, _ key: SyncKey, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as DatabaseError where error.forbidsRow {
      let reason =
        error.isAboutUniqueness ? "another row has the same unique value" : "it forbids this row"
      throw ReplicaError(
        .constraint,
        "the table \(key.table) does not accept this version of \(key.idText): \(reason) "
          + "(\(error.message)); nothing was changed. "
          + (option == "--take"
            ? "Change the rows that are in the way, or take other values"
            : "Change the rows that are in the way, or write the row yourself and discard the change")
      )
    }
  }
}

// MARK: - Rejected changes

extension ReplicaTables {
  /// The changes that could not be synchronized, in the order in which they came.
  package func rejections() throws -> [ReplicaRejection] { try rejections("TRUE") }

  private func rejections(_ condition: String) throws -> [ReplicaRejection] {
    try rows(
      """
      SELECT id, "table", "key", kind, reason, base, content, others FROM tandem_rejected
      WHERE \(condition) ORDER BY id
      """
    ).map { row in
      guard case .integer(let id) = row[0], case .text(let table) = row[1],
        case .text(let keyText) = row[2], case .text(let kindText) = row[3],
        case .text(let reason) = row[4], let kind = ReplicaRejection.Kind(rawValue: kindText),
        let key = try? SyncMessageReader(limits: .unlimited).id(Array(keyText.utf8))
      else { throw ReplicaError.damaged("tandem_rejected", connection.path) }
      return ReplicaRejection(
        id: id, key: SyncKey(table: table, id: key), kind: kind, reason: reason,
        base: try record(row[5], of: "tandem_rejected"),
        content: try record(row[6], of: "tandem_rejected"),
        others: try record(row[7], of: "tandem_rejected"))
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

  /// Makes a rejected change again, as an ordinary edit of its row, and forgets the rejection.
  ///
  /// The change is merged with the row as it is now: only the fields that it changed are written. If
  /// the row has another new value in one of them, that version is recorded as a conflict, which is
  /// resolved. A record of the space that had no row gets one.
  ///
  /// - Throws: ``ReplicaError`` with code `unknownRejection` if there is none of that number or it is
  ///   still in its row; with code `unsuitable` if it needs a column that the table no longer has;
  ///   with code `constraint` if the table does not accept it.
  package func retry(rejection id: Int64) throws {
    guard let rejection = try rejections().first(where: { $0.id == id }),
      let table = try schema().table(named: rejection.key.table)
    else {
      throw ReplicaError(.unknownRejection, "there is no rejected change with the number \(id)")
    }
    switch rejection.kind {
    case .row:
      throw ReplicaError(
        .unknownRejection,
        "the rejected change \(id) is still in its row: correct the row, and synchronize")
    case .edit: try repeatEdit(rejection, in: table)
    case .record: try placeParked(rejection, in: table)
    }
    try run("DELETE FROM tandem_rejected WHERE id = ?", [.integer(id)])
  }

  private func repeatEdit(_ rejection: ReplicaRejection, in table: ReplicaTable) throws {
    let (key, version) = (rejection.key, rejection.content)
    let row = try row(table, key.id)
    var merging = try storedMerging().merging(of: table.name)
    merging.record = .keepLocal
    let merge = RowMerge(
      base: rejection.base, local: version, remote: row.local, table.declaration.granularity,
      merging)
    if row.base == nil, row.parked == nil {
      let fields = merge.result.flatMap(table.unstorableFields)
      try park(fields.map { ParkedFields(fields: $0, isWhole: false) }, key)
    } else if let result = merge.result {
      try table.checkColumns(
        result.layout.names.filter { name in
          !(row.local.map { $0[name].hasSameStorage(as: result[name]) } ?? result[name].isNull)
        })
    }
    try accepting("--retry", key) {
      try store(merge.result, over: row.row, table, key.id, others: rejection.others)
    }
    if let conflict = merge.conflict {
      try record(
        conflict.versions, conflict.resolution, key, fields: conflict.fields,
        version: try state().revision?.version ?? 0)
    }
  }

  /// Writes a record into its table that did not accept it before.
  private func placeParked(_ rejection: ReplicaRejection, in table: ReplicaTable) throws {
    let key = rejection.key
    let row = try row(table, key.id)
    guard let parked = row.parked, parked.isWhole, case .missing = row.row else {
      throw ReplicaError(
        .unknownRejection,
        "the record of the rejection \(rejection.id) has a row now: synchronize")
    }
    guard table.keeps(key: key.id) else {
      throw ReplicaError(.constraint, "\(rejection.reason); change the type of the column first")
    }
    var placing = RowPlacing(self, firesTriggers: true, foreignKeys: [])
    try placing.place(
      RowPlacement(
        table: table, key: key.id, row: row, remote: parked.fields, result: parked.fields))
    try placing.finish()
    guard try self.row(table, key.id).row.isMissing else { return }
    throw ReplicaError(
      .constraint,
      "the table \(table.name) still does not accept \(key.idText): \(parked.reason ?? ""); "
        + "change its constraint, or the row in another copy")
  }

  /// Notes a change that was taken out of its row, with the record as it was.
  ///
  /// Call it while the former version of the row is there, and before the row is deleted: columns
  /// that are not synchronized are kept with it.
  func reject(
    _ key: SyncKey, _ reason: String, _ content: Record?, others: Record? = nil
  ) throws {
    let base = try schema().table(named: key.table).flatMap { try row($0, key.id).base }
    // A row without edits that has to go is written as a whole when it comes back.
    try reject(
      key, reason, content, from: base.hasSameStorage(as: content) ? nil : base, others: others)
  }

  /// Notes a change from one version to another that was taken out of its row.
  func reject(
    _ key: SyncKey, _ reason: String, _ content: Record?, from base: Record?, others: Record? = nil
  ) throws {
    let others =
      try others ?? schema().table(named: key.table).flatMap { try otherValues($0, key.id) }
    try note(.edit, key, reason, from: base, content, others: others)
  }

  /// Notes a change that is still in its row and cannot be sent.
  func noteRow(_ key: SyncKey, _ reason: String) throws { try note(.row, key, reason, nil) }

  /// Notes a record of the space that its table does not accept; `nil` if it has a row, or no longer
  /// exists.
  func noteParked(_ fields: Record?, _ reason: String?, _ key: SyncKey) throws {
    try run(
      "DELETE FROM tandem_rejected WHERE \"table\" = ? AND \"key\" = ? AND kind = 'record'",
      [.text(key.table), .text(key.idText)])
    guard let fields, let reason else { return }
    try note(.record, key, "this file has no row for it: \(reason)", fields)
  }

  private func note(
    _ kind: ReplicaRejection.Kind, _ key: SyncKey, _ reason: String, from base: Record? = nil,
    _ content: Record?, others: Record? = nil
  ) throws {
    let texts = [base, content, others].map { $0.map { FieldValue.text($0.text) } ?? .null }
    let entry: [FieldValue] = [
      .text(key.table), .text(key.idText), .text(reason), texts[1], .text(kind.rawValue), texts[0],
      texts[2],
    ]
    let known = try rows(
      """
      SELECT 1 FROM tandem_rejected
      WHERE "table" = ? AND "key" = ? AND reason = ? AND content IS ?
      """, Array(entry.prefix(4)))
    guard known.isEmpty else { return }
    // Numbers of changes that were discarded are not used again.
    try run("UPDATE tandem_state SET last_rejection = last_rejection + 1", [])
    try run(
      """
      INSERT INTO tandem_rejected (id, "table", "key", reason, content, kind, base, others)
      VALUES ((SELECT last_rejection FROM tandem_state), ?, ?, ?, ?, ?, ?, ?)
      """, entry)
  }

  /// Forgets the notes on rows whose changes have been sent, undone or replaced. A replaced version
  /// is kept as a conflict.
  func pruneNotes() throws {
    for note in try rejections("kind = 'row'") {
      guard let table = try schema().table(named: note.key.table) else { continue }
      let isTouched = table.keyNames.map { name in
        "\(name.sqlQuoted) IN (?, +CAST(? AS TEXT))"
      }.joined(separator: " AND ")
      let found = try rows(
        "SELECT 1 FROM \(table.shadow.name.sqlQuoted) WHERE \(isTouched)",
        note.key.id.flatMap { [$0, $0] })
      if found.isEmpty {
        try run("DELETE FROM tandem_rejected WHERE id = ?", [.integer(note.id)])
      }
    }
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
  fileprivate func isAbout(fieldsOf later: ReplicaConflict) -> Bool {
    guard let others = later.fields else { return true }
    return fields?.allSatisfy(others.contains) ?? false
  }
}

extension ReplicaTable {
  /// Throws if a column that is to be written is not synchronized.
  fileprivate func checkColumns(_ names: [String]) throws {
    let missing = names.filter { layout.offset(of: $0) == nil }
    guard missing.isEmpty else {
      throw ReplicaError(
        .unsuitable,
        "the table \(name) no longer has the column \(missing.joined(separator: ", ")) of this "
          + "version; add it again, or choose values of other columns. Nothing was changed")
    }
  }
}

extension Optional where Wrapped == Record {
  /// True if both are absent, or store the given fields identically; all fields if `nil`.
  fileprivate func hasSameStorage(as other: Record?, among names: [String]?) -> Bool {
    guard let names, let one = self, let other else { return hasSameStorage(as: other) }
    return names.allSatisfy { one[$0].hasSameStorage(as: other[$0]) }
  }
}
