import Synchronization
import Tandem

/// `tandem sync`: brings a file in step with its space.
enum SyncCommand: Command {
  static let failureStatus = ExitStatus.failure

  /// The options, each declared once.
  enum Option {
    static let watch = Flag(
      "watch", help: "Stay in step until Ctrl-C: send and receive each\ncommit as it is made.")
    static let verify = Flag(
      "verify",
      help: """
        Read all rows afterwards, and compare them with the
        space: finds writes that bypassed the triggers. Such
        rows get the version of the space; as they were, they
        are kept as conflicts.
        """)
    static let json = Flag(
      "json",
      help: """
        Print one JSON object per line, for each state
        {"event":"status","status":"connecting|pushing|pulling|
        verifying|upToDate|offline|blocked"}, with "changes":N
        for pushing, "revision":"EPOCH.VERSION" for upToDate and
        "reason":TEXT for offline and blocked; for each commit
        that was sent, and each page received or applied,
        {"event":"progress","stage":"sending|receiving|applying",
        "rows":N,"bytes":N,"share":S,"remainingSeconds":T}, with
        S from 0 to 1, and both null while unknown; for each row
        that got another key {"event":"renumbered","table":T,
        "from":N,"to":N}; at the end
        {"event":"end","revision":"EPOCH.VERSION","pushed":N,
        "pulled":N,"conflicts":N,"rejected":N,"pending":N}.
        N are numbers of changes for pushing and pushed, and of
        rows for pulled and pending. The revision is null before
        the first synchronization.
        """)
    static let lostHistory = ValueOption<EpochPolicy.Decision>(
      "lost-history", "HOW",
      help: """
        If the space was restored or replaced: union keeps the
        records of both, adoptRemote those of the space,
        adoptLocal those of this file. All that is overruled is
        kept as conflicts.
        """)
  }

  static let specification = CommandSpecification(
    name: "sync",
    summary: "Bring a database in step with its space.",
    discussion: """
      Sends the changes of all programs to the space that the file is attached to, and writes the
      changes of other copies into the file, in one transaction. Edits of different fields, and
      fields with a policy, are merged. Other edits of both sides are conflicts: the row gets the
      version of the space, and tandem conflicts shows all versions. An edit beats a deletion.

      It may be stopped and repeated at any time: no change is lost or made twice.

      For a space of a server, the token is read from the file that tandem attach was given, or
      from the variable TANDEM_TOKEN.

      Exit status: 0 in step, 1 blocked, or with open conflicts or rejected changes, 2 errors. With
      --watch, 0 also after Ctrl-C while the space cannot be reached.
      """,
    operands: [.init(name: "DATABASE", help: "A SQLite file that is attached.")],
    options: [Option.watch, Option.verify, Option.json, Option.lostHistory, Flag.quiet],
    examples: [
      "tandem sync notes.db", "tandem sync notes.db --watch --json",
      "tandem sync notes.db --verify",
    ],
    usesDatabases: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let verifiesRows = arguments[Option.verify]
    if verifiesRows, arguments[Option.watch] {
      throw arguments.error(
        "--verify ends when all rows are compared, so it does not go with --watch")
    }
    MemoryArenas.useOne()
    let decision = arguments[Option.lostHistory]
    let output = SyncOutput(
      path: arguments.operands[0], printsJSON: arguments[Option.json],
      isQuiet: arguments[Flag.quiet], watches: arguments[Option.watch])
    defer { output.progress.finish() }
    guard output.watches else {
      return try await synchronize(decision, verifyingRows: verifiesRows, output)
    }
    do {
      return try await Stop.ending {
        try await synchronize(decision, verifyingRows: false, output)
      }
    } catch is CancellationError {
      // It was stopped before the file was open.
      return ExitStatus.success
    }
  }

  private static func synchronize(
    _ decision: EpochPolicy.Decision?, verifyingRows verifiesRows: Bool, _ output: SyncOutput
  ) async throws -> Int32 {
    try await ReplicaFile.with(
      output.path, epochPolicy: decision.map { decision in EpochPolicy { _, _ in decision } }
    ) { database, replica in
      let before = try await replica.status()
      if let reason = before.blockReason, reason.needsHelp {
        return try output.end(blockedBy: "\(reason)", before)
      }
      output.progress.expect(before.pendingCount)
      let space: SyncSpace
      do {
        space = try await self.space(named: before.space, output)
      } catch let error as DatabaseError where error.code.primary == .cannotOpen {
        return try output.end(blockedBy: "the space does not exist: \(error)", before)
      } catch is CancellationError {
        if output.printsJSON { try output.writeEnd(pushed: 0, pulled: 0, before) }
        return exitStatus(of: before)
      }
      return try await ReplicaFile.with(space) { space in
        let note = { @Sendable in output.note($0, $1) }
        let progress = { @Sendable in output.note($0) }
        let run =
          output.watches
          ? try await replica.run(
            until: .forever, with: space, progress: progress,
            renumbered: { output.note(renumbered: $0) }, note)
          : try await replica.synchronize(
            with: space, verifyingRows: verifiesRows, progress: progress,
            renumbered: { output.note(renumbered: $0) }, note)
        return try finish(run, database, output, known: before.notices)
      }
    }
  }

