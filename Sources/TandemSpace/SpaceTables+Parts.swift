internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// Commits that are too long for one message arrive in parts, in any order. The space keeps them as bytes, until the
/// last missing one arrives, and judges them as one commit.
///
/// Storing a part consumes nothing. A replica has parts of at most one commit in the space: a file that was restored or
/// copied sends other parts under the same sequence, and the two must neither mix nor replace each other in turn for
/// ever. So parts of another commit wait while the last part is recent, and replace it later: the file that sent it may
/// be gone, or may have taken that commit back.
extension SpaceTables {
  /// The time after which parts of a commit that did not get its others are dropped, in milliseconds.
  package static let maxPartAge = 24 * 60 * 60 * 1_000
  /// The time since its last part for which a commit keeps out other commits of its replica, in milliseconds.
  package static let minPartAge = 60 * 1_000

  /// The parts of a replica that the space keeps, without their messages.
  private struct KeptParts {
    var commit: SyncToken
    var of: Int
    var base: String
    var account: String?
    var numbers: [Int]
    var changeCount: Int
    var overruledCount: Int
    var byteCount: Int
    /// The time of the last one.
    var time: Int
  }
}

extension SpaceTables {
  /// Takes a part of a commit whose sequence is next.
  ///
  /// - Returns: The commit, if this was the last missing part, else the outcome.
  func take(
    _ part: SyncCommit, account: String?, at time: Int
  ) throws -> (commit: SyncCommit?, outcome: SyncOutcome) {
    try connection.make(.parts)
    // The clock of the machine may have been wrong.
    try connection.run(
      .dropOldParts,
      [.integer(Int64(time - Self.maxPartAge)), .integer(Int64(time + Self.maxPartAge))])
    var kept = try keptParts(of: part.replica)
    if let other = kept, other.commit != part.id {
      guard !(0..<Self.minPartAge).contains(time - other.time) else {
        throw SyncRequestError(
          .unavailable,
          "the space is receiving another commit of the replica \(part.replica), as from a copy of the file; "
            + "the parts of this one are taken later",
          retryAfter: .milliseconds(Self.minPartAge))
      }
      try dropParts(of: part.replica)
      kept = nil
    }
    let message = SyncMessageWriter.bytes(part)
    try check(part, message.count, with: kept, account)
    let missing = (1...part.of).filter { $0 != part.part && kept?.numbers.contains($0) != true }
    guard !missing.isEmpty else {
      let commit = try joined(part)
      // The records take the place of the parts, so that the file does not keep room for both.
      try dropParts(of: part.replica)
      return (commit, .parts(missing: missing))
    }
    try connection.run(
      .storePart,
      [
        .text(part.replica.description), .integer(Int64(part.sequence)),
        .text(part.id.description), .integer(Int64(part.part)), .integer(Int64(part.of)),
        account.map { .text($0) } ?? .null, .text(part.base.description),
        .integer(Int64(part.changes.count)), .integer(Int64(part.overruled.count)),
        .integer(Int64(time)), .blob(message),
      ])
    return (nil, .parts(missing: missing))
  }

  /// The commit that a part completes; the part itself if it is the only one, and `nil` if other parts are missing.
  func commit(completedBy part: SyncCommit) throws -> SyncCommit? {
    guard part.of > 1 else { return part }
    guard try connection.has(.parts), let kept = try keptParts(of: part.replica),
      kept.commit == part.id, kept.of == part.of,
      (1...part.of).allSatisfy({ $0 == part.part || kept.numbers.contains($0) })
    else { return nil }
    return try joined(part)
  }

  /// Drops the parts that a replica has sent.
  func dropParts(of replica: SyncToken) throws {
    guard try connection.has(.parts) else { return }
    try connection.run(.dropParts, [.text(replica.description)])
  }

  /// Throws if a part does not belong to the others, or if they exceed the limits together.
  private func check(
    _ part: SyncCommit, _ byteCount: Int, with kept: KeptParts?, _ account: String?
  ) throws(SyncRequestError) {
    guard let kept else { return }
    guard kept.of == part.of, kept.base == part.base.description else {
      throw SyncRequestError(
        .malformed,
        "the parts of the commit \(part.id) have different bases or numbers of parts; give a changed commit "
          + "another identity")
    }
    // The part itself may be among those that are kept.
    let isKept = kept.numbers.contains(part.part)
    let changeCount = max(
      kept.changeCount + (isKept ? 0 : part.changes.count),
      kept.overruledCount + (isKept ? 0 : part.overruled.count))
    guard changeCount <= limits.maxPartsChangeCount else {
      throw SyncRequestError(
        .overLimit,
        "the parts of the commit have \(changeCount) changes; the most are \(limits.maxPartsChangeCount): send "
          + "several commits")
    }
    guard kept.byteCount + (isKept ? 0 : byteCount) <= limits.maxPartsByteCount else {
      throw SyncRequestError(
        .overLimit,
        "the parts of the commit have more than \(limits.maxPartsByteCount) bytes: send several commits"
      )
    }
    guard let owner = kept.account, owner != account else { return }
    throw SyncRequestError(
      .unauthorized,
      "another account than that of this access token sends the commit \(part.id); use a token of that account"
    )
  }

  private func keptParts(of replica: SyncToken) throws -> KeptParts? {
    var kept: KeptParts?
    for row in try connection.rows(.parts, [.text(replica.description)]) {
      guard case .text(let id) = row[0], let commit = SyncToken(id), let of = row[1].integerValue,
        case .text(let base) = row[2], let number = row[4].integerValue,
        let changeCount = row[5].integerValue, let byteCount = row[6].integerValue,
        let time = row[7].integerValue, let overruledCount = row[8].integerValue,
        kept.map({ $0.commit == commit }) ?? true
      else { throw damaged("the parts of the replica \(replica)") }
      var next =
        kept
        ?? KeptParts(
          commit: commit, of: of, base: base, numbers: [], changeCount: 0, overruledCount: 0,
          byteCount: 0, time: time)
      next.account = next.account ?? row[3].textValue
      next.numbers.append(number)
      next.changeCount += changeCount
      next.overruledCount += overruledCount
      next.byteCount += byteCount
      next.time = max(next.time, time)
      kept = next
    }
    return kept
  }

  /// The commit of a part and of all others, which the space keeps.
  private func joined(_ last: SyncCommit) throws -> SyncCommit {
    var changes: [SyncChange] = []
    var overruled: [SyncRecordState] = []
    for number in 1...last.of {
      let part = number == last.part ? last : try keptPart(number, of: last.replica)
      changes += part.changes
      overruled += part.overruled
    }
    return SyncCommit(
      replica: last.replica, sequence: last.sequence, id: last.id, base: last.base,
      changes: changes,
      overruled: overruled)
  }

  private func keptPart(_ number: Int, of replica: SyncToken) throws -> SyncCommit {
    let row = try connection.row(
      .part, [.text(replica.description), .integer(Int64(number))])
    guard case .blob(let bytes)? = row?.first else {
      throw damaged("the parts of the replica \(replica)")
    }
    return try decoded("a part of the replica \(replica)") { () throws(TextFault) in
      try reader.commit(bytes)
    }
  }
}

extension SyncCommit {
  /// The number of its changes, or of the versions that it overruled if these are more.
  var countForLimits: Int { max(changes.count, overruled.count) }
}
