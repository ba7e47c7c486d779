internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// A commit that was taken back after the space refused it as a whole may still be accepted: another
/// process, or the network, may have sent it a second time. Its additions would then count twice,
/// because the rows still have them. So the last such commits are kept until the space has answered a
/// later commit of their sequence. The pull that shows that one was accepted makes its versions the
/// base of the rows.
extension ReplicaTables {
  /// The number of withdrawn commits that a file keeps: the last ones.
  static var maxWithdrawnCount: Int { 4 }

  /// Keeps the commit in the outbox as withdrawn.
  func withdrawOutbox() throws {
    try run(
      """
      INSERT INTO tandem_withdrawn (id, message)
      SELECT id, message FROM tandem_outbox ORDER BY tandem_outbox.rowid
      """, [])
    try run(
      """
      DELETE FROM tandem_withdrawn WHERE id NOT IN (
        SELECT id FROM tandem_withdrawn GROUP BY id ORDER BY max(rowid) DESC
        LIMIT \(ReplicaTables.maxWithdrawnCount))
      """, [])
  }

  package func hasWithdrawn() throws -> Bool {
    try !rows("SELECT 1 FROM tandem_withdrawn LIMIT 1").isEmpty
  }

  /// Forgets the withdrawn commits: the space cannot accept them any more.
  func forgetWithdrawn() throws { try run("DELETE FROM tandem_withdrawn", []) }

  /// Takes note of the last commit of this replica that the space knows. If it is a withdrawn one, its
  /// sequence is used, and its versions become the base if it was accepted.
  ///
  /// The pages that follow must contain the effects of that commit.
  func noteStanding(_ standing: ReplicaStanding?, _ state: inout ReplicaState) throws {
    guard let standing, standing.sequence > state.sequence, try hasWithdrawn() else { return }
    let parts = try rows(
      "SELECT rowid FROM tandem_withdrawn WHERE id = ? ORDER BY rowid",
      [.text(standing.commit.description)])
    if !parts.isEmpty {
      state.sequence = standing.sequence
      if case .accepted = standing.outcome, !state.pullNeed.needsDecision {
        for row in parts { try rebase(onPartInRow: row[0], &state) }
      }
    }
    try forgetWithdrawn()
  }

  /// Makes the versions of records in a part of a withdrawn commit their base.
  private func rebase(onPartInRow row: FieldValue, _ state: inout ReplicaState) throws {
    let message = try rows("SELECT message FROM tandem_withdrawn WHERE rowid = ?", [row])
    guard case .blob(let bytes)? = message.first?[0],
      let part = try? SyncMessageReader(limits: .unlimited).commit(bytes)
    else { throw ReplicaError.damaged("tandem_withdrawn", connection.path) }
    var records = FrozenRecords(part)
    let schema = try schema()
    while let (key, verbs) = records.next() { try rebase(key, in: schema, on: verbs, &state) }
  }

  /// Makes the version of a record that a withdrawn commit made its base. The row stays as it is.
  private func rebase(
    _ key: SyncKey, in schema: ReplicaSchema, on verbs: [SyncChange.Verb],
    _ state: inout ReplicaState
  ) throws {
    guard let table = schema.table(named: key.table) else { return }
    let row = try row(table, key.id)
    guard !row.isUnreadable else { return }
    let base = row.base
    let new = verbs.reduce(base) { record, verb in
      switch verb {
      case .insert(let fields): fields
      case .delete: nil
      case .update, .add: record?.applying(verb)
      }
    }
    if let base { state.digest.remove(key, base) }
    if let new { state.digest.add(key, new) }
    try setShadow(row.shadow(of: new, changing: base, by: verbs), table, key.id)
    if try table.mayHaveDroppedEdits || parked(key) != nil {
      try unpark(self.row(table, key.id), key, new)
    }
    try noteOutcomeOfDroppedEdits(of: table, key.id, base, verbs, isAccepted: true)
  }
}

extension ReplicaRow {
  /// The former version that makes a record the base. Columns in which it has the same value as the
  /// present base stay as they are: the table may have altered the value.
  fileprivate func shadow(
    of new: Record?, changing base: Record?, by verbs: [SyncChange.Verb]
  ) -> Shadow {
    guard let new else { return .absent }
    var values = table.values(of: new)
    switch (shadow, row) {
    case (.values(let former)?, _), (nil, .values(let former)):
      for (offset, name) in table.columnNames.enumerated()
      where base.map({ $0[name].hasSameStorage(as: new[name]) }) ?? false {
        values[offset] = former[offset]
      }
      // A row that does not have the space's version of a field counts from its own value.
      guard let parked, parked.reason != nil else { break }
      for case .add(let addends) in verbs {
        let counted = Record(uncheckedLayout: table.layout, values: former).applying(.add(addends))
        for name in addends.layout.names where parked.fields.layout.offset(of: name) != nil {
          if let offset = table.layout.offset(of: name) { values[offset] = counted[name] }
        }
      }
    case (.absent?, _), (.unreadable?, _), (nil, .missing), (nil, .unreadable): break
    }
    return .values(values)
  }
}
