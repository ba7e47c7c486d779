import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync

// MARK: - During the run

extension Simulation {
  /// Checks the laws that a step could break.
  ///
  /// - Parameter report: The report of the last pull that the file applied.
  func checkStep(
    _ syncStep: SyncStep, _ summary: SyncSummary, _ report: ReplicaApplyReport?,
    _ file: SimulatedFile
  ) throws {
    _ = try file.report(to: &ledger, at: step)
    if let known = revisions[file.number], let revision = summary.revision,
      known.epoch == revision.epoch, revision.version < known.version,
      !mayLoseCommits
    {
      throw SimulationViolation(
        "file \(file.number) went back from version \(known.version) to \(revision.version)")
    }
    try checkDigests(syncStep, summary, report, file)
    try checkReferences(of: file)
    revisions[file.number] = summary.revision
    if report != nil, summary.pull == .none { file.pulled() }
    switch syncStep {
    case .apply, .receive: break
    case .stage where report != nil: break
    default: return
    }
    guard summary.pull == .none, summary.outbox == nil, let revision = summary.revision else {
      return
    }
    try checkBase(of: file, at: revision, "after \(describe(syncStep))")
  }

  /// The base of a file never differs from the space, unless the pages of one pull are of several
  /// histories. Otherwise a repair would hide mistakes.
  private func checkDigests(
    _ syncStep: SyncStep, _ summary: SyncSummary, _ report: ReplicaApplyReport?,
    _ file: SimulatedFile
  ) throws {
    guard !mayMissEdits else { return }
    var isRight = true
    switch syncStep {
    case .stage(let page, let pull):
      if pull.cursor == nil { pulledRevisions[file.number] = pull.since.map { [$0] } ?? [] }
      pulledRevisions[file.number]?.append(page.revision)
      if report != nil { isRight = try isPullRight(summary, report, file) }
    case .apply: isRight = try isPullRight(summary, report, file)
    case .receive(let page, let from):
      let isApplied = report.map { $0.revision == page.revision && $0.hasEqualDigests } ?? true
      isRight = isApplied || !oracle.areSuccessive([from, page.revision])
    case .settle(.accepted, _):
      if case .page(let pull) = summary.pull, pull.since == nil {
        // Another program of the file may have heard that the space has forgotten or lost history.
        let need = try file.read { try $0.state().pullNeed }
        isRight = need == .horizon || mayLoseCommits && need.needsDecision
      }
    case .verify: isRight = summary.hasEqualDigests
    case .look, .requirePull, .freeze, .settle, .takeBack, .discardStaged, .lose: break
    }
    guard isRight else {
      throw SimulationViolation(
        "the base of file \(file.number) differs from the space after \(describe(syncStep))")
    }
  }

  /// The resolution of a conflict of fields leaves the fields alone that only one side had changed:
  /// they were merged, and may have changed since.
  func check(
    _ conflict: KeptEdit, resolvedFrom before: [(EditLedger.Cell, Int)],
    to after: [(EditLedger.Cell, Int)]
  ) throws {
    guard let base = conflict.base, let local = conflict.local, let remote = conflict.remote,
      schema.tables.first(where: { $0.name == conflict.key.table })?.granularity == .field
    else { return }
    let values = Dictionary(after, uniquingKeysWith: { _, last in last })
    for (cell, edit) in before where cell.key == conflict.key && values[cell] != edit {
      let versions = [base, local, remote].map { $0[cell.column] }
      guard versions.dropFirst().contains(where: { $0.hasSameStorage(as: versions[0]) }) else {
        continue
      }
      throw SimulationViolation(
        "the resolution of a conflict changes \(cell.column) of \(cell.key), which was merged")
    }
  }

  /// True if a file has no changes, and the next pull brings only what the space has changed since.
  func isClean(_ syncStep: SyncStep, _ tables: ReplicaTables) throws -> Bool {
    switch syncStep {
    case .apply, .receive: break
    case .stage(let page, for: _) where page.next == nil: break
    default: return false
    }
    // A migration that Tandem has not taken over leaves a shadow that fits no table.
    guard let summary = try? tables.summary() else { return false }
    // Edits that were made while triggers were gone are found by the pull.
    return try !summary.sync.hasChanges && summary.sync.outbox == nil && !tables.hasWithdrawn()
      && [.none, .changes].contains(summary.state.pullNeed)
  }

