internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
package import TandemSync

extension ReplicaTables {
  /// A part of the commit that waits for an outcome; `nil` if none does, or it has fewer parts.
  package func outbox(part number: Int) throws -> SyncCommit? {
    // The number of the part is the identity of its row.
    let row = try rows(
      "SELECT message, (SELECT count(*) FROM tandem_outbox) FROM tandem_outbox WHERE rowid = ?",
      [.integer(Int64(number))]
    ).first
    guard let row else { return nil }
    guard case .blob(let bytes) = row[0], let count = row[1].integerValue, number <= count else {
      throw ReplicaError.damaged("tandem_outbox", connection.path)
    }
    var part = try Self.frozenPart(bytes, path: connection.path)
    (part.part, part.of) = (number, count)
    return part
  }

  /// The identity of the commit that waits for an outcome, and the numbers of its changes and parts.
  func outboxSummary() throws -> SyncSummary.Outbox? {
    let rows = try rows("SELECT id, sum(change_count), count(*) FROM tandem_outbox GROUP BY id")
    guard let row = rows.first else { return nil }
    guard rows.count == 1, case .text(let text) = row[0], let id = SyncToken(text),
      let count = row[1].integerValue, let partCount = row[2].integerValue
    else { throw ReplicaError.damaged("tandem_outbox", connection.path) }
    return SyncSummary.Outbox(commit: id, changeCount: count, partCount: partCount)
  }

  /// The part of a commit whose message was frozen. Each is stored as a commit of one part.
  static func frozenPart(_ message: [UInt8], path: String) throws(ReplicaError) -> SyncCommit {
    guard let commit = try? SyncMessageReader(limits: .unlimited).commit(message) else {
      throw .damaged("tandem_outbox", path)
    }
    return commit
  }

  /// Makes a commit of the difference between rows and shadows, and stores it as the outbox.
  ///
  /// The shadows of its rows are set aside. From now on, the triggers keep the frozen version of a
  /// row that changes again. The commit has parts if it is too long for one message. If there are more
  /// changes than the limits of all parts allow, the commit has some of them: additions and updates first,
  /// parents before children, then deletions, children before parents; within a table in the order of keys.
  /// If tables refer to themselves, or to each other, the order is that of their rows (``RowOrder``).
  ///
  /// A row that no message can hold stays as it is, and is noted in `tandem_kept`.
  ///
  /// - Returns: False if there is nothing to send, if a pull has to come first, or if a commit waits for
  ///   its outcome.
  package func freeze(
    _ merging: ReplicaMerging, limits: SyncLimits = SyncLimits(),
    using generator: inout some RandomNumberGenerator
  ) throws -> Bool {
    let schema = try schema()
    let state = try state()
    guard let base = state.revision, state.pullNeed == .none, try outboxSummary() == nil else {
      return false
    }
    numbers = try storedNumbers(schema)
    defaults = try spaceDefaults(schema)
    guard try !hasTakenNumbers(schema, numbers) else {
      // The pull gives these rows other numbers.
      try requirePull()
      return false
    }
    let merging = try addingUnits(to: merging, schema)
    // A page that arrived before this commit cannot be applied after it.
    try discardStaged()
    let sequence = state.sequence + 1
    let commit = SyncCommit(
      replica: state.replica, sequence: sequence, id: .random(using: &generator), base: base,
      changes: [])
    let empty = CommitDraft(commit, limits, try indexClaims(schema)) { changeCount, message in
      try self.run(
        "INSERT INTO tandem_outbox (id, change_count, message) VALUES (?, ?, ?)",
        [.text(commit.id.description), .integer(Int64(changeCount)), .blob(message)])
      self.frozenMessage = message
    }
    var draft = empty
    try readingRows {
      try reviveNeeded(schema)
      for table in schema.tables {
        try touchDroppedEdits(of: table, merging.merging(of: table.name))
      }
      do {
        try connection.savepoint {
          let rests = try freezeByTable(schema, merging, into: &draft)
          // Rows that refer to one which stays have to stay too.
          let areNeeded = schema.foreignKeys.contains {
            $0.attachedChild != nil && rests.contains($0.parent.name)
          }
          if draft.isClosed && schema.hasCycles || areNeeded { throw RowOrder.Needed() }
        }
      } catch is RowOrder.Needed {
        draft = try RowOrder.freeze(schema, merging, empty, in: self)
      }
    }
    try pruneNotes()
    try addUnreportedVersions(in: sequence, merging, to: &draft)
    try draft.finish()
    if draft.storedCount != 1 { frozenMessage = nil }
    return draft.storedCount > 0
  }

