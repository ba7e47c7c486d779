package import TandemRecords
internal import TandemSQLite
package import TandemSync

extension SpaceTables {
  /// Answers a commit, or a part of one. What it changes, its outcome and the sequence of its replica are written
  /// together, in the transaction that is open.
  ///
  /// The steps have a fixed order. A commit that is repeated gets its stored outcome, whatever else
  /// has changed meanwhile, because its first answer may have been lost.
  ///
  /// - Parameters:
  ///   - account: The account that sends the commit; a replica belongs to its first one. `nil` where
  ///     there are no accounts.
  ///   - ruling: The decision of the application's rules; `nil` where there are none.
  ///   - time: The present, in milliseconds since 1970.
  ///   - generator: Draws the mark of the new version.
  /// - Throws: ``TandemSync/SyncRequestError`` for the commit as a whole; ``StaleRuling`` and ``RefusedAmendments``.
  ///   What was written must then be undone. ``DatabaseError``; ``SpaceError``.
  package func commit(
    _ commit: SyncCommit, account: String? = nil, ruling: SpaceRuling? = nil, at time: Int,
    using generator: inout some RandomNumberGenerator
  ) throws -> SyncOutcome {
    let standing = try storedStanding(of: commit.replica)
    if let standing, standing.sequence == commit.sequence, standing.commit == commit.id {
      return try outcome(of: standing)
    }
    // Before anything tells another account of the replica's sequence.
    try checkOwner(standing, account)
    let last = standing?.sequence ?? 0
    let state = try state()
    guard commit.sequence - 1 == last else {
      return .sequence(last: last, fate: try fate(of: commit.id, state))
    }
    if let gone = try gone(commit.base, state) { return .gone(gone) }
    guard try fate(of: commit.id, state) == nil else {
      throw SyncRequestError(
        .malformed,
        "another commit has the identity \(commit.id); draw a random one for each commit")
    }
    try checkRequest(commit, state.tables)
    var commit = commit
    if commit.of > 1 {
      let (whole, outcome) = try take(commit, account: account, at: time)
      guard let whole else { return outcome }
      commit = whole
    }
    var outcome = try outcome(of: commit, ruling, state, at: time, mark: generator.next())
    if case .accepted(let revision, _) = outcome, let changes = ruling?.amendments, !changes.isEmpty
    {
      outcome = try amend(changes, after: revision, at: time, using: &generator)
    }
    try store(outcome, of: commit.identity, account)
    return outcome
  }

  /// Consumes the sequence of a commit that its account may not send, if it is the next one of the replica. Otherwise a
  /// copy of the request that arrives when the account may write again would be applied, beside the commit that the
  /// replica has made instead.
  ///
  /// A replica that has sent nothing yet is not stored: who may only read must not fill the space, nor take a replica.
  package func refuse(_ commit: SyncCommitIdentity, account: String?) throws {
    guard let standing = try storedStanding(of: commit.replica), standing.account == account,
      commit.sequence - 1 == standing.sequence
    else { return }
    try store(.refused([]), of: commit, account)
  }

  /// The last commit of a replica; `nil` if the space has none.
  func standing(of replica: SyncToken) throws -> ReplicaStanding? {
    guard let stored = try storedStanding(of: replica) else { return nil }
    return ReplicaStanding(
      sequence: stored.sequence, commit: stored.commit, outcome: try outcome(of: stored))
  }

  /// The last commit of a replica as the file has it. The outcome stays a text, because only a commit
  /// that is repeated needs it.
  struct StoredStanding {
    let replica: SyncToken
    let account: String?
    let sequence: Int
    let commit: SyncToken
    let outcome: String
  }

  func storedStanding(of replica: SyncToken) throws -> StoredStanding? {
    let row = try connection.row(.replica, [.text(replica.description)])
    guard let row else { return nil }
    guard row[0].isNull || row[0].textValue != nil, case .integer(let sequence) = row[1],
      case .text(let id) = row[2], let commit = SyncToken(id), case .text(let outcome) = row[3]
    else { throw damaged("the replica \(replica)") }
    return StoredStanding(
      replica: replica, account: row[0].textValue, sequence: Int(sequence), commit: commit,
      outcome: outcome)
  }

  private func outcome(of standing: StoredStanding) throws -> SyncOutcome {
    let answer = try decoded("the outcome of the replica \(standing.replica)") {
      () throws(TextFault) in
      try reader.answer(Array(standing.outcome.utf8))
    }
    guard case .success(let outcome) = answer else {
      throw damaged("the replica \(standing.replica)")
    }
    return outcome
  }

  /// The revision that a commit made, if the history contains it.
  package func fate(of id: SyncToken, _ state: SpaceState) throws -> SpaceRevision? {
    let row = try connection.row(.revisionOfCommit, [.text(id.description)])
    guard let row else { return nil }
    guard case .integer(let version) = row[0], case .integer(let mark) = row[1] else {
      throw damaged("the history")
    }
    return SpaceRevision(
      epoch: state.head.epoch, version: Int(version), mark: UInt64(bitPattern: mark))
  }