  /// A file that had no changes, and knows all commits before its own and what became of these, has nothing
  /// to send after a pull: receiving makes no edit, whatever the file has no room for. Rows that might have
  /// had to give way to unique values may count as touched until the next commit.
  func check(
    _ report: ReplicaApplyReport, _ summary: SyncSummary, _ file: SimulatedFile,
    _ tables: ReplicaTables, _ connection: DatabaseConnection
  ) throws {
    guard report.revision != nil, summary.hasChanges else { return }
    struct Undone: Error {}
    var random = random
    do {
      try connection.savepoint {
        guard
          try tables.freeze(file.schema.merging, limits: scenario.limits, using: &random)
        else { throw Undone() }
        // While an index of the file is pending, it states the values of rows that came without them.
        let changes = try tables.outbox(part: 1)?.changes ?? []
        let isStatement = changes.allSatisfy { $0.verb == .update([:]) && !$0.claims.isEmpty }
        guard isStatement, file.alterations.values.contains(where: \.hasLateIndex) else {
          throw SimulationViolation("file \(file.number) has changes after a pull that nobody made")
        }
        throw Undone()
      }
    } catch is Undone {}
  }

  /// A page is staged only if it is the one that follows the last staged page.
  func check(
    _ pull: SyncPull, _ before: [[FieldValue]], _ after: [[FieldValue]], _ file: SimulatedFile
  ) throws {
    guard let page = after.last, page != before.last else { return }
    let former = before.last { $0[1] == page[1] }
    guard former?[2].textValue == pull.cursor else {
      throw SimulationViolation("file \(file.number) has staged a page that follows another one")
    }
  }

  /// Synchronization leaves the columns of a row alone that are not synchronized. A row that is joined with another one
  /// fills those of it that are null. A row that is taken out takes its columns along; then an older change of it, which
  /// was rejected, may be made again.
  func checkNotes(
    _ before: [SyncKey: FieldValue], _ after: [SyncKey: FieldValue],
    _ connection: DatabaseConnection
  ) throws {
    for (key, note) in before {
      let mayBeFilled =
        note.isNull
        && schema.tables.contains {
          UTF8Order.areEqual($0.name, key.table) && !$0.same.isEmpty
        }
      if let other = after[key], !other.hasSameStorage(as: note), !mayBeFilled {
        let id = String(decoding: SyncMessageWriter.bytes(id: key.id), as: UTF8.self)
        let kept = try connection.row(
          """
          SELECT 1 FROM tandem_kept
          WHERE "table" = ? AND "key" = ? AND kind = 'edit' AND others ->> 'note' IS ?
          """, [.text(key.table), .text(id), note])
        if kept != nil { continue }
        throw SimulationViolation("the note \(note) of \(key) has become \(other)")
      }
    }
  }

  /// True if the pages of a pull were applied to a base that is right, or are of several histories.
  private func isPullRight(
    _ summary: SyncSummary, _ report: ReplicaApplyReport?, _ file: SimulatedFile
  ) throws -> Bool {
    var isApplied = report?.revision == nil || report?.hasEqualDigests != false
    if report?.revision == nil, case .page(let pull) = summary.pull, pull.since == nil {
      // The base is wrong, or the space has lost commits that the replica knows.
      let need = try file.read { try $0.state().pullNeed }
      isApplied = mayLoseCommits && (need == .history || mayShareIdentity)
    }
    return isApplied || !oracle.areSuccessive(pulledRevisions[file.number] ?? [])
  }

  /// True if the space may lose commits. A file may then go back.
  var mayLoseCommits: Bool {
    scenario.accidents.contains(.spaceRestore) || scenario.accidents.contains(.newEpoch)
  }

  /// True if two files may send commits under the same identity. Then a space that has lost the commits
  /// of one may have those of the other, and the loss shows only by the digest.
  private var mayShareIdentity: Bool {
    scenario.accidents.contains(.fileRestore) || scenario.accidents.contains(.fileCopy)
  }

  /// True if the base of a file may differ from what it is taken for, until the file is verified.
  private var mayMissEdits: Bool {
    !scenario.accidents.allSatisfy {
      $0 != .triggersDropped && $0 != .triggersDisabled && !$0.changesSchema
    }
  }