  /// Opens the space. With `--watch`, waits for its file, as for one that is moved away later.
  private static func space(named name: String, _ output: SyncOutput) async throws -> SyncSpace {
    var failureCount = 0
    while true {
      do {
        return try await SyncSpace.named(name, token: ReplicaFile.environmentToken)
      } catch let error as DatabaseError
        where output.watches && error.code.primary == .cannotOpen
      {
        if failureCount == 0 { output.note(.offline, error) }
        failureCount += 1
        let pause = Backoff().delay(afterFailure: failureCount, chance: .random(in: 0...1))
        try await Task.sleep(for: pause)
      }
    }
  }

  /// Reports the end of a run, also of one that was cancelled, and returns the exit status.
  ///
  /// - Parameter known: The notices that the file had before. They were reported then.
  private static func finish(
    _ run: ReplicaRun, _ database: Database, _ output: SyncOutput, known: [String]
  ) throws -> Int32 {
    // Without waiting, because the task may be cancelled.
    let status = try database.read { try ReplicaTables($0.connection).status() }
    output.progress.finish()
    if !output.isQuiet {
      for notice in status.notices where !known.contains(notice) {
        TandemCLI.report("\(output.path): \(notice)")
      }
    }
    if let reason = run.block { output.noteBlock("\(reason)") }
    try output.writeEnd(of: run, status)
    if let reason = run.block {
      output.report(blockedBy: "\(reason)")
      return ExitStatus.attention
    }
    switch run.status {
    case .upToDate: break
    case .blocked(let block):
      TandemCLI.report("\(output.path): \(remedy(block))")
      return ExitStatus.attention
    case .offline, .connecting, .pushing, .pulling, .verifying:
      guard !output.watches else { break }
      let reason =
        run.status == .offline
        ? "the space cannot be reached"
        : "the space accepts no commit of this file; other copies may be busy, so try again later"
      TandemCLI.report("\(output.path): \(run.cause.map { "\($0)" } ?? reason)")
      return ExitStatus.failure
    }
    return exitStatus(of: status)
  }

  private static func exitStatus(of status: ReplicaStatus) -> Int32 {
    status.conflictCount > 0 || status.rejectedCount > 0 || status.state == .blocked
      ? ExitStatus.attention : ExitStatus.success
  }

  /// The reason of a block, and the remedy.
  static func remedy(_ block: SyncStatus.Block) -> String {
    switch block {
    case .undecided: "\(ReplicaError(block)): see --lost-history"
    case .unsendable: "\(ReplicaError(block)): tandem rejected shows them"
    case .refused, .differentDigests: "\(ReplicaError(block))"
    }
  }
}

/// The output of `tandem sync`.
final class SyncOutput: Sendable {
  let path: String
  let printsJSON: Bool
  let isQuiet: Bool
  let watches: Bool
  let progress: SyncProgress
  /// The troubles that were reported since the file was in step, so that each is reported once. Attempts to reach a
  /// server do not end.
  private let troubles = Mutex<Set<String>>([])
  private static let maxTroubleCount = 100

  init(path: String, printsJSON: Bool, isQuiet: Bool, watches: Bool) {
    self.path = path
    self.printsJSON = printsJSON
    self.isQuiet = isQuiet
    self.watches = watches
    progress = SyncProgress(isShown: !isQuiet && !watches)
  }

  /// Shows a state of the synchronization, and the error that led to it. An end of the reader stops the
  /// command by itself.
  func note(_ status: SyncStatus, _ cause: (any Error)?) {
    progress.note(status)
    if printsJSON {
      printLine { write(status, cause, to: &$0) }
    } else if watches, !isQuiet {
      switch status {
      case .upToDate(let revision):
        troubles.withLock { $0 = [] }
        report("in step at revision \(revision.version)")
      case .blocked(let block): report(trouble: SyncCommand.remedy(block))
      case .offline:
        let reason = cause.map { ": \($0)" } ?? ""
        let isFull = (cause as? DatabaseError)?.code.primary == .full
        let state = isFull ? "the disk is full" : "the space cannot be reached"
        report(trouble: "\(state); trying again\(reason)")
      case .connecting, .pushing, .pulling, .verifying: break
      }
    }
  }

  private func report(trouble: String) {
    let isNew = troubles.withLock { troubles in
      if troubles.count == Self.maxTroubleCount { troubles = [] }
      return troubles.insert(trouble).inserted
    }
    if isNew { report(trouble) }
  }

  /// Reports an event of `--watch`, with its time.
  private func report(_ event: String) {
    var (now, parts) = (time(nil), tm())
    localtime_r(&now, &parts)
    var text = [CChar](repeating: 0, count: 32)
    strftime(&text, text.count, "%Y-%m-%d %H:%M:%S", &parts)
    let digits = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    TandemCLI.report("\(String(decoding: digits, as: UTF8.self)) \(path): \(event)")
  }