  /// Throws if a replica belongs to another account than the one that asks.
  ///
  /// - Parameter account: The account that asks; `nil` where there are no accounts.
  func checkOwner(of replica: SyncToken, _ account: String?) throws {
    try checkOwner(try storedStanding(of: replica), account)
  }

  func checkOwner(
    _ standing: StoredStanding?, _ account: String?
  ) throws(SyncRequestError) {
    // A replica that had no account, as in a file, gets its first one.
    guard let standing, let owner = standing.account, owner != account else { return }
    throw SyncRequestError(
      .unauthorized,
      "the replica \(standing.replica) belongs to another account than this access token; use a "
        + "token of the account that the file was synchronized with, or detach the file and attach "
        + "it again")
  }

  /// Throws if the request exceeds a limit, or has versions of tables that the space does not have. Changes of such
  /// tables are objections of the outcome.
  func checkRequest(
    _ commit: SyncCommit, _ tables: [SpaceTable]
  ) throws(SyncRequestError) {
    guard commit.replica != .ofSpace else {
      throw SyncRequestError(
        .malformed, "the replica \(commit.replica) is the space itself; draw a random token")
    }
    let count = commit.countForLimits
    guard count <= limits.maxCommitChangeCount else {
      throw SyncRequestError(
        .overLimit,
        "the commit has \(count) changes; the most are \(limits.maxCommitChangeCount): send fewer")
    }
    guard !commit.overruled.isEmpty else { return }
    let names = Set(tables.map { FieldName($0.name) })
    guard commit.overruled.allSatisfy({ names.contains(FieldName($0.key.table)) }) else {
      throw SyncRequestError(
        .malformed,
        "the overruled versions are of a table that the space does not have: declare it first")
    }
  }
}

// MARK: - The changes

extension SpaceTables {
  /// The verdict of the rules for conflicts on a commit.
  ///
  /// - Parameter numbers: The highest number of each table whose keys are numbers that SQLite chooses.
  func verdict(
    on commit: SyncCommit, _ state: SpaceState, _ numbers: [FieldName: Int64]
  ) throws -> SpaceLedger.Verdict {
    let indexes = try indexRules(state.tables)
    let ledger = SpaceLedger(
      tables: state.tables, horizon: state.horizon, limits: limits, numbers: numbers)
    var layout: RecordLayout?
    if connection.readsAhead {
      try connection.expect(
        recordLookups(commit.changes.lazy.map(\.key))
          + commit.changes.flatMap { change in
            (indexes[FieldName(change.key.table)] ?? [:]).values.map { rule in
              SpaceLookup(.statedClaim, [.integer(Int64(rule)), .blob(change.key.idBytes)])
            }
          })
    }
    return try ledger.verdict(on: commit, as: state.head.version + 1) { key in
      var record = try record(key, expecting: layout)
      layout = record?.fields?.layout ?? layout
      if !indexes.isEmpty, let rules = indexes[FieldName(key.table)] {
        record?.claims = try statedClaims(of: key, rules)
      }
      return record
    }
  }

  /// Makes the changes of a commit, unless rules object.
  func outcome(
    of commit: SyncCommit, _ ruling: SpaceRuling?, _ state: SpaceState, at time: Int, mark: UInt64
  ) throws -> SyncOutcome {
    let revision = SpaceRevision(
      epoch: state.head.epoch, version: state.head.version + 1, mark: mark)
    let numbers = try numbers(of: state.tables)
    switch try verdict(on: commit, state, numbers) {
    case .conflict(let objections): return .conflict(bounded(objections))
    case .refused(let objections): return .refused(bounded(objections))
    case .accepted(let edits):
      if let objections = try ruling?.objections(to: edits), !objections.isEmpty {
        return .refused(bounded(objections))
      }
      let answer = try constraintAnswer(
        to: edits, base: commit.base.version, state.tables)
      switch answer?.verdict {
      case .conflict(let objections): return .conflict(bounded(objections))
      case .refused(let objections): return .refused(bounded(objections))
      case .accepted, nil: break
      }
      var digest = state.digest
      let hasher = RecordHasher()
      let changed = edits.filter(\.changesRecord)
      try noteUsage(after: changed, of: state, in: revision.version)
      for edit in changed {
        if let fields = edit.old?.fields { digest.remove(edit.key, fields, by: hasher) }
        if let fields = edit.new.fields { digest.add(edit.key, fields, by: hasher) }
        try write(edit)
      }
      if let answer { try write(answer, of: edits, state.tables) }
      try note(numbersOf: edits, in: state.tables, above: numbers)
      for version in commit.overruled { try insertOverruled(version, in: revision) }
      try insertCounts(of: changed.lazy.map(\.key), in: revision.version)
      try insertHistory(revision, digest, commit, at: time)
      try connection.run(.setHead, [.integer(Int64(revision.version))])
      return .accepted(revision, digest)
    }
  }