  /// The base of a file is exactly the state of the space at its revision: no reader sees a part of
  /// a commit.
  private func checkBase(
    of file: SimulatedFile, at revision: SpaceRevision, _ occasion: String
  ) throws {
    // Such edits are found when the file is verified.
    guard !file.hasUncapturedEdits else { return }
    guard let digest = space.digests[revision] else {
      throw SimulationViolation(
        "file \(file.number) is at version \(revision.version), which there has never been")
    }
    guard try file.read({ try $0.computedDigest() }) == digest else {
      throw SimulationViolation(
        "the base of file \(file.number) is not the state of version \(revision.version) "
          + occasion)
    }
  }

  /// A file that is said to be up to date has no changes and no outbox, and needs no pull.
  func check(_ status: SyncStatus, _ number: Int) throws {
    note("driver \(number) is \(describe(status))")
    guard case .upToDate(let revision) = status else { return }
    let file = files[drivers[number].file]
    let summary = try file.read { try $0.summary() }
    guard summary.isUpToDate, summary.sync.revision == revision else {
      throw SimulationViolation("file \(file.number) is said to be up to date, but is not")
    }
    try checkBase(of: file, at: revision, "that is said to be up to date")
  }
}

// MARK: - The end

extension Simulation {
  /// The number of rounds after which all files have to be up to date.
  private static let maxRoundCount = 40
  /// The number of events in which a session has to come to rest.
  private static let maxEventCount = 400

  /// Ends all faults, delivers the messages that are late, and synchronizes until all files are up to
  /// date.
  func settle() throws {
    while !network.isEmpty {
      try receive(network.remove(at: Int.random(in: 0..<network.count, using: &random)))
    }
    for _ in 0..<Simulation.maxRoundCount {
      let head = space.head
      for number in drivers.indices { try rest(number) }
      let summaries = try files.map { file in try file.read { try $0.summary() } }
      if head == space.head,
        summaries.allSatisfy({ $0.isUpToDate && $0.sync.revision == head })
      {
        if try !verifyFiles() { return }
      }
    }
    let states = drivers.indices.map { "\($0): \(describe(drivers[$0].session.status))" }
    throw SimulationViolation(
      "not all files are up to date after \(Simulation.maxRoundCount) rounds: \(states)")
  }

  /// Verifies the files that programs wrote without triggers; false if there are none.
  private func verifyFiles() throws -> Bool {
    let unverified = files.filter(\.hasUncapturedEdits)
    for file in unverified {
      note("file \(file.number) is verified")
      _ = try file.write { try $0.verify() }
      file.hasUncapturedEdits = false
    }
    return !unverified.isEmpty
  }

  /// Synchronizes a file until its session waits.
  func rest(_ number: Int) throws {
    if drivers[number].request != nil { try handle(.disconnected, number) }
    try handle(.requested, number)
    for _ in 0..<Simulation.maxEventCount {
      if drivers[number].action != nil {
        try act(number)
      } else if drivers[number].request != nil {
        guard !network.isEmpty else { return try handle(.disconnected, number) }
        try receive(network.removeFirst())
      } else if !isDone(drivers[number].session.status), let timer = drivers[number].timer {
        drivers[number].timer = nil
        try handle(.timerFired(timer), number)
      } else {
        return
      }
    }
    throw SimulationViolation("the session of driver \(number) does not come to rest")
  }

  private func isDone(_ status: SyncStatus) -> Bool {
    switch status {
    case .upToDate, .blocked: true
    case .connecting, .pushing, .pulling, .verifying, .offline: false
    }
  }

  /// Checks the laws of the end.
  func checkEnd() throws {
    let state = try space.state
    var digest = RecordDigest.empty
    for record in try space.records() {
      if let fields = record.fields { digest.add(record.key, fields) }
    }
    guard digest == state.digest else {
      throw SimulationViolation("the digest of the space is not that of its records")
    }
    for file in files {
      guard try file.read({ try $0.computedDigest() }) == state.digest else {
        throw SimulationViolation("file \(file.number) does not have the records of the space")
      }
      _ = try file.report(to: &ledger, at: step)
    }
    try checkForeignKeys()
    try checkAcceptance()
    try checkRows()
    try checkLateIndexes()
    for file in files { try checkReferences(of: file) }
    if let service { try checkFollowings(service) }
    try checkIdentities()
    // A table may be unable to hold a record, which is parked then; so the space decides.
    let violations = ledger.violations(final: try spaceValues())
    if !violations.isEmpty { throw SimulationViolation(violations.joined(separator: "\n")) }
    try checkCounts()
  }

