package import TandemRecords
package import TandemSync

/// The decision of an application's rules on a commit, and the records that they have decided about.
///
/// Rules may take time, so they are asked before the transaction of the commit. The transaction then accepts their
/// decision only if the commit changes exactly these records, from these states. So the decision holds in the order of
/// the space, whatever came between.
package struct SpaceRuling: Sendable {
  private let edits: [SpaceLedger.Edit]
  private var refusals: [SyncKey: String]
  /// The changes that set fields to other values than the commit does.
  let amendments: [SyncChange]

  /// A decision.
  ///
  /// - Parameters:
  ///   - edits: The records that the rules have decided about.
  ///   - refusals: The records whose changes are refused, each with a message for people.
  ///   - amendments: Fields of records that live after the commit, with the values that they get instead.
  package init(
    on edits: [SpaceLedger.Edit], refusals: [SyncKey: String] = [:],
    amendments: [SyncKey: Record] = [:]
  ) {
    self.edits = edits
    self.refusals = refusals
    self.amendments = edits.compactMap { edit in
      guard let fields = edit.new.fields, let amendment = amendments[edit.key] else { return nil }
      let news = zip(amendment.layout.names, amendment.values).filter { name, value in
        !value.hasSameStorage(as: fields[name])
      }
      let names = RecordLayout(uniqueNames: news.map(\.0))
      guard !news.isEmpty else { return nil }
      return SyncChange(
        key: edit.key, verb: .update(Record(uncheckedLayout: names, values: news.map(\.1))))
    }
  }

  /// Refuses changes whose amendments the space cannot store.
  mutating func refuse(_ objections: [SyncObjection]) {
    for objection in objections {
      refusals[objection.key] =
        "the rules set fields of it to values that the space cannot store (\(objection.reason.rawValue))"
    }
  }

  /// The objections to changes of records.
  ///
  /// - Throws: ``StaleRuling`` if these are not the changes that the rules have decided about.
  func objections(to edits: [SpaceLedger.Edit]) throws(StaleRuling) -> [SyncObjection] {
    let edits = edits.filter(\.changesRecord)
    let isCurrent =
      edits.count == self.edits.count && zip(edits, self.edits).allSatisfy { $0.isSame(as: $1) }
    guard isCurrent else { throw StaleRuling() }
    return edits.compactMap { edit in
      refusals[edit.key].map { SyncObjection(key: edit.key, reason: .rule($0)) }
    }
  }
}

/// The error of a commit that changes other records, or from other states, than its rules have decided about. Nothing
/// was written, and the rules have to be asked again.
package struct StaleRuling: Error {}

/// The error of a commit whose amendments the space refuses. What was written must be undone.
package struct RefusedAmendments: Error {
  package let objections: [SyncObjection]
}

extension SpaceLedger.Edit {
  /// True if both change a record from the same state, to the same fields. The version that they make may differ.
  fileprivate func isSame(as other: SpaceLedger.Edit) -> Bool {
    guard key == other.key, old?.version == other.old?.version,
      old?.createdVersion == other.old?.createdVersion
    else { return false }
    return (old?.fields).hasSameStorage(as: other.old?.fields)
      && new.fields.hasSameStorage(as: other.new.fields)
  }
}

extension Optional<Record> {
  fileprivate func hasSameStorage(as other: Record?) -> Bool {
    guard let self, let other else { return self == nil && other == nil }
    return self.hasSameStorage(as: other)
  }
}

extension SpaceTables {
  /// The records that a commit would change, as an application's rules have to see them.
  ///
  /// - Returns: None if the commit gets an outcome without them, or waits for other parts. A commit of which records are
  ///   returned may still conflict, or be refused by a constraint.
  package func proposal(of commit: SyncCommit, account: String?) throws -> [SpaceLedger.Edit] {
    let standing = try storedStanding(of: commit.replica)
    let state = try state()
    guard commit.sequence - 1 == standing?.sequence ?? 0,
      (try? checkOwner(standing, account)) != nil, try gone(commit.base, state) == nil,
      try fate(of: commit.id, state) == nil, (try? checkRequest(commit, state.tables)) != nil,
      let whole = try self.commit(completedBy: commit),
      case .accepted(let edits) = try verdict(on: whole, state, numbers(of: state.tables))
    else { return [] }
    return edits.filter(\.changesRecord)
  }

  /// Makes the amendments of rules as a commit of the space itself, directly after the commit that they amend and in the
  /// same transaction, so that no reader sees the state between.
  ///
  /// The outcome has the revision after both. A replica whose commit made the version before it has to pull then, and
  /// receives the amendments like changes of another replica.
  ///
  /// - Throws: ``RefusedAmendments``.
  func amend(
    _ changes: [SyncChange], after revision: SpaceRevision, at time: Int,
    using generator: inout some RandomNumberGenerator
  ) throws -> SyncOutcome {
    let commit = SyncCommit(
      replica: .ofSpace, sequence: 0, id: .random(using: &generator), base: revision,
      changes: changes)
    let outcome = try outcome(of: commit, nil, state(), at: time, mark: generator.next())
    switch outcome {
    case .accepted: return outcome
    case .refused(let objections), .conflict(let objections):
      throw RefusedAmendments(objections: objections)
    case .sequence, .gone, .parts:
      preconditionFailure("the changes of a commit are accepted, refused or in conflict")
    }
  }
}
