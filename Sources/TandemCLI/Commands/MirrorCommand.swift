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

// MARK: - The run

extension MirrorCommand.Options {
  /// Mirrors the list into the file. A file that does not exist is only created once the list turns
  /// out to be one that can be mirrored.
  func outcome() async throws -> DatabaseMirror.Outcome {
    if access(path, F_OK) == 0 {
      let connection = try DatabaseConnection(
        path: path, access: mirror.isDryRun ? .readOnly : .readWrite)
      return try await outcome(in: connection)
    }
    guard case .records(let records, let origin) = try await list(nil) else {
      return DatabaseMirror.Outcome()
    }
    var rehearsal = mirror
    rehearsal.isDryRun = true
    let outcome = try run(
      rehearsal, records, into: DatabaseConnection(path: ":memory:"), origin: origin)
    if mirror.isDryRun { return outcome }
    return try run(mirror, records, into: DatabaseConnection(path: path), origin: origin)
  }

  /// Reads the list and mirrors it; nothing is compared if the server says that nothing changed.
  private func outcome(
    in connection: DatabaseConnection
  ) async throws -> DatabaseMirror.Outcome {
    var validators: HTTPValidators?
    if case .url(let url) = source, !isUnconditional {
      validators = try mirror.validators(for: url, in: connection)
    }
    var answer = try await list(validators)
    if case .notModified = answer, case .url(let url) = source,
      try mirror.validators(for: url, in: connection) != validators
    {
      // The table was changed while the server was asked.
      answer = try await list(nil)
    }
    guard case .records(let records, let origin) = answer else { return DatabaseMirror.Outcome() }
    return try run(mirror, records, into: connection, origin: origin)
  }

  private func list(_ validators: HTTPValidators?) async throws -> RecordList {
    let bar = ProgressBar("reading", isQuiet: arguments.has("quiet"))
    defer { bar.finish() }
    do {
      return try await source.list(
        format: format, validators: validators, client: try SystemHTTPClient(),
        progress: { bar.update($0, of: $1, unit: "bytes") })
    } catch let error as RecordError {
      throw SourceError(source: source, error: error)
    }
  }

  private func run(
    _ mirror: DatabaseMirror, _ records: [Record], into connection: DatabaseConnection,
    origin validators: HTTPValidators
  ) throws -> DatabaseMirror.Outcome {
    let origin: MirrorOrigin? =
      if case .url(let url) = source { MirrorOrigin(url: url, validators: validators) } else { nil }
    let bar = ProgressBar("writing", isQuiet: arguments.has("quiet"))
    defer { bar.finish() }
    do {
      return try mirror.run(
        records, into: connection, origin: origin,
        progress: { bar.update($0, of: $1, unit: "changes") })
    } catch let error as RecordError {
      throw SourceError(source: source, error: error)
    } catch let error as MirrorError {
      throw Refusal(path: path, error: error)
    }
  }
}

/// An error in a list, with the name of its source.
struct SourceError: Error, CustomStringConvertible {
  var source: RecordSource
  var error: RecordError

  var description: String { "\(source): \(error)" }
}

/// A refusal, with the option that would allow the run.
private struct Refusal: Error, CustomStringConvertible {
  var path: String
  var error: MirrorError

  var description: String {
    let option: String
    switch error.code {
    case .emptySource: option = " with --allow-empty"
    case .tooManyDeletions: option = error.deletionCount.map { " with --max-deletes \($0)" } ?? ""
    default: option = ""
    }
    return "\(path): \(error)\(option); nothing was changed"
  }
}

// MARK: - What is printed

extension MirrorCommand.Options {
  func print(_ outcome: DatabaseMirror.Outcome) throws {
    let output = OutputStream(descriptor: STDOUT_FILENO)
    if arguments.has("json") {
      try output.write { RecordWriter.appendJSON(outcome.difference, to: &$0) }
      try output.write("\n")
    } else if !arguments.has("quiet") {
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
    try output.write("\(prefix)\(outcome.difference.summary)\(created)\(added)\n")
  }
}

extension ParsedArguments {
  /// The format of lists, from `--format`.
  func format(_ command: CommandSpecification) throws(UsageError) -> RecordFormat? {
    guard let name = self["format"] else { return nil }
    guard let format = RecordFormat(rawValue: name) else {
      let names = RecordFormat.allCases.map(\.rawValue)
      let hint = Spelling.closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
      throw UsageError(
        "--format takes \(names.joined(separator: ", ")), not '\(name)'\(hint)", command: command)
    }
    return format
  }
}