  /// Copies with one schema have equal rows, whatever their rules.
  private func checkRows() throws {
    guard try differingRowCount() > 0 else { return }
    throw SimulationViolation("files of one schema have different rows")
  }

  /// A unique index that a program created when rows were there holds in the space, unless some of its records break it,
  /// for which the file with the index has no room then: the file has stated the values of all others.
  private func checkLateIndexes() throws {
    let tables = try space.state.tables
    try oracle.check(tables)
    for file in files {
      for table in schema.tables where file.alteration(of: table).hasLateIndex {
        func isLate(_ constraint: SpaceConstraint) -> Bool {
          constraint.index?.name == table.lateIndex
        }
        let declared = tables.first { $0.name == table.name }
        if declared?.constraints?.contains(where: isLate) == true { continue }
        let withheld = try file.database.read {
          try $0.row(
            "SELECT 1 FROM tandem_parked WHERE \"table\" = ? AND reason NOT NULL",
            [.text(table.name)])
        }
        guard withheld != nil, declared?.pending.contains(where: { isLate($0.constraint) }) == true
        else {
          throw SimulationViolation(
            "the index \(table.lateIndex) of file \(file.number) stays pending")
        }
      }
    }
  }

  /// No row of one file is under the parent of another one: each reference to a row whose number SQLite chose leads
  /// to the row for which it was made.
  ///
  /// An insertion or a deletion that no trigger notes is found too late: its number may be that of another record.
  func checkReferences(of file: SimulatedFile) throws {
    let blind: Set<Scenario.Accident> = [.triggersDropped, .triggersDisabled]
    guard blind.isDisjoint(with: scenario.accidents) else { return }
    for table in schema.tables where table.wantsMark {
      guard let parent = table.parent else { continue }
      let found = try file.database.read {
        try $0.row(
          """
          SELECT c.id, p.id, c.wanted, p.mark FROM \(table.name) AS c JOIN \(parent.name) AS p
            ON p.id = c.parent WHERE p.mark IS NOT c.wanted
          """, [])
      }
      guard let found else { continue }
      throw SimulationViolation(
        "a row of \(table.name) in file \(file.number) refers to another parent than its own: \(found)"
      )
    }
  }

  /// The number of rows that one file has, and another one lacks or has with other values in the columns of both.
  private func differingRowCount() throws -> Int {
    var count = 0
    for table in schema.tables {
      // An index leaves no room for some rows.
      let groups = Dictionary(grouping: files) { $0.alteration(of: table).hasLateIndex }
      for files in groups.values {
        for (place, file) in files.enumerated() {
          for other in files[..<place] {
            let columns = file.synchronizedColumns(table)
              .filter(other.synchronizedColumns(table).contains)
            let contents = try [file, other].map { try $0.rows(of: table, columns) }
            count += contents[0].filter { contents[1][$0.key] != $0.value }.count
            count += contents[1].keys.filter { contents[0][$0] == nil }.count
          }
        }
      }
    }
    return count
  }

  /// A file draws a new identity only after an accident of a file or of the space, or after requests
  /// that were refused and accepted later.
  private func checkIdentities() throws {
    let accidents: Set<Scenario.Accident> = [
      .fileRestore, .fileCopy, .spaceRestore, .newEpoch, .refusal,
    ]
    guard accidents.isDisjoint(with: scenario.accidents) else { return }
    for (file, replica) in zip(files, replicas) {
      guard try file.read({ try $0.state().replica }) == replica else {
        throw SimulationViolation("file \(file.number) has given up its identity")
      }
    }
  }

