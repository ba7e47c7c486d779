import Tandem

/// `tandem detach`: ends what `tandem attach` began.
enum DetachCommand: Command {
  static let discardRejected = Flag(
    "discard-rejected",
    help: """
      Also remove rejected changes, and edits of dropped
      columns, that exist only in this file.
      """)
  static let discardConflicts = Flag(
    "discard-conflicts",
    help: "Also remove open conflicts, with the versions that\nthey have.")

  static let specification = CommandSpecification(
    name: "detach",
    summary: "Undo attach; the rows stay as they are.",
    discussion: """
      Removes the triggers and tables that tandem attach added to a SQLite file. The space and its
      other copies do not change. Changes that were not sent stay in the rows. A deletion that was not
      sent has no row: if the file is attached again, the row comes back. Run tandem sync first to send
      both. Resolved conflicts are removed.

      A rejected change that was taken out of its row exists only in this file, and so does an edit that was
      not sent of a column that was dropped. Tandem detaches such a file only with --discard-rejected:
      tandem rejected shows the changes, and retries or discards them; tandem sync sends the edits.

      An open conflict has a version that was overruled, which may exist only in this file. Tandem
      detaches such a file only with --discard-conflicts: tandem conflicts shows and resolves them.
      """,
    operands: [.init(name: "DATABASE", help: "A SQLite file that is attached.")],
    options: [discardRejected, discardConflicts, Flag.quiet],
    examples: ["tandem detach notes.db", "tandem detach notes.db --discard-conflicts"],
    usesDatabases: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let path = arguments.operands[0]
    try await ReplicaFile.with(path) { _, replica in
      let status = try await readableStatus(of: replica)
      try await replica.detach(
        discardsRejected: arguments[discardRejected],
        discardsConflicts: arguments[discardConflicts])
      guard !arguments[Flag.quiet] else { return }
      guard let status else { return TandemCLI.report("\(path) is detached") }
      let unsent =
        status.pendingCount == 0
        ? "" : "; \(Quantity.count(status.pendingCount, "row")) had changes that were not sent"
      let conflicts =
        status.conflictCount == 0
        ? "" : "; \(Quantity.count(status.conflictCount, "open conflict")) removed"
      TandemCLI.report(
        "\(path) is detached from \(SyncSpace.plainName(status.space))\(unsent)\(conflicts)")
    }
    return ExitStatus.success
  }

  /// The status, unless the tables do not fit any more: then detaching is the remedy.
  private static func readableStatus(of replica: DatabaseReplica) async throws -> ReplicaStatus? {
    do {
      return try await replica.status()
    } catch let error as ReplicaError where error.code == .schema || error.code == .damaged {
      return nil
    }
  }
}
