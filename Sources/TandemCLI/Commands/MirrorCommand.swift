import Tandem

/// `tandem mirror`: makes a table equal to a list.
enum MirrorCommand: Command {
  static let specification = CommandSpecification(
    name: "mirror",
    summary: "Make a table of a SQLite database equal to a list.",
    discussion: """
      Reads a list of records and makes a table equal to it, in one transaction: readers see
      the old list or the new one. Only what differs is written. The table is created if it is
      missing, and columns are added as fields appear; columns that the list never had are
      left alone. Shows what was inserted (+), updated (~) and deleted (-).

      A list that cannot be read whole changes nothing. An empty list, or one that would delete
      more than half of a table of more than \(MirrorDeletionLimit.maxUnguardedCount) rows, is refused.
      A URL is asked only for what changed since the last run, unless the table was changed.

      Exit status: 0 done, 1 failed or refused with nothing changed, 2 wrong usage.
      """,
    operands: [
      .init(
        name: "SOURCE",
        help: "A JSON array, NDJSON or CSV: a file, - for standard input,\nor an http(s) URL."),
      .init(name: "DATABASE", help: "A SQLite file; created if it is missing."),
    ],
    options: [
      .init(name: "table", value: "T", help: "The table. Required."),
      .init(
        name: "key", value: "FIELD[,FIELD]", help: "The fields that identify a record. Required."),
      .init(
        name: "format", value: "FORMAT",
        help: "json, ndjson or csv, if neither name nor content tells."),
      .init(
        name: "max-deletes", value: "N|P%",
        help: "Refuse to delete more rows than this (default 50%,\nfor tables of more than "
          + "\(MirrorDeletionLimit.maxUnguardedCount) rows)."),
      .init(name: "allow-empty", help: "Take an empty list at its word: delete all rows."),
      .init(name: "unconditional", help: "Ask a URL for the whole list even if it did not change."),
      .init(name: "dry-run", letter: "n", help: "Write nothing; show what would be done."),
      .init(name: "all", help: "Show every change, not just the first \(maxLineCount)."),
      .init(name: "json", help: "Print the whole difference as one JSON object."),
      .init(name: "quiet", letter: "q", help: "Print nothing but errors."),
    ],
    examples: [
      "tandem mirror places.json places.db --table place --key id",
      "tandem mirror https://example.org/feed places.db --table place --key country,code --json",
      "zcat places.csv.gz | tandem mirror - places.db --table place --key id --dry-run",
    ])

  /// How many changes are shown unless all are asked for.
  static let maxLineCount = 100

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let options = try Options(arguments)
    try options.print(try await options.outcome())
    return 0
  }
}

extension MirrorCommand {
  /// What was asked for, checked.
  struct Options {
    var source: RecordSource
    var path: String
    var mirror: DatabaseMirror
    var format: RecordFormat?
    var isUnconditional: Bool
    var arguments: ParsedArguments

    init(_ arguments: ParsedArguments) throws(UsageError) {
      let specification = MirrorCommand.specification
      guard let table = arguments["table"], !table.isEmpty else {
        throw UsageError("--table is missing: the table to mirror into", command: specification)
      }
      guard let key = try arguments.key(specification) else {
        throw UsageError(
          "--key is missing: the fields that identify a record", command: specification)
      }
      var mirrorGuard = MirrorGuard(allowsEmptySource: arguments.has("allow-empty"))
      if let text = arguments["max-deletes"] {
        guard let limit = MirrorDeletionLimit(text) else {
          throw UsageError(
            "--max-deletes takes a count such as 10 or a percentage such as 50%, not '\(text)'",
            command: specification)
        }
        mirrorGuard.deletionLimit = limit
      }
      source = RecordSource(arguments.operands[0])
      path = arguments.operands[1]
      mirror = DatabaseMirror(
        table: table, key: key, mirrorGuard: mirrorGuard, isDryRun: arguments.has("dry-run"))
      format = try arguments.format(specification)
      isUnconditional = arguments.has("unconditional")
      self.arguments = arguments
    }
  }
}

// MARK: - What is printed

extension MirrorCommand.Options {
  func print(_ outcome: DatabaseMirror.Outcome) throws {
    guard !arguments.has("quiet") else { return }
    let output = OutputStream(descriptor: STDOUT_FILENO)
    if arguments.has("json") {
      try output.write { RecordWriter.appendJSON(outcome.difference, to: &$0) }
      try output.write("\n")
    } else {
      try printLines(outcome, to: output)
    }
    try output.flush()
  }

  private func printLines(_ outcome: DatabaseMirror.Outcome, to output: OutputStream) throws {
    let text = DifferenceText(key: mirror.key, terminal: .output)
    let limit = arguments.has("all") ? Int.max : MirrorCommand.maxLineCount
    var count = 0
    try outcome.difference.forEachChange { change in
      count += 1
      if count <= limit { try output.write(text.line(change)) }
    }
    if count > limit {
      try output.write("… and \(count - limit) more changes (show them with --all or --json)\n")
    }
    let verb = mirror.isDryRun ? "would be " : ""
    let created = outcome.createsTable ? "; table \(mirror.table) \(verb)created" : ""
    let added =
      outcome.addedColumns.isEmpty
      ? "" : "; columns \(verb)added: \(outcome.addedColumns.joined(separator: ", "))"
    let prefix = mirror.isDryRun ? "dry run: " : ""
    let summary = "\(prefix)\(outcome.difference.summary)\(created)\(added)"
    try output.write("\(summary.escapingControls())\n")
  }
}