  /// All rows that others refer to exist. The exceptions are accidents after which no file may have the
  /// row any more, records that no table can have, because the space merged fields that a constraint
  /// forbids beside each other, and records that wait beside their table for a unique value.
  private func checkForeignKeys() throws {
    let accidents: Set<Scenario.Accident> = [.fileRestore, .spaceRestore, .newEpoch, .recordLimit]
    guard accidents.isDisjoint(with: scenario.accidents), !mayMissEdits,
      scenario.enforcesForeignKeys
    else { return }
    for file in files {
      let rows = try file.database.read { connection in
        let waiting = try connection.rows(
          """
          SELECT DISTINCT "table" FROM tandem_parked
          WHERE is_whole = 1 AND reason NOT NULL
          """
        ).map(\.first)
        // The third column is the table of the missing row.
        return try connection.rows("PRAGMA foreign_key_check").filter { !waiting.contains($0[2]) }
      }
      guard rows.isEmpty else {
        throw SimulationViolation("rows of file \(file.number) refer to rows that do not exist")
      }
    }
  }

  /// Files of one schema accept all records of the space.
  private func checkAcceptance() throws {
    let accidents: Set<Scenario.Accident> = [.fileRestore, .spaceRestore, .newEpoch, .recordLimit]
    guard accidents.isDisjoint(with: scenario.accidents), !mayMissEdits else { return }
    for file in files {
      let found = try file.database.read {
        try $0.row("SELECT * FROM tandem_parked WHERE reason NOT NULL", [])
      }
      if let found {
        throw SimulationViolation("file \(file.number) does not accept a record: \(found)")
      }
    }
  }

  /// Each addition counts exactly once.
  private func checkCounts() throws {
    guard !ledger.hasInexactCounts else { return }
    for table in schema.tables where table.isExactCounter {
      let key = SyncKey(
        table: table.name, id: table.key(SimulatedSchema.Table.counterNumber))
      let expected = ledger.countedEdits[table.name] ?? 0
      let record = try space.records().first { $0.key == key }
      let value = record?.fields?["visits"] ?? .null
      guard expected == 0 || value == .integer(Int64(expected)) else {
        throw SimulationViolation(
          "\(expected) additions in \(table.name) were made, but \(value) were counted")
      }
    }
  }
}

// MARK: - The trace

extension Simulation {
  func describe(_ step: SyncStep) -> String {
    switch step {
    case .settle(let outcome, _): "settle \(describe(outcome))"
    case .stage(let page, _):
      "stage \(page.changes.count) changes to version \(page.revision.version)"
        + (page.next == nil ? "" : ", more follow")
    case .receive(let page, let from):
      "receive \(page.changes.count) changes from version \(from.version) to \(page.revision.version)"
    case .look, .requirePull, .freeze, .takeBack, .discardStaged, .apply, .lose, .verify:
      String(describing: step)
    }
  }

  func describe(_ summary: SyncSummary) -> String {
    var text = "version \(summary.revision?.version ?? -1)"
    if let outbox = summary.outbox {
      text += ", commit \(outbox.commit.description.prefix(6)) of \(outbox.changeCount)"
    }
    switch summary.pull {
    case .none: break
    case .page(let pull): text += ", pull since \(pull.since?.version ?? -1)"
    case .staged: text += ", staged"
    }
    if summary.hasChanges { text += ", changed" }
    if !summary.hasEqualDigests { text += ", digests differ" }
    return text
  }

  func describe(_ outcome: SyncOutcome) -> String {
    switch outcome {
    case .accepted(let revision, _): "accepted(\(revision.version))"
    case .conflict(let objections):
      "conflict(\(objections.map { "\($0.key) \($0.reason.rawValue)" }))"
    case .refused(let objections):
      "refused(\(objections.map { "\($0.key) \($0.reason.rawValue)" }))"
    case .sequence(let last, let fate): "sequence(\(last), fate \(fate?.version ?? -1))"
    case .gone(let gone): "gone(\(gone.rawValue))"
    case .parts(let missing): "parts(missing \(missing))"
    }
  }

  func describe(_ event: SyncSession.Event) -> String {
    switch event {
    case .pushed(let outcome): describe(outcome)
    case .pulled(.page(let page)):
      "page of \(page.changes.count) to version \(page.revision.version)"
        + page.changes.map { " \($0.key)=\($0.fields.map { "\($0)" } ?? "deleted")" }.joined()
    case .pulled(.gone(let gone)): "gone(\(gone.rawValue))"
    case .refused(let refusal): "refused(\(refusal.code))"
    default: String(describing: event)
    }
  }

  func describe(_ status: SyncStatus) -> String {
    switch status {
    case .upToDate(let revision): "upToDate(\(revision.version))"
    default: String(describing: status)
    }
  }
}
