internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
package import TandemSync

extension ReplicaTables {
  /// Takes note of the outcome of the commit in the outbox. Without a commit there, this does
  /// nothing: another process has settled it.
  ///
  /// The connection must not enforce foreign keys.
  ///
  /// - Parameter commit: The identity of the commit that the outcome is for.
  package func settle(
    _ outcome: SyncOutcome, of commit: SyncToken, using generator: inout some RandomNumberGenerator
  ) throws {
    // First, because it may change the state.
    _ = try schema()
    guard try outboxSummary()?.commit == commit, let pending = try outbox(part: 1) else { return }
    var state = try state()
    try readingRows { try settle(outcome, of: pending, &state, using: &generator) }
    try save(state)
    try pruneKeptEdits()
  }

  /// - Parameter pending: The first part of the commit.
  private func settle(
    _ outcome: SyncOutcome, of pending: SyncCommit, _ state: inout ReplicaState,
    using generator: inout some RandomNumberGenerator
  ) throws {
    switch outcome {
    case .accepted(let revision, let digest):
      state.sequence = pending.sequence
      try forgetWithdrawn()
      try accept(pending, revision, digest, &state)
    case .conflict:
      state.sequence = pending.sequence
      try forgetWithdrawn()
      try takeBack()
      if state.pullNeed == .none || state.pullNeed == .changes { state.pullNeed = .conflict }
    case .refused(let objections):
      state.sequence = pending.sequence
      try forgetWithdrawn()
      // Another copy has declared an index, which the next commit knows.
      let faults = try indexClaims(schema()).faults
      let unclaimed = objections.filter {
        $0.reason == .unclaimed && faults[FieldName($0.key.table)] == nil
      }
      if !unclaimed.isEmpty, state.pullNeed == .none || state.pullNeed == .changes {
        state.pullNeed = .conflict
      }
      try save(state)
      let (reverted, insertions) = try reverted(
        objections.filter { !unclaimed.contains($0) }, of: pending)
      try takeBack()
      try place(reverted)
      try joinSame(insertions)
    case .sequence(let last, nil) where try last == pending.sequence && hasWithdrawn():
      // A withdrawn commit may have the sequence. The pull shows it.
      try takeBack()
      state.requirePull()
    case .sequence(_, let fate):
      // The file was restored or copied: another file continues the sequence of this replica.
      state.replica = .random(using: &generator)
      state.sequence = 0
      try forgetWithdrawn()
      if let fate {
        try accept(pending, fate, nil, &state)
      } else {
        try takeBack()
      }
      state.requirePull()
    case .gone(let gone):
      try takeBack()
      try forgetWithdrawn()
      lose(gone, &state, using: &generator)
    // No outcome: the commit waits for its other parts.
    case .parts: break
    }
  }

  /// Takes the commit in the outbox back: its changes are local edits again, and the next commit
  /// contains them, under the same sequence.
  ///
  /// Only for a commit that the space did not process: it refused the request as a whole, and no
  /// earlier attempt was left without an answer. The commit is withdrawn, in case that another
  /// attempt is on its way.
  package func takeBack(_ commit: SyncToken) throws {
    guard try outboxSummary()?.commit == commit else { return }
    try withdrawOutbox()
    try takeBack()
  }

  private func takeBack() throws {
    for table in try schema().tables {
      try run(
        """
        INSERT OR REPLACE INTO \(table.shadow.name.sqlQuoted)
        SELECT * FROM \(table.asideName.sqlQuoted)
        """, [])
      try run("DELETE FROM \(table.asideName.sqlQuoted)", [])
    }
    try emptyOutbox()
    try run("UPDATE tandem_kept SET reported_in = NULL WHERE reported_in <> 0", [])
  }

  /// Notes that the space cannot continue from the replica's revision. Written down before anything
  /// follows from it.
  ///
  /// - Parameter pull: The request that the space could not answer. If another process has
  ///   synchronized the file since, or a commit waits for its outcome, this only demands a pull.
  package func lose(
    _ gone: SyncGone, for pull: SyncPull, using generator: inout some RandomNumberGenerator
  ) throws {
    guard try awaits(answerTo: pull) else { return try requirePull() }
    try lose(gone, using: &generator)
  }