  /// - Returns: The names of the tables with rows that cannot be sent.
  private func freezeByTable(
    _ schema: ReplicaSchema, _ merging: ReplicaMerging, into draft: inout CommitDraft
  ) throws -> Set<String> {
    var rests: Set<String> = []
    for table in schema.parentsFirst where !draft.isClosed {
      let isGapless = try freeze(
        table, .present, merging.merging(of: table.name), into: &draft)
      if !isGapless { rests.insert(table.name) }
    }
    for table in schema.parentsFirst.reversed() where !draft.isClosed {
      try freeze(
        table, .missing, merging.merging(of: table.name),
        isGapless: !rests.contains(table.name), into: &draft)
    }
    return rests
  }

  /// Revives rows that the space deleted and that are still here, if local edits refer to them.
  private func reviveNeeded(_ schema: ReplicaSchema) throws {
    var deletions: [RowPlacement] = []
    for key in try parkedKeys("is_whole = \(ParkedFields.Extent.deletion.rawValue)") {
      guard let table = schema.table(named: key.table) else { continue }
      let row = try row(table, key.id)
      if row.local == nil {
        deletions.append(
          RowPlacement(table: table, key: key.id, row: row, remote: nil, result: nil))
      }
    }
    guard !deletions.isEmpty else { return }
    var decision = DeletionDecision(deletions, self, schema)
    try decision.decide()
    for (deletion, fate) in zip(deletions, decision.fates) where fate == .revived {
      guard let record = deletion.row.present else { continue }
      try setShadow(.absent, deletion.table, deletion.key)
      let fields = deletion.row.parked?.fields
      try park(
        fields.flatMap {
          $0.layout.names.isEmpty ? nil : ParkedFields(fields: $0, extent: .fields)
        }, deletion.syncKey)
      try self.record(
        .editDelete(base: record, local: record), .local, deletion.syncKey)
    }
  }

  /// Freezes the changes of one table's rows, as far as the commit has room.
  ///
  /// - Parameters:
  ///   - presence: The rows that are there, or those that were deleted.
  ///   - isGapless: False if changes of the other rows stay.
  /// - Returns: True if each of the rows up to the last frozen one is frozen, or has not changed.
  @discardableResult
  func freeze(
    _ table: ReplicaTable, _ presence: RowPresence, _ merging: TableMerging,
    isGapless: Bool = true, into draft: inout CommitDraft
  ) throws -> Bool {
    var frozen: [[FieldValue]] = []
    var isGapless = isGapless
    var unchanged: [[FieldValue]] = []
    let hasUnreadable = try forEachTouchedRow(table, presence) { key, row in
      switch try add(row, key, merging, to: &draft) {
      case .frozen: frozen.append(key)
      case .unchanged: unchanged.append(key)
      case .stays: isGapless = false
      case .full: draft.close()
      }
      return !draft.isClosed
    }
    for key in unchanged { try setShadow(nil, table, key) }
    if hasUnreadable {
      isGapless = false
      try noteUnreadableKeys(of: table, presence)
    }
    if presence == .present, isGapless, let last = frozen.last {
      let hasMissing = try connection.withStatement(table.statements.hasMissingUpTo) {
        statement throws(DatabaseError) in
        try statement.bind(last)
        guard try statement.step() else { return false }
        return try statement.value(at: 0) == 1
      }
      try setAside(table, frozen, isGapless: !hasMissing, isAll: false)
    } else {
      try setAside(table, frozen, isGapless: isGapless, isAll: isGapless && !draft.isClosed)
    }
    return isGapless
  }