  /// The first objections, at least one. The replica gets others with its next commits.
  private func bounded(_ objections: [SyncObjection]) -> [SyncObjection] {
    var byteCount = 0
    return Array(
      objections.prefix(SyncLimits.maxObjectionCount).prefix { objection in
        defer {
          byteCount += RecordEncoding.byteCount(of: objection.key)
          byteCount += objection.reason.ruleMessage?.utf8.count ?? 0
        }
        return byteCount < SyncLimits.maxObjectionByteCount
      })
  }

  /// Stores the outcome of the last commit of a replica.
  func store(
    _ outcome: SyncOutcome, of commit: SyncCommitIdentity, _ account: String?
  ) throws {
    try dropParts(of: commit.replica)
    let text = String(decoding: SyncMessageWriter.bytes(outcome), as: UTF8.self)
    try connection.run(
      .storeReplica,
      [
        .text(commit.replica.description), account.map { .text($0) } ?? .null,
        .integer(Int64(commit.sequence)), .text(commit.id.description), .text(text),
      ])
  }

  private func insertOverruled(
    _ state: SyncRecordState, in revision: SpaceRevision
  ) throws {
    try connection.run(
      .insertOverruled,
      [
        .integer(Int64(revision.version)), .text(state.key.table),
        .text(String(decoding: SyncMessageWriter.bytes(id: state.key.id), as: UTF8.self)),
        .integer(Int64(state.version)), text(state.fields),
      ])
  }
}

// MARK: - Records

extension SpaceTables {
  /// The state of a record; `nil` if the space has none.
  ///
  /// - Parameter layout: The layout of another record, which most records share.
  package func record(
    _ key: SyncKey, expecting layout: RecordLayout? = nil
  ) throws -> SpaceRecord? {
    let row = try connection.row(.record, [.text(key.table), .blob(key.idBytes)])
    guard let row else { return nil }
    guard case .integer(let version) = row[1], case .integer(let created) = row[2],
      case .text(let versions) = row[3]
    else { throw damaged("the record \(key)") }
    var record = SpaceRecord(
      fields: try fields(row[0], of: key, expecting: layout), version: Int(version),
      createdVersion: Int(created))
    guard versions != "{}" else { return record }
    let fieldVersions = try decoded("the record \(key)") { () throws(TextFault) in
      try reader.fields(Array(versions.utf8))
    }
    for (name, value) in zip(fieldVersions.layout.names, fieldVersions.values) {
      guard case .integer(let version) = value else { throw damaged("the record \(key)") }
      record.fieldVersions[FieldName(name)] = Int(version)
    }
    return record
  }

  /// The fields of a record as the file has them; `nil` if it is deleted.
  ///
  /// - Parameter layout: The layout of another record, which most records share.
  func fields(
    _ value: FieldValue, of key: SyncKey, expecting layout: RecordLayout? = nil
  ) throws -> Record? {
    switch value {
    case .null: return nil
    case .text(let text):
      return try decoded("the record \(key)") { () throws(TextFault) in
        try reader.fields(Array(text.utf8), expecting: layout)
      }
    case .integer, .real, .blob: throw damaged("the record \(key)")
    }
  }

  private func write(_ edit: SpaceLedger.Edit) throws {
    let new = edit.new
    var fieldVersions = JSONWriter()
    fieldVersions.object { json in
      for (name, version) in new.fieldVersions.sorted(by: {
        UTF8Order.precedes($0.key.text, $1.key.text)
      }) {
        json.field(name.text, version)
      }
    }
    let state: [FieldValue] = [
      text(new.fields), .integer(Int64(new.version)), .integer(Int64(new.createdVersion)),
      .text(String(decoding: fieldVersions.bytes, as: UTF8.self)),
    ]
    let key: [FieldValue] = [.text(edit.key.table), .blob(edit.key.idBytes)]
    guard edit.old == nil else { return try connection.run(.updateRecord, key + state) }
    let id = String(decoding: SyncMessageWriter.bytes(id: edit.key.id), as: UTF8.self)
    try connection.run(.insertRecord, key + state + [.text(id)])
  }

  private func text(_ fields: Record?) -> FieldValue {
    guard let fields else { return .null }
    return .text(String(decoding: SyncMessageWriter.bytes(fields: fields), as: UTF8.self))
  }
}

extension SyncKey {
  /// The bytes of the key's values: equal keys have equal bytes.
  package var idBytes: [UInt8] {
    var bytes: [UInt8] = []
    RecordEncoding.append(id: id, to: &bytes)
    return bytes
  }
}