  /// Notes that the space has lost the history of the replica's base. No commit waits.
  func lose(_ gone: SyncGone, using generator: inout some RandomNumberGenerator) throws {
    // A space that has only forgotten a part of its history still knows whether it accepted them.
    if gone != .horizon { try forgetWithdrawn() }
    var state = try state()
    try discardStaged()
    lose(gone, &state, using: &generator)
    try save(state)
  }

  private func lose(
    _ gone: SyncGone, _ state: inout ReplicaState, using generator: inout some RandomNumberGenerator
  ) {
    switch (gone, state.pullNeed) {
    // The pull of everything starts again.
    case (_, .first), (_, .epoch), (_, .history), (.horizon, .horizon), (.horizon, .columns),
      (.horizon, .repair):
      return
    case (.horizon, .none), (.horizon, .changes), (.horizon, .conflict):
      state.pullNeed = .horizon
    case (.epoch, _), (.history, _):
      state.pullNeed = gone == .epoch ? .epoch : .history
      // The space may know another commit of the same sequence.
      state.replica = .random(using: &generator)
      state.sequence = 0
    }
  }

  private func emptyOutbox() throws { try run("DELETE FROM tandem_outbox", []) }

  /// Makes the frozen versions part of the base.
  ///
  /// The base is the state at the revision only if no other commit came between. Otherwise a pull
  /// has to follow, which brings these records again.
  private func accept(
    _ commit: SyncCommit, _ revision: SpaceRevision, _ digest: RecordDigest?,
    _ state: inout ReplicaState
  ) throws {
    let schema = try schema()
    let continues =
      state.revision.map { $0.epoch == revision.epoch && $0.version + 1 == revision.version }
      ?? false
    var numbers = try storedNumbers(schema)
    try forEachFrozenRecord(of: commit) { key, verbs in
      guard let table = schema.table(named: key.table) else { return }
      numbers.note(key, in: table)
      let frozen = try frozen(table, key, verbs)
      if let base = frozen.base { state.digest.remove(key, base, by: hasher) }
      if let record = frozen.record { state.digest.add(key, record, by: hasher) }
      // An insertion may state fields that the table does not have.
      let isWide =
        if case .insert(let record)? = verbs.first {
          record.layout.names.contains { table.layout.offset(of: $0) == nil }
        } else { false }
      if try isWide || table.mayHaveDroppedEdits || parked(key) != nil {
        try unpark(row(table, key.id), key, frozen.record)
      }
      try noteOutcomeOfDroppedEdits(of: table, key.id, frozen.base, verbs, isAccepted: true)
    }
    try store(numbers)
    for table in schema.tables { try run("DELETE FROM \(table.asideName.sqlQuoted)", []) }
    try emptyOutbox()
    try run("UPDATE tandem_kept SET reported_in = 0 WHERE reported_in <> 0", [])
    guard continues, state.revision == commit.base, let digest else {
      state.requirePull()
      return
    }
    state.revision = revision
    state.spaceDigest = digest
    if !state.hasEqualDigests, state.pullNeed == .none { state.pullNeed = .repair }
    // The changes may have made room for versions that were withheld: a pull tries these again.
    if try !withheldKeys().isEmpty { state.requirePull() }
  }

  /// Calls `body` with each record of the commit in the outbox, part by part.
  private func forEachFrozenRecord(
    of first: SyncCommit, _ body: (SyncKey, [SyncChange.Verb]) throws -> Void
  ) throws {
    for number in 1...first.of {
      guard let part = number == 1 ? first : try outbox(part: number) else {
        throw ReplicaError.damaged("tandem_outbox", connection.path)
      }
      var records = FrozenRecords(part)
      while let (key, verbs) = records.next() { try body(key, verbs) }
    }
  }

  /// A frozen record, and the version that it replaced.
  private func frozen(
    _ table: ReplicaTable, _ key: SyncKey, _ verbs: [SyncChange.Verb]
  ) throws -> (base: Record?, record: Record?) {
    let aside = ReplicaRow(
      table: table, shadow: try aside(table, key.id), row: .missing,
      parked: try parked(key))
    let base = aside.base
    switch verbs.first {
    case .insert(let record)?: return (base, record)
    case .delete?, nil: return (base, nil)
    case .update?, .add?:
      return (base, base.map { base in verbs.reduce(base) { $0.applying($1) } })
    }
  }

