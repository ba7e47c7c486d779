internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

// Rejected changes that are made again, as many as the tables accept.
extension ReplicaTables {
  /// An edit that the tables do not accept.
  struct RefusedEdit {
    let edit: KeptEdit
    let error: ReplicaError
  }

  /// - Throws: The error of the first edit if the tables accept none of them.
  func retry(_ edits: [KeptEdit], namingEdits namesEdits: Bool) throws -> Int {
    guard !edits.isEmpty else { return 0 }
    try checkNoCommitWaits()
    try run("PRAGMA defer_foreign_keys=ON", [])
    // As in `resolve`; at once, because it changes the schema.
    let refused = try withoutSilencedTriggers(areEdits: true) { try refusedEdits(of: edits) }
    if refused.count == edits.count, let first = refused.first {
      let error = first.error.naming(first.edit, if: namesEdits)
      guard refused.count > 1 else { throw error }
      throw ReplicaError(
        error.code, "none of the \(refused.count) edits can be made again; \(error.message)")
    }
    return edits.count - refused.count
  }

  /// Makes edits again; returns those that the tables do not accept.
  func refusedEdits(of edits: [KeptEdit]) throws -> [RefusedEdit] {
    var waiting = edits
    while true {
      let refused = try waiting.compactMap(refusal)
      // Without progress, a further pass has the same result.
      guard refused.count == waiting.count else {
        waiting = refused.map(\.edit)
        continue
      }
      return try areMadeTogether(waiting) ? [] : refused
    }
  }

  /// Makes an edit again; returns it with the error if the tables do not accept it alone.
  private func refusal(of edit: KeptEdit) throws -> RefusedEdit? {
    do {
      try connection.savepoint {
        try makeAgain([edit])
        if connection.violatesDeferredKeys { throw refusalOfReference(edit.key) }
      }
      return nil
    } catch let error as ReplicaError
      where [.constraint, .unsuitable, .unknownEdit].contains(error.code)
      && connection.isInTransaction
    {
      return RefusedEdit(edit: edit, error: error)
    }
  }

  /// Makes edits again of which none is accepted alone: rows may refer to each other, or exchange values.
  private func areMadeTogether(_ edits: [KeptEdit]) throws -> Bool {
    guard edits.count > 1 else { return false }
    do {
      try connection.savepoint { try makeAgain(edits) }
      return true
    } catch is ReplicaError where connection.isInTransaction {
      return false
    }
  }

  private func makeAgain(_ edits: [KeptEdit]) throws {
    for edit in edits where edit.kind == .record {
      guard let table = try schema().table(named: edit.table) else {
        throw ReplicaError(.unknownEdit, "the table \(edit.table) is not synchronized")
      }
      try placeParked(edit, in: table)
      try forget(keptEdit: edit.id)
    }
    _ = try resolve(edits.filter { $0.kind == .edit }, by: .local, namingEdits: false)
  }

  /// Gives a row the space's version that its table did not accept before.
  private func placeParked(_ edit: KeptEdit, in table: ReplicaTable) throws {
    let key = edit.key
    guard let parked = try parked(key), let reason = parked.reason else {
      throw ReplicaError(.unknownEdit, "the record \(edit.id) has changed since: synchronize")
    }
    guard table.stores(key: key.id) else {
      throw ReplicaError(.constraint, "\(edit.reason); change the type of the column first")
    }
    try withoutSilencedTriggers {
      var placing = try RowPlacing(self, schema())
      try placing.placeWithheld(key)
    }
    guard try self.parked(key)?.reason != nil else { return }
    throw ReplicaError(
      .constraint,
      "the table \(table.name) still does not accept \(key.id.sqlText): \(reason); "
        + "change its constraint, or the row in another copy")
  }
}