  /// What becomes of a row that may have changed.
  enum RowFate {
    /// The draft has its change. Its former version is to be set aside.
    case frozen
    /// It has not changed. Its former version is to be forgotten.
    case unchanged
    /// No message can hold it, which is noted.
    case stays
    /// The draft has no room for it.
    case full
  }

  /// Adds the change of a row to a draft.
  ///
  /// - Parameter first: The record to insert first, in place of that of the row.
  func add(
    _ row: ReplicaRow, _ key: [FieldValue], _ merging: TableMerging,
    inserting first: Record? = nil, to draft: inout CommitDraft
  ) throws -> RowFate {
    let syncKey = row.table.syncKey(key)
    let row = row.with(units: merging.units)
    guard var change = try sendableChange(of: row, key, merging) else { return .stays }
    if let first {
      change.verbs = [.insert(first.completed(by: defaults[row.table.name]).withoutNulls)]
    }
    if change.verbs.isEmpty, row.base != nil, row.unseen == nil, change.result != nil,
      draft.claims.pending.contains(FieldName(row.table.name))
    {
      // The row has not changed, and its value in an index is not stated.
      change.verbs = [.update([:])]
    }
    guard !change.verbs.isEmpty else {
      try change.conflict.map { try record($0, syncKey) }
      if row.unseen != nil {
        if row.row.isMissing {
          try parkDeleted(row, syncKey)
        } else {
          // The row lacks more of the version than before, if edits of other fields lost too.
          try unpark(row.asBase, syncKey, change.result)
        }
      }
      // The row is gone, as in the space.
      if row.parked?.isDeletion ?? false, row.row.isMissing { try park(nil, syncKey) }
      return .unchanged
    }
    let changes = try change.verbs.map { verb in
      SyncChange(
        key: syncKey, verb: verb, claims: try draft.claims.claims(of: verb, syncKey, change.result),
        revives: revives(syncKey, verb))
    }
    switch try draft.add(changes) {
    case .tooLarge:
      try noteRow(syncKey, "the record is longer than \(draft.limits.maxRecordByteCount) bytes")
      return .stays
    case .full: return .full
    case .added:
      try change.conflict.map { try record($0, syncKey) }
      return .frozen
    }
  }

  /// A change that is to be sent.
  private struct SendableChange {
    /// The verbs; empty if there is no change.
    var verbs: [SyncChange.Verb]
    /// The record that the space has afterwards.
    var result: Record?
    /// The conflict with a version of the space that the row never had.
    var conflict: RowMerge.Conflict?
  }

  /// The change of a row; `nil` if no message can hold it, which is noted.
  private func sendableChange(
    of row: ReplicaRow, _ key: [FieldValue], _ merging: TableMerging
  ) throws -> SendableChange? {
    let syncKey = row.table.syncKey(key)
    guard !row.isUnreadable else {
      try noteRow(syncKey, "a text is not UTF-8; store it as a blob, or repair it")
      return nil
    }
    var local = try addingDroppedEdits(to: row, key, merging)
    var conflict: RowMerge.Conflict?
    if let unseen = row.unseen {
      // The space's version cannot be in the row, so a conflict cannot leave it there and stay open.
      var merging = merging
      // What a column shows in place of a value of another type is no value of the space.
      merging.record =
        row.showsAlteredValuesBesideEdits ? .keepRemote : merging.record.then(.keepLocal)
      let merge = RowMerge(
        base: row.seenBase, local: local, remote: unseen.version,
        row.table.declaration.granularity, merging)
      (local, conflict) = (merge.result, merge.conflict)
    } else if row.parked?.isDeletion ?? false, let local {
      conflict = RowMerge.Conflict(.editDelete(base: local, local: local), .local)
    }
    if row.base == nil { local = local?.completed(by: defaults[row.table.name]) }
    let verbs = RowDifference(base: row.base, local: local, merging).verbs
    // Without a change, such as of a row that is gone again, nothing needs a message.
    guard verbs.isEmpty || RecordEncoding.byteCount(of: syncKey) <= SyncLimits.maxKeyByteCount
    else {
      try noteRow(syncKey, "the key is longer than \(SyncLimits.maxKeyByteCount) bytes")
      return nil
    }
    return SendableChange(verbs: verbs, result: local, conflict: conflict)
  }