  /// Shows the progress of a synchronization.
  func note(_ progress: ReplicaProgress) {
    let (share, remaining) = self.progress.note(progress)
    guard printsJSON, progress.rowCount > 0 else { return }
    printLine { json in
      json.field("event", "progress")
      json.field("stage", progress.stage.rawValue)
      json.field("rows", progress.rowCount)
      json.field("bytes", progress.byteCount)
      json.field("share", share.map { FieldValue.real($0) })
      json.field("remainingSeconds", remaining.map { FieldValue.real($0 / .seconds(1)) })
    }
  }

  /// The most rows with another key that one pull prints as text.
  private static let maxPrintedRowCount = 20

  /// Shows the rows that got another key.
  func note(renumbered: [RenumberedRow]) {
    if printsJSON {
      for row in renumbered {
        printLine { json in
          json.field("event", "renumbered")
          json.field("table", row.table)
          json.field("from", FieldValue.integer(row.former))
          json.field("to", FieldValue.integer(row.present))
        }
      }
    }
    guard !isQuiet else { return }
    for row in renumbered.prefix(Self.maxPrintedRowCount) {
      TandemCLI.report(
        "\(path): renumbered: \(row.table) \(row.former) is \(row.present) from now on")
    }
    let rest = renumbered.count - Self.maxPrintedRowCount
    if rest > 0 {
      TandemCLI.report(
        "\(path): renumbered: \(Quantity.count(rest, "more row")) (--json lists all)")
    }
  }

  private func printLine(_ body: (inout JSONWriter) -> Void) {
    do {
      try OutputStream.printObject(body)
    } catch {
      // Nobody would learn anything more. A synchronization may be stopped at any moment.
      TandemCLI.report("\(error)")
      exit(ExitStatus.failure)
    }
  }

  /// Writes the event of a file that cannot be synchronized.
  func noteBlock(_ reason: String) {
    guard printsJSON else { return }
    try? OutputStream.printObject { json in
      json.field("event", "status")
      json.field("status", "blocked")
      json.field("reason", LibraryNames.replaced(in: reason))
    }
  }

  /// Reports that a file cannot be synchronized, before any request was sent; returns the exit status.
  func end(blockedBy reason: String, _ status: ReplicaStatus) throws -> Int32 {
    noteBlock(reason)
    if printsJSON { try writeEnd(pushed: 0, pulled: 0, status) }
    report(blockedBy: reason)
    return ExitStatus.attention
  }

  /// Reports the reason for which a file cannot be synchronized. Some begin with the path.
  func report(blockedBy reason: String) {
    TandemCLI.report(reason.hasPrefix("\(path) ") ? reason : "\(path): \(reason)")
  }

  private func write(_ status: SyncStatus, _ cause: (any Error)?, to json: inout JSONWriter) {
    json.field("event", "status")
    switch status {
    case .connecting: json.field("status", "connecting")
    case .pushing(changeCount: let count):
      json.field("status", "pushing")
      json.field("changes", count)
    case .pulling: json.field("status", "pulling")
    case .verifying: json.field("status", "verifying")
    case .upToDate(let revision):
      json.field("status", "upToDate")
      json.field("revision", revision.shortText)
    case .offline:
      json.field("status", "offline")
      if let cause { json.field("reason", LibraryNames.replaced(in: "\(cause)")) }
    case .blocked(let block):
      json.field("status", "blocked")
      json.field("reason", "\(ReplicaError(block))")
    }
  }

  func writeEnd(pushed: Int, pulled: Int, _ status: ReplicaStatus) throws {
    try OutputStream.printObject { json in
      json.field("event", "end")
      json.field("revision", status.revision?.shortText)
      json.field("pushed", pushed)
      json.field("pulled", pulled)
      json.field("conflicts", status.conflictCount)
      json.field("rejected", status.rejectedCount)
      json.field("pending", status.pendingCount)
    }
  }

  /// Writes the end of a run.
  func writeEnd(of run: ReplicaRun, _ status: ReplicaStatus) throws {
    if printsJSON { try writeEnd(pushed: run.pushedCount, pulled: run.pulledCount, status) }
    guard !isQuiet else { return }
    if case .upToDate(let revision) = run.status, !watches {
      TandemCLI.report("\(path): in step at revision \(revision.version)")
    }
    TandemCLI.report(
      "\(path): \(Quantity.count(run.pushedCount, "change")) sent, "
        + "\(Quantity.count(run.pulledCount, "row")) written")
    if status.conflictCount > 0 {
      TandemCLI.report(
        "\(path): \(Quantity.count(status.conflictCount, "open conflict")): tandem conflicts \(path)"
      )
    }
    for line in status.voidPolicyLines(path) { TandemCLI.report("\(path): \(line)") }
    if status.rejectedCount > 0 {
      TandemCLI.report(
        "\(path): \(Quantity.count(status.rejectedCount, "rejected change")): "
          + "tandem rejected \(path)")
    }
  }
}
