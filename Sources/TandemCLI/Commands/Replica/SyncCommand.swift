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
      """,
    exitStatus: """
      0 in step, 1 blocked, or with open conflicts or rejected changes, 2 errors. With
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