  /// Keeps the version of the space beside the table whose row was deleted before it could have it.
  private func parkDeleted(_ row: ReplicaRow, _ key: SyncKey) throws {
    guard let version = row.base else { return }
    try park(
      ParkedFields(fields: version, extent: .record, reason: row.parked?.reason), key)
  }

  /// Sets the former versions of frozen rows aside.
  ///
  /// - Parameters:
  ///   - isGapless: True if no other row up to the last of them has a former version.
  ///   - isAll: True if no other row has one.
  private func setAside(
    _ table: ReplicaTable, _ keys: [[FieldValue]], isGapless: Bool, isAll: Bool
  ) throws {
    let statements = table.statements
    guard let last = keys.last else { return }
    if isAll {
      try run(statements.setAllAside)
      try run(statements.deleteShadows)
    } else if isGapless {
      try run(statements.setAsideUpTo, last)
      try run(statements.deleteShadowsUpTo, last)
    } else {
      for key in keys {
        try run(statements.setAside, key)
        try setShadow(nil, table, key)
      }
    }
  }

  /// Adds the versions that merges overruled and no commit has reported; they are reported in the
  /// given commit. One that is too long for a message stays in `tandem_kept` alone.
  private func addUnreportedVersions(
    in sequence: Int, _ merging: ReplicaMerging, to draft: inout CommitDraft
  ) throws {
    let found = try rows(
      """
      SELECT id, "table", "key", base, "local", remote, resolution, version FROM tandem_kept
      WHERE reported_in IS NULL ORDER BY id LIMIT \(draft.limits.maxCommitChangeCount)
      """)
    for row in found {
      guard case .text(let table) = row[1], case .text(let idText) = row[2],
        case .integer(let version) = row[7],
        let id = try? SyncMessageReader(limits: .unlimited).id(Array(idText.utf8))
      else { throw ReplicaError.damaged("tandem_kept", connection.path) }
      let versions = try (3...5).map { try record(row[$0], of: "tandem_kept") }
      let (base, local, remote) = (versions[0], versions[1], versions[2])
      let overruled =
        switch row[6] {
        case "local": [remote]
        case "remote": [local]
        default:
          try schema().table(named: table)?.overruled(base, local, remote, merging) ?? [local]
        }
      for fields in overruled {
        let state = SyncRecordState(
          key: SyncKey(table: table, id: id), version: Int(clamping: version), fields: fields)
        if case .full = try draft.add(overruled: state) { return }
      }
      try run(
        "UPDATE tandem_kept SET reported_in = ? WHERE id = ?",
        [.integer(Int64(sequence)), row[0]])
    }
  }
}

extension ReplicaTable {
  /// The versions that lost a field when fields were merged, each by the rule for it.
  fileprivate func overruled(
    _ base: Record?, _ local: Record?, _ remote: Record?, _ merging: ReplicaMerging
  ) -> [Record?] {
    let merge = RowMerge(
      base: base, local: local, remote: remote, declaration.granularity,
      merging.merging(of: name))
    guard let local, let remote, let result = merge.result else { return [local] }
    let names = Set(local.layout.names + remote.layout.names).filter { name in
      !local[name].hasSameStorage(as: remote[name])
    }
    func hasLost(_ version: Record) -> Bool {
      names.contains { name in
        let isEdited = base.map { !$0[name].hasSameStorage(as: version[name]) } ?? true
        let other = (version.hasSameStorage(as: local) ? remote : local)[name]
        return isEdited && !version[name].hasSameStorage(as: result[name])
          && other.hasSameStorage(as: result[name])
      }
    }
    let losers = [local, remote].filter(hasLost)
    return losers.isEmpty ? [local] : losers
  }
}

extension SyncLimits {
  /// The limits for messages that Tandem itself has stored.
  static var unlimited: SyncLimits {
    SyncLimits(
      maxRecordByteCount: 1 << 40, maxCommitByteCount: 1 << 40, maxCommitChangeCount: 1 << 40,
      maxPageByteCount: 1 << 40, maxPageChangeCount: 1 << 40)
  }
}
