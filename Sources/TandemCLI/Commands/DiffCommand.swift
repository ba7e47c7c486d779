import Tandem

/// `tandem diff`: compares two lists or tables.
enum DiffCommand: Command {
  static let failureStatus: Int32 = 2

  /// The options, each declared once.
  enum Option {
    static let key = ValueOption.key(
      help:
        "The fields that identify a record (default: the primary\nkey of a table; id for two lists)."
    )
    static let table = ValueOption<String>(
      "table", "T", help: "The table of a SQLite file (default: the only one).")
    static let format = ValueOption<RecordFormat>(
      "format", "FORMAT", help: "json, ndjson or csv, if the name does not show it.")
    static let list = Flag("list", help: "Compare the order of two lists too; show moves.")
    static let text = Flag("text", help: "Compare two texts by lines, as diff -u does.")
    static let json = Flag("json", help: "Print the whole difference as one JSON object.")
    static let quiet = Flag("quiet", letter: "q", help: "Print nothing; only set the exit status.")
  }

  static let specification = CommandSpecification(
    name: "diff",
    summary: "Show the differences between two lists or tables.",
    discussion: """
      Compares two collections of records by key, and shows the records that were inserted (+),
      updated (~) and deleted (-) from OLD to NEW. Two SQLite tables of any size are compared in
      constant memory. A list and a table are compared as the table would store the list.

      With --list, the order of two lists is compared too, and moved records are shown (>). With
      --text, OLD and NEW are UTF-8 texts of at most \(FileText.maxByteCount >> 30) GiB each, and a unified diff is printed.

      Exit status: 0 no differences, 1 differences, 2 errors.
      """,
    operands: [
      .init(
        name: "OLD",
        help:
          "A JSON array, NDJSON, CSV or SQLite file, - for standard\ninput, or an http(s) URL of a list."
      ),
      .init(name: "NEW", help: "The same."),
    ],
    options: [
      Option.key, Option.table, Option.format, Option.list, Option.text, Option.json, Option.quiet,
    ],
    examples: [
      "tandem diff monday.csv tuesday.csv --key id",
      "tandem diff backup.db app.db --table place --json",
      "curl -s https://example.org/places.json | tandem diff app.db - --table place",
      "tandem diff --list monday.json tuesday.json --key id",
      "tandem diff --text draft.txt final.txt",
    ])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let names = arguments.operands
    guard names != ["-", "-"] else {
      throw UsageError("only one of OLD and NEW can be standard input", command: specification)
    }
    if arguments[Option.text] { return try compareTexts(arguments) }
    let namedKey = arguments[Option.key]
    let old = try await collection(names[0], arguments)
    let new = try await collection(names[1], arguments)
    try checkOptions(arguments, for: [old, new])
    let key = namedKey ?? defaultKey(old, new)
    let comparison = RecordComparison(from: old, to: new, key: key)
    do {
      if arguments[Option.list] { return try compareOrder(old, new, key: key, arguments) }
      return try printChanges(comparison, arguments) == 0 ? 0 : 1
    } catch let error as RecordError {
      throw located(error, in: [(names[0], old), (names[1], new)], key: key)
    }
  }

  private static func defaultKey(_ old: RecordCollection, _ new: RecordCollection) -> [String] {
    [old.primaryKey, new.primaryKey, ["id"]].first { !$0.isEmpty } ?? ["id"]
  }
}

// MARK: - Collections

extension DiffCommand {
  /// Rejects options that would have no effect.
  private static func checkOptions(
    _ arguments: ParsedArguments, for collections: [RecordCollection]
  ) throws(UsageError) {
    let tableCount = collections.count { if case .table = $0 { true } else { false } }
    if arguments.has(Option.table), tableCount == 0 {
      throw UsageError(
        "--table is for a SQLite file, and neither OLD nor NEW is one", command: specification)
    }
    if arguments.has(Option.format), tableCount == collections.count {
      throw UsageError("--format is for lists, not for tables", command: specification)
    }
  }

  private static func collection(
    _ name: String, _ arguments: ParsedArguments
  ) async throws -> RecordCollection {
    let source = RecordSource(name)
    if case .file(let path) = source, SQLiteFile.isAt(path) {
      return try table(of: path, named: arguments[Option.table])
    }
    do {
      let list = try await source.list(
        format: arguments[Option.format], client: try SystemHTTPClient())
      guard case .records(let records, _, _) = list else {
        throw TransportError(.badStatus, "the server sent no list", url: name)
      }
      return .list(records)
    } catch let error as RecordError {
      throw SourceError(source: source, error: error)
    }
  }

  private static func table(of path: String, named name: String?) throws -> RecordCollection {
    let database = try Database(
      path: path, configuration: DatabaseConfiguration(access: .readOnly))
    let schema = try database.read { transaction in
      try transaction.schema(ofNamedTable: name, for: specification)
    }
    return .table(schema, database)
  }
}

extension DiffCommand {
  /// The error with the name of the list that causes it.
  private static func located(
    _ error: RecordError, in sides: [(name: String, collection: RecordCollection)], key: [String]
  ) -> any Error {
    for case (let name, .list(let records)) in sides {
      do throws(RecordError) {
        _ = try KeyedRecords(records, key: key)
      } catch let cause where cause == error {
        return SourceError(source: RecordSource(name), error: error)
      } catch {}
    }
    return error
  }
}

// MARK: - Printing

extension DiffCommand {
  /// Prints the changes in the format of the options, and returns their number.
  private static func printChanges(
    _ comparison: RecordComparison, _ arguments: ParsedArguments
  ) throws -> Int {
    if arguments[Option.quiet] {
      var count = 0
      try comparison.forEachChange { _ in count += 1 }
      return count
    }
    return arguments[Option.json]
      ? try printJSON(comparison) : try printLines(comparison)
  }

  private static func printLines(_ comparison: RecordComparison) throws -> Int {
    let output = OutputStream(descriptor: STDOUT_FILENO)
    let text = DifferenceText(key: comparison.key, terminal: .output)
    var count = 0
    try comparison.forEachChange { change in
      count += 1
      try output.write(text.line(change))
    }
    try output.flush()
    return count
  }

  /// Prints one object. The changes of two tables come in the order of their keys, with all kinds mixed, so
  /// a temporary file holds those of each kind until all are known.
  private static func printJSON(_ comparison: RecordComparison) throws -> Int {
    var inserted = try Spool()
    var updated = try Spool()
    var deleted = try Spool()
    try comparison.forEachChange { change in
      switch change {
      case .inserted(let record):
        try inserted.append { RecordWriter.appendJSON(record, to: &$0) }
      case .updated(let old, let new):
        try updated.append { bytes in
          bytes.appendJSON { json in
            json.object { json in
              json.field("old", old)
              json.field("new", new)
            }
          }
        }
      case .deleted(let record):
        try deleted.append { RecordWriter.appendJSON(record, to: &$0) }
      }
    }
    let output = OutputStream(descriptor: STDOUT_FILENO)
    try output.write(#"{"inserted":["#)
    try inserted.copy(to: output)
    try output.write(#"],"updated":["#)
    try updated.copy(to: output)
    try output.write(#"],"deleted":["#)
    try deleted.copy(to: output)
    try output.write("]}\n")
    try output.flush()
    return inserted.count + updated.count + deleted.count
  }
}
