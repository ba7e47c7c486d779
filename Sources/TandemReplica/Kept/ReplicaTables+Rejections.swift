internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

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

  /// Forgets a change that could not be synchronized. A record of the space stays noted until the
  /// table has it: without the note, the file would seem to be in step.
  ///
  /// - Throws: ``ReplicaError`` with code `unknownRejection`; with code `constraint` if it is a record
  ///   of the space.
  package func discard(rejection id: Int64) throws {
    guard let rejection = try rejections("id = \(id)").first else {
      throw ReplicaError(.unknownRejection, "there is no rejected change with the number \(id)")
    }
    guard rejection.kind != .record else {
      throw ReplicaError(
        .constraint,
        "the rejected change \(id) is a version of the space, which this file still lacks: "
          + "\(rejection.reason). Correct the table, or change the row in another copy")
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
  ///   with code `constraint` if the table does not accept it; with code `waitingCommit`.
  package func retry(rejection id: Int64) throws {
    try checkNoCommitWaits()
    let key = try makeAgain(id)
    if connection.violatesDeferredKeys { throw unacceptedReference(.retry, key) }
  }

  /// Throws while a commit waits for its outcome: the versions that it replaces are computed from what the file
  /// keeps beside its tables, which making a change again may alter.
  private func checkNoCommitWaits() throws {
    guard try outboxSummary() != nil else { return }
    throw ReplicaError(
      .waitingCommit,
      "a commit of this file waits for the answer of the space: synchronize first, then try the rejected "
        + "changes again; nothing was changed")
  }

  /// Makes a rejected change again, which may violate a deferred foreign key until others follow.
  ///
  /// - Returns: The identity of its record.
  private func makeAgain(_ id: Int64) throws -> SyncKey {
    guard let rejection = try rejections("id = \(id)").first,
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
    return rejection.key
  }

  /// Makes all rejected changes again that the tables accept, in the order in which they came. A change
  /// that depends on another one, as a row on its parent, follows it. Rows that refer to each other by
  /// deferred foreign keys are written together.
  ///
  /// - Returns: The number of changes.
  /// - Throws: The error of the first change if the tables accept none of them.
  package func retryRejections() throws -> Int {
    try checkNoCommitWaits()
    var waiting = try rejections("kind <> 'row'").map(\.id)
    var count = 0
    while !waiting.isEmpty {
      var refused = try retry(waiting, checkingKeys: true)
      if refused.count == waiting.count { refused = try retryTogether(refused) }
      count += waiting.count - refused.count
      if count == 0, let first = refused.first {
        throw ReplicaError(first.error.code, "rejected change \(first.id): \(first.error.message)")
      }
      // Without progress, a further pass has the same result.
      guard refused.count < waiting.count else { break }
      waiting = refused.map(\.id)
    }
    return count
  }

  /// A change that the tables do not accept.
  private struct RefusedChange {
    let id: Int64
    let error: ReplicaError
    /// True if nothing but a deferred foreign key forbids it.
    let violatesDeferredKey: Bool
  }

  /// Makes changes again; returns those that the tables do not accept.
  ///
  /// - Parameter checksKeys: False to leave the check of deferred foreign keys to the caller.
  private func retry(_ ids: [Int64], checkingKeys checksKeys: Bool) throws -> [RefusedChange] {
    var refused: [RefusedChange] = []
    for id in ids {
      var violatesKey = false
      do {
        try connection.savepoint {
          let key = try makeAgain(id)
          violatesKey = checksKeys && connection.violatesDeferredKeys
          if violatesKey { throw unacceptedReference(.retry, key) }
        }
      } catch let error as ReplicaError
        where [.constraint, .unsuitable, .unknownRejection].contains(error.code)
        && connection.isInTransaction
      {
        refused.append(RefusedChange(id: id, error: error, violatesDeferredKey: violatesKey))
      }
    }
    return refused
  }

  /// Makes changes again of which none is accepted alone: with deferred foreign keys, rows may refer to each
  /// other. Returns those that are not accepted; all of them if rows would still refer to rows that are
  /// not there.
  private func retryTogether(_ refused: [RefusedChange]) throws -> [RefusedChange] {
    guard refused.count(where: \.violatesDeferredKey) > 1 else { return refused }
    struct OpenReference: Error {}
    do {
      return try connection.savepoint {
        let rest = try retry(refused.map(\.id), checkingKeys: false)
        if connection.violatesDeferredKeys { throw OpenReference() }
        return rest
      }
    } catch is OpenReference {
      return refused
    }
  }

  /// Forgets all changes that could not be synchronized, except for records of the space.
  ///
  /// - Returns: The number of changes.
  package func discardRejections() throws -> Int {
    let count = try connection.integer(
      "SELECT count(*) FROM tandem_rejected WHERE kind <> 'record'")
    try run("DELETE FROM tandem_rejected WHERE kind <> 'record'", [])
    return Int(count ?? 0)
  }

  private func repeatEdit(_ rejection: ReplicaRejection, in table: ReplicaTable) throws {
    let (key, version) = (rejection.key, rejection.content)
    let row = try row(table, key.id)
    var merging = try storedMerging().merging(of: table.name)
    merging.record = .keepLocal
    // Later edits of other fields stay, whatever the granularity is.
    let merge = RowMerge(
      base: rejection.base, local: version, remote: row.local, .field, merging)
    if row.base == nil, row.parked == nil {
      let fields = merge.result.flatMap(table.unstorableFields)
      try park(fields.map { ParkedFields(fields: $0, extent: .fields) }, key)
    } else if let result = merge.result {
      try table.checkColumns(
        result.layout.names.filter { name in
          !(row.local.map { $0[name].hasSameStorage(as: result[name]) } ?? result[name].isNull)
        })
    }
    let content = row.content(for: merge.result)
    try accepting(key) {
      try store(content, over: row.row, table, key.id, others: rejection.others)
    }
    try checkIsWritten(content, over: row.row, table, key)
    if !row.row.isMissing { try restore(rejection.others, table, key.id, isNew: false) }
    if let conflict = merge.conflict {
      try record(
        conflict.versions, conflict.resolution, key, fields: conflict.fields,
        version: try state().revision?.version ?? 0)
    }
  }

  /// Gives a row the space's version that its table did not accept before.
  private func placeParked(_ rejection: ReplicaRejection, in table: ReplicaTable) throws {
    let key = rejection.key
    guard let parked = try parked(key), let reason = parked.reason else {
      throw ReplicaError(
        .unknownRejection,
        "the rejected record \(rejection.id) has changed since: synchronize")
    }
    guard table.keeps(key: key.id) else {
      throw ReplicaError(.constraint, "\(rejection.reason); change the type of the column first")
    }
    try withoutSilencedTriggers {
      var placing = RowPlacing(
        self, firesTriggers: try foreignTriggers().areOnTables,
        foreignKeys: try schema().foreignKeys)
      try placing.placeSetAside(key)
    }
    guard try self.parked(key)?.reason != nil else { return }
    throw ReplicaError(
      .constraint,
      "the table \(table.name) still does not accept \(key.idText): \(reason); "
        + "change its constraint, or the row in another copy")
  }

  /// Notes a change from one version to another that was taken out of its row.
  ///
  /// Call it while the former version of the row is there, and before the row is deleted: columns
  /// that are not synchronized are kept with it.
  func reject(
    _ key: SyncKey, _ reason: String, _ content: Record?, from base: Record?, others: Record? = nil
  ) throws {
    let others =
      try others ?? schema().table(named: key.table).flatMap { try otherValues($0, key.id) }
    try note(.edit, key, reason, from: base, content, others: others)
  }

  /// Notes a change that is still in its row and cannot be sent.
  func noteRow(_ key: SyncKey, _ reason: String) throws { try note(.row, key, reason, nil) }

  /// Notes a version of the space that the table does not accept; `nil` if the row has it, or there is
  /// none any more.
  func noteParked(_ parked: ParkedFields?, _ key: SyncKey) throws {
    try run(
      "DELETE FROM tandem_rejected WHERE \"table\" = ? AND \"key\" = ? AND kind = 'record'",
      [.text(key.table), .text(key.idText)])
    guard let parked, let reason = parked.reason else { return }
    switch parked.extent {
    case .record: try note(.record, key, "this file has no row for it: \(reason)", parked.fields)
    case .fields:
      try note(.record, key, "the row has other values of these fields: \(reason)", parked.fields)
    case .deletion:
      try note(.record, key, "the space has deleted it, the row is still here: \(reason)", nil)
    }
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
    // A change that is still in its row, or a version of the space, is noted once. Two equal edits are two.
    if kind != .edit {
      let known = try rows(
        """
        SELECT 1 FROM tandem_rejected
        WHERE "table" = ? AND "key" = ? AND reason = ? AND content IS ? AND kind = ? AND base IS ?
          AND others IS ?
        """, entry)
      guard known.isEmpty else { return }
    }
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
