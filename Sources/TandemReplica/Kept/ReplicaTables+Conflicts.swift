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
  /// - Parameter includesResolved: False for open ones only.
  package func conflicts(
    includingResolved includesResolved: Bool = false
  ) throws -> [ReplicaConflict] {
    try rows(
      """
      SELECT id, "table", "key", kind, base, "local", remote, resolution, fields
      FROM tandem_conflicts
      \(includesResolved ? "" : "WHERE resolution = 'unresolved'") ORDER BY id
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
    let open = try conflicts()
    guard let conflict = open.first(where: { $0.id == id }) else {
      throw ReplicaError(
        .unknownConflict, "there is no open conflict with the number \(id)")
    }
    let resolution = try close(conflict, by: choice, open.filter { $0.key == conflict.key })
      .resolution
    try write([resolution], namingConflict: false)
  }

  /// Resolves all open conflicts, in each field by the chosen version of the last one. Rows may exchange
  /// unique values.
  ///
  /// - Returns: Their number.
  /// - Throws: As ``resolve(conflict:by:)``; the message names the conflict.
  package func resolveConflicts(by choice: ConflictChoice) throws -> Int {
    // Until the end of the transaction: a row may come back before the one that it refers to.
    try run("PRAGMA defer_foreign_keys=ON", [])
    let open = try conflicts()
    let ofRecords = Dictionary(grouping: open, by: \.key)
    var closed: Set<Int64> = []
    var resolutions: [Resolution] = []
    // The fields of the conflicts that are newer.
    var newerFields: [SyncKey: Set<FieldName>] = [:]
    for conflict in open.reversed() where !closed.contains(conflict.id) {
      var (ids, resolution) = try close(conflict, by: choice, ofRecords[conflict.key] ?? [])
      closed.formUnion(ids)
      resolution.newerFields = newerFields[conflict.key] ?? []
      resolutions.append(resolution)
      newerFields[conflict.key, default: []].formUnion(
        (conflict.fields ?? []).map { FieldName($0) })
    }
    try write(resolutions, namingConflict: true)
    return open.count
  }

  /// Takes note that a conflict is resolved, and the older ones of its record in the same fields.
  ///
  /// - Parameter open: The open conflicts of the record.
  /// - Returns: The numbers of those that are resolved, and what to write.
  private func close(
    _ conflict: ReplicaConflict, by choice: ConflictChoice, _ open: [ReplicaConflict]
  ) throws -> (ids: [Int64], resolution: Resolution) {
    guard let table = try schema().table(named: conflict.key.table) else {
      throw ReplicaError(
        .unknownConflict,
        "conflict \(conflict.id): the table \(conflict.key.table) is not synchronized")
    }
    let resolution: ReplicaConflict.Resolution
    switch choice {
    case .remote: resolution = .remote
    case .local: resolution = .local
    case .base: resolution = .base
    case .record, .fields: resolution = .chosen
    }
    try close(conflict.id, resolution)
    let older = open.filter { $0.id < conflict.id && $0.isAbout(fieldsOf: conflict) }
    for older in older { try close(older.id, choice == .remote ? .remote : .chosen) }
    return (
      [conflict.id] + older.map(\.id),
      Resolution(conflict: conflict, choice: choice, table: table)
    )
  }

  private func close(_ id: Int64, _ resolution: ReplicaConflict.Resolution) throws {
    try run(
      "UPDATE tandem_conflicts SET resolution = ? WHERE id = ?",
      [.text(resolution.rawValue), .integer(id)])
  }

  /// Writes the versions that resolve conflicts, by ordinary edits.
  ///
  /// A resolution waits while another row still has its unique value. If more than half of the resolutions
  /// wait, rows may exchange values: they first get placeholder values that no other row has. This is not
  /// done in tables with triggers of the application, which would see the placeholders.
  ///
  /// - Parameter namesConflict: True if errors name the conflict.
  private func write(_ resolutions: [Resolution], namingConflict namesConflict: Bool) throws {
    var waiting = resolutions.filter { $0.choice != .remote }
    // First of all versions: a deletion of one row may delete others, which refer to it.
    for index in waiting.indices {
      do {
        waiting[index].former = try recordReplaced(by: waiting[index])
      } catch let error as ReplicaError {
        throw error.naming(waiting[index].conflict, if: namesConflict)
      }
    }
    let all = waiting
    // Since this one was written, deferred foreign keys are violated.
    var firstViolation: Resolution?
    var havePlaceholders = waiting.count < 2
    while !waiting.isEmpty {
      var refused: [(resolution: Resolution, error: DatabaseError)] = []
      for resolution in waiting {
        do {
          try write(resolution)
          firstViolation =
            connection.violatesDeferredKeys ? firstViolation ?? resolution : nil
        } catch let error as DatabaseError
          where error.isAboutUniqueness && connection.isInTransaction
        {
          refused.append((resolution, error))
        } catch let error as DatabaseError where error.forbidsRow {
          throw unaccepted(.resolution, resolution.conflict.key, error)
            .naming(resolution.conflict, if: namesConflict)
        } catch let error as ReplicaError {
          throw error.naming(resolution.conflict, if: namesConflict)
        }
      }
      if refused.count > waiting.count / 2 {
        let mayExchange =
          // A trigger must not see placeholders: it may forbid them, or write them down.
          try !havePlaceholders
          && refused.allSatisfy { try !connection.hasTriggers(on: $0.resolution.table.name) }
        if !mayExchange, let first = refused.first {
          throw unaccepted(.resolution, first.resolution.conflict.key, first.error)
            .naming(first.resolution.conflict, if: namesConflict)
        }
        for (resolution, _) in refused { try writePlaceholders(for: resolution) }
        havePlaceholders = true
      }
      // Rows that move by one place each are free of each other in one direction.
      waiting = refused.reversed().map(\.resolution)
    }
    if let firstViolation {
      let violation = try all.first(where: leavesOpenReference) ?? firstViolation
      throw unacceptedReference(.resolution, violation.conflict.key)
        .naming(violation.conflict, if: namesConflict)
    }
  }

  /// True if a resolution made a row refer to one that is not there, or took away a row that others refer to.
  private func leavesOpenReference(_ resolution: Resolution) throws -> Bool {
    let (table, key) = (resolution.table, resolution.conflict.key.id)
    let (former, present) = (resolution.former, try row(table, key).present)
    return try schema().foreignKeys.contains { foreignKey in
      if foreignKey.attachedChild === table, let present,
        foreignKey.reference(of: present, key) != nil,
        former.map({ !foreignKey.hasSameReference(present, $0, key) }) ?? true,
        try parents(foreignKey, of: present, key).isEmpty
      {
        return true
      }
      guard foreignKey.parent === table, let former,
        let values = foreignKey.values(of: former, key)
      else { return false }
      return try rows(foreignKey, replacedBy: former, key).isEmpty
        && !references(foreignKey, to: values).isEmpty
    }
  }

  /// Records the version of a row that a resolution replaces, if the row has changed since the conflict.
  ///
  /// - Returns: That version.
  private func recordReplaced(by resolution: Resolution) throws -> Record? {
    let conflict = resolution.conflict
    let present = try row(resolution.table, conflict.key.id).local
    let (chosen, fields) = try resolution.version(over: present)
    // A deletion replaces all fields.
    let replaced = chosen == nil ? nil : fields
    guard !present.hasSameStorage(as: conflict.remote, among: replaced),
      !present.hasSameStorage(as: chosen, among: replaced)
    else { return present }
    try recordReplaced(present, by: chosen, conflict)
    return present
  }

  /// Writes the version that resolves a conflict.
  private func write(_ resolution: Resolution) throws {
    let (conflict, table) = (resolution.conflict, resolution.table)
    let row = try row(table, conflict.key.id)
    let (chosen, _) = try resolution.version(over: row.local)
    let content = row.content(for: chosen)
    try store(content, over: row.row, table, conflict.key.id)
    try checkIsWritten(content, over: row.row, table, conflict.key)
  }

  /// Writes placeholders in the columns that a version changes, as far as the table accepts them.
  private func writePlaceholders(for resolution: Resolution) throws {
    let (table, key) = (resolution.table, resolution.conflict.key.id)
    let row = try row(table, key)
    guard case .values(let values) = row.row,
      let chosen = try resolution.version(over: row.local).chosen.map(table.values)
    else { return }
    // A row that refers to this one by the column would lose the reference to NULL.
    let isParent = try schema().foreignKeys.contains { $0.parent === table }
    var generator = SystemRandomNumberGenerator()
    for offset in values.indices where !values[offset].hasSameStorage(as: chosen[offset]) {
      let number = Int64.random(in: Int64.min ... -1 << 53, using: &generator)
      for value in [.text("tandem\(number)"), .integer(number)] + (isParent ? [] : [.null])
        as [FieldValue]
      {
        do {
          try run(table.update(of: [offset], to: [value]), key, [value])
          break
        } catch let error as DatabaseError where error.forbidsRow && connection.isInTransaction {}
      }
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
  func accepting(_ key: SyncKey, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as DatabaseError where error.forbidsRow {
      throw unaccepted(.retry, key, error)
    }
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
      "a trigger of the table \(table.name) prevents this version of \(key.idText) without an error; "
        + "nothing was changed. Drop the trigger, or change what it looks at, and try again")
  }

  /// What writes a version that a table may not accept.
  enum Attempt {
    case resolution, retry
  }

  /// The error of a version that violates a deferred foreign key, which SQLite reports at the end of the
  /// transaction, without the row.
  func unacceptedReference(_ attempt: Attempt, _ key: SyncKey) -> ReplicaError {
    // SQLITE_CONSTRAINT_FOREIGNKEY
    let error = DatabaseError(
      code: DatabaseError.Code(rawValue: 787), message: "FOREIGN KEY constraint failed",
      path: connection.path)
    return unaccepted(attempt, key, error)
  }

  private func unaccepted(
    _ attempt: Attempt, _ key: SyncKey, _ error: DatabaseError
  ) -> ReplicaError {
    let reason =
      error.isAboutUniqueness ? "another row has the same unique value" : "it forbids this row"
    return ReplicaError(
      .constraint,
      "the table \(key.table) does not accept this version of \(key.idText): \(reason) "
        + "(\(error.message)); nothing was changed. "
        + (attempt == .resolution
          ? "Change the rows that are in the way, or take other values"
          : "Change the rows that are in the way, or write the row yourself and discard the change")
    )
  }
}

/// The resolution of a conflict.
private struct Resolution {
  let conflict: ReplicaConflict
  let choice: ConflictChoice
  let table: ReplicaTable
  /// The fields that newer conflicts of the row decide.
  var newerFields: Set<FieldName> = []
  /// The version of the row before any of the resolutions is written.
  var former: Record?

  /// The version for the row, and the fields that are written; all if `nil`.
  func version(over present: Record?) throws -> (chosen: Record?, fields: [String]?) {
    var fields = conflict.fields
    var chosen: Record?
    switch choice {
    case .base: chosen = conflict.base
    case .local: chosen = conflict.local
    case .remote: chosen = present
    case .record(let record): (chosen, fields) = (record, nil)
    case .fields(let values):
      chosen = try conflict.changing(values, of: present, in: table)
      fields = values.layout.names
    }
    try conflict.checkColumns(of: chosen, among: fields, in: table)
    fields = fields?.filter { !newerFields.contains(FieldName($0)) }
    if let fields, let version = chosen, var current = present {
      // The other fields were merged, and may have changed since.
      for name in fields {
        current[field: FieldName(name)] = version[name].isNull ? nil : version[name]
      }
      chosen = current
    } else if let present, var version = chosen {
      for name in newerFields {
        version[field: name] = present[name.text].isNull ? nil : present[name.text]
      }
      chosen = version
    }
    return (chosen, fields)
  }
}

extension ReplicaError {
  fileprivate func naming(_ conflict: ReplicaConflict, if namesConflict: Bool) -> ReplicaError {
    namesConflict ? ReplicaError(code, "conflict \(conflict.id): \(message)") : self
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

extension Optional where Wrapped == Record {
  /// True if both are absent, or store the given fields identically; all fields if `nil`.
  fileprivate func hasSameStorage(as other: Record?, among names: [String]?) -> Bool {
    guard let names, let one = self, let other else { return hasSameStorage(as: other) }
    return names.allSatisfy { one[$0].hasSameStorage(as: other[$0]) }
  }
}