  /// Parks the fields of an accepted record that its row does not have, if any are left.
  ///
  /// - Parameter row: The row. If it was touched since the record was frozen, its former version counts.
  func unpark(_ row: ReplicaRow, _ key: SyncKey, _ record: Record?) throws {
    let unstorable = record.flatMap(row.table.unstorableFields)
    var rest = unstorable.map { ParkedFields(fields: $0, extent: .fields) }
    if let reason = row.parked?.reason, let record, let missing = row.fieldsMissing(of: record),
      row.table.loses(aPartOf: record)
        || missing.layout.names.contains(where: { unstorable?.layout.offset(of: $0) == nil })
    {
      // Fields that the change left as they were, and those that were merged with the space's version.
      rest = ParkedFields(fields: missing, extent: .fields, reason: reason)
    }
    try park(rest, key)
  }

  /// Notes refused changes in `tandem_kept`, and returns their rows without them, under the edits that were made
  /// later, and the kept edits that are rows which the space never had.
  private func reverted(
    _ objections: [SyncObjection], of commit: SyncCommit
  ) throws -> (rows: [RowPlacement], insertions: [KeptEdit.ID]) {
    let schema = try schema()
    let reasons = Dictionary(
      objections.map { ($0.key, $0.reason) }, uniquingKeysWith: { first, _ in first })
    let known = try knownTables(schema)
    let defaults = try spaceDefaults(schema)
    var reverted: [RowPlacement] = []
    var insertions: [KeptEdit.ID] = []
    try forEachFrozenRecord(of: commit) { key, verbs in
      guard let reason = reasons[key], let table = schema.table(named: key.table) else { return }
      let frozen = try frozen(table, key, verbs)
      let text = try self.reason(
        reason, key, of: table, base: frozen.base, record: frozen.record, known)
      // The row never had the fields that its insertion stated in addition.
      let record =
        frozen.base == nil ? frozen.record?.removing(defaults[table.name]) : frozen.record
      let id = try reject(key, text, record, from: frozen.base)
      if frozen.base == nil { insertions.append(id) }
      try noteOutcomeOfDroppedEdits(of: table, key.id, frozen.base, verbs, isAccepted: false)
      let row = try row(table, key.id)
      // A row that no trigger noted since is as it was frozen, unless a program wrote without triggers.
      // Fields that the table cannot hold are those of the former version.
      let isReadable = row.isTouched || row.parked == nil && !row.isUnreadable
      let local = isReadable ? row.local : record
      let merge = RowMerge(
        base: record, local: local, remote: frozen.base, .field,
        TableMerging(record: .editBeatsDelete.then(.keepLocal)))
      reverted.append(
        RowPlacement(
          table: table, key: key.id, row: row, remote: frozen.base, result: merge.result,
          isRejected: true))
    }
    return (reverted, insertions)
  }

  /// Writes the rows of refused changes. Rows that refer to one that is gone go as well: their former
  /// versions are those of the space, because the commit has been taken back.
  private func place(_ reverted: [RowPlacement]) throws {
    try withoutSilencedTriggers {
      var placing = try RowPlacing(self, schema())
      for placement in reverted { try placing.place(placement) }
      try placing.finish(triesWithheld: false)
    }
  }
}

/// The changes of a commit, or of a part of one, record by record. The changes of a record are in one part.
struct FrozenRecords {
  private let changes: [SyncChange]
  private var position = 0

  init(_ commit: SyncCommit) { changes = commit.changes }

  /// The next record and the verbs that change it.
  mutating func next() -> (SyncKey, [SyncChange.Verb])? {
    guard position < changes.count else { return nil }
    let key = changes[position].key
    var verbs: [SyncChange.Verb] = []
    while position < changes.count, changes[position].key == key {
      verbs.append(changes[position].verb)
      position += 1
    }
    return (key, verbs)
  }
}
