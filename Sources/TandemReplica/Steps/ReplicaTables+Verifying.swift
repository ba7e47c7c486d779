internal import TandemRecords
internal import TandemSQLite
package import TandemSync

/// The condition of a replica.
package struct ReplicaSummary: Hashable, Sendable {
  /// The state.
  package var state: ReplicaState
  /// The state, as far as the next step depends on it.
  package var sync: SyncSummary
  /// The number of open conflicts.
  package var openConflictCount: Int
  /// The number of rows that were noted in `tandem_kept`.
  package var rejectedCount: Int

  /// True if the file has exactly what the space has at the revision. Rows that cannot be
  /// synchronized prevent it. A pull of later changes that has not arrived yet does not: each
  /// synchronization begins with one, and it may have failed.
  package var isUpToDate: Bool {
    sync.revision != nil && (sync.pull == .none || state.pullNeed == .changes)
      && sync.pull != .staged && sync.outbox == nil && !sync.hasChanges && sync.hasEqualDigests
  }
}

extension ReplicaTables {
  /// The summary of this replica. Nothing is written.
  package func summary() throws -> ReplicaSummary {
    let (sync, state) = try currentState()
    return ReplicaSummary(
      state: state, sync: sync,
      openConflictCount: try openCount(.conflicts), rejectedCount: try openCount(.rejected))
  }

  /// Throws if the file is attached to another space than the one of this name.
  func requireSpace(named name: String) throws {
    let space = try state().space
    guard space != name, SyncSpace.place(ofName: space) != SyncSpace.place(ofName: name) else {
      return
    }
    throw ReplicaError(
      .otherSpace,
      "\(connection.path) has been attached to \(SyncSpace.place(ofName: space)) meanwhile, and is not "
        + "synchronized with \(SyncSpace.place(ofName: name)) any more; synchronize it anew")
  }

  /// The state of this replica, as far as the next step depends on it. Nothing is written.
  func syncSummary() throws -> SyncSummary { try currentState().sync }

  private func currentState() throws -> (sync: SyncSummary, state: ReplicaState) {
    let (schema, isDisturbed) = try schemaAsItIs()
    var state = try state()
    if isDisturbed, state.pullNeed.trustsUntouchedRows {
      state.pullNeed = .repair
    }
    var hasChanges =
      try connection.integer(
        "SELECT count(*) FROM (SELECT 1 FROM \(keptSource()) WHERE reported_in IS NULL LIMIT 1)")
      != 0
    for table in schema.tables where !hasChanges {
      hasChanges = try hasChange(table) || hasDroppedEdits(table)
    }
    var pull = SyncSummary.Pull.none
    if state.pullNeed != .none {
      switch try staging(state) {
      case .incomplete(let request): pull = .page(request)
      case .complete: pull = .staged
      }
    }
    let sync = SyncSummary(
      revision: state.revision, outbox: try outboxSummary(), pull: pull, hasChanges: hasChanges,
      hasEqualDigests: state.hasEqualDigests)
    return (sync, state)
  }

  private func hasChange(_ table: ReplicaTable) throws -> Bool {
    try connection.integer(
      "SELECT count(*) FROM (SELECT 1 FROM \(table.shadow.name.sqlQuoted) LIMIT 1)") != 0
  }

  func count(_ rows: String) throws -> Int {
    Int(try connection.integer("SELECT count(*) FROM \(rows)") ?? 0)
  }

  /// The digest of the base, computed from all rows.
  ///
  /// - Complexity: O(*n*) in the number of rows. Memory does not grow with it.
  package func computedDigest() throws -> RecordDigest {
    try computedDigest(try schemaAsItIs().schema)
  }

  func computedDigest(_ schema: ReplicaSchema) throws -> RecordDigest {
    var digest = RecordDigest.empty
    let hasParked = try count("tandem_parked") != 0
    for table in schema.tables {
      let (shadow, names) = (table.shadow.name, (table.keyNames + table.columnNames).sqlList)
      let untouched = """
        SELECT \(names) FROM \(table.name.sqlQuoted) AS t
        WHERE NOT EXISTS (SELECT 1 FROM \(shadow.sqlQuoted) AS s WHERE \(table.shadow.sameKey("t", "s")))
        """
      let former =
        "SELECT \(names) FROM \(shadow.sqlQuoted) WHERE \(TableShadow.existed)"
      for sql in [untouched, former] {
        try addRecords(sql, of: table, hasParked: hasParked, to: &digest)
      }
    }
    for key in try parkedKeys("is_whole = 1") {
      if let fields = try parked(key)?.fields { digest.add(key, fields, by: hasher) }
    }
    return digest
  }

  /// Adds the records of a query to a digest.
  private func addRecords(
    _ sql: String, of table: ReplicaTable, hasParked: Bool, to digest: inout RecordDigest
  ) throws {
    try connection.forEachRow(sql) { statement in
      // A text that is not UTF-8 is in no message, so the space does not have it either.
      if let values = try? statement.values() {
        try addRecord(values, of: table, hasParked: hasParked, to: &digest)
      }
      return true
    }
  }

  /// Adds the record of a row to a digest.
  func addRecord(
    _ values: [FieldValue], of table: ReplicaTable, hasParked: Bool, to digest: inout RecordDigest
  ) throws {
    let key = Array(values.prefix(table.keyNames.count))
    guard !key.contains(where: \.isNull) else { return }
    let row = ReplicaRow(
      table: table, shadow: nil, row: .values(Array(values.dropFirst(key.count))),
      parked: hasParked ? try parked(table.syncKey(key)) : nil)
    if let record = row.base { digest.add(table.syncKey(key), record, by: hasher) }
  }

  /// Compares the whole base with the digest of the space at the revision. If they differ, the next
  /// pull brings everything: the space's version of a row is written, and the row as it was is
  /// kept as a conflict.
  ///
  /// - Returns: True if they are equal; false as well if a pull or a commit is under way.
  package func verify() throws -> Bool {
    var state = try state()
    guard try outboxSummary() == nil, state.pullNeed == .none, state.revision != nil else {
      return false
    }
    let digest = try computedDigest()
    guard digest != state.digest || !state.hasEqualDigests else { return true }
    state.digest = digest
    if !state.hasEqualDigests { state.pullNeed = .repair }
    try save(state)
    return state.hasEqualDigests
  }
}
