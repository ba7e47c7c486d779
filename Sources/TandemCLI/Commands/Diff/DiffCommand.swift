import Tandem

/// `tandem diff`: compares two lists or tables.
enum DiffCommand: Command {
  static let failureStatus = ExitStatus.failure

  /// The options, each declared once.
  enum Option {
    static let key = ValueOption.key(
      help:
        "The fields that identify a record (default: the primary\nkey of a table; id for two lists)."
    )
    static let noKey = Flag(
      "no-key",
      help: "Compare the records of two lists as wholes, each as often\nas it occurs.")
    static let table = ValueOption<String>(
      "table", "T",
      help: "The table of a SQLite file (default: the only one, or all\ntables of two files).")
    static let format = ValueOption<RecordFormat>(
      "format", "FORMAT", help: "json, ndjson, csv or tsv, if the name does not show it.")
    static let list = Flag("list", help: "Compare the order of two lists too; show moves.")
    static let text = Flag("text", help: "Compare two texts by lines, as diff -u does.")
    static let json = Flag(
      "json",
      help: """
        Print the whole difference as one JSON object:
        \(setDifferenceShape)
        and, if the columns of two CSV lists differ, also
        "columns":{"removed":[C],"added":[C]};
        or, with --list:
        \(listDifferenceShape)
        or, for two databases as wholes:
        {"tables":[{"table":T,"old":BOOL,"new":BOOL,
        "columns":[{"name":C,"old":TYPE,"new":TYPE}],
        "declaration":{"old":SQL,"new":SQL},
        "inserted":[ROW],"updated":[{"old":ROW,"new":ROW}],
        "deleted":[ROW]}],
        "objects":[{"type":"index|view|trigger","name":NAME,
        "old":SQL,"new":SQL}]}, where "declaration" is null
        unless the tables declare something else than columns
        and types in different ways
        """)
    static let quiet = Flag("quiet", letter: "q", help: "Print nothing; only set the exit status.")
    static let label = ValueOption<String>(
      "label", "NAME", isRepeatable: true,
      help: "Show this name in place of OLD; the second time, in place\nof NEW.")
    static let exitZero = Flag(
      "exit-zero",
      help: "Exit with 0 also if there are differences, as git expects\nof an external diff.")
  }

  static let specification = CommandSpecification(
    name: "diff",
    summary: "Show the differences between two lists or tables.",
    discussion: """
      Compares two collections of records by key, and shows the records that were inserted (+),
      updated (~) and deleted (-) from OLD to NEW, under the names of both.

      Two lists are compared by the types of their format. In JSON, 1, 1.0, true and "1" differ; the
      order of fields, white space and escapes do not count. The cells of CSV are texts, in quotes or
      not. A list of CSV beside one of JSON, and a list beside a table, are compared as a table would
      store them: numbers by their values, and true as 1. Only beside a column of texts do the cells
      of CSV stay texts.

      Two SQLite tables of any size are compared in constant memory, numbers by their values (1 and
      1.0 are equal), and copies of one file first by their pages. Two SQLite files without --table
      are compared whole: all tables but Tandem's own (tandem_…), those of one file only too, their
      columns and keys, whatever else they declare (as UNIQUE or DEFAULT), indexes, views and
      triggers. The rows of a table without a primary key, or with NULL in one, are compared as
      wholes. If each file has only one table, and only its rows differ, the output is that of
      --table. That table needs a primary key, or a column id with another value in each row.

      With --no-key, two lists are compared as bags of records: a record that occurs twice in OLD
      and once in NEW was deleted once, and nothing is updated. A key may name a field of an object
      inside the record, as properties.code. An empty cell may be a part of a key.

      /dev/null stands for an empty list or database. A text that is not UTF-8 is an error, which
      names its column: it could not be shown as it is.

      With --list, the order of two lists is compared too, and moved records are shown (>). With
      --text, OLD and NEW are texts of at most \(FileText.maxByteCount >> 30) GiB each, and a unified diff is printed; if one is
      not UTF-8, a line says that they differ.
      """,
    exitStatus: "0 no differences, 1 differences (0 with --exit-zero), 2 errors.",
    operands: [
      .init(
        name: "OLD",
        help:
          "A JSON array, NDJSON, CSV or TSV, also in gzip, or a SQLite\nfile; - for standard input; or an "
          + "http(s) URL of a list."
      ),
      .init(name: "NEW", help: "The same."),
    ],
    options: [
      Option.key, Option.noKey, Option.table, Option.format, Option.list, Option.text, Option.json,
      Option.quiet, Option.label, Option.exitZero,
    ] + ListRequest.options + CSVOption.all,
    examples: [
      "tandem diff monday.csv tuesday.csv --key id",
      "tandem diff backup.db app.db --table place --json",
      "tandem diff backup.db app.db",
      "tandem diff old.csv new.csv --key id --delimiter ';' --encoding windows-1252",
      "tandem diff app.db https://example.org/places --table place --items data --page link",
      "tandem diff --list monday.json tuesday.json --key id",
      "tandem diff --text draft.txt final.txt",
    ],
    usesDatabases: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let names = arguments.operands
    guard names != ["-", "-"] else {
      throw arguments.error("only one of OLD and NEW can be standard input")
    }
    try arguments.checkQuietJSON(Option.quiet, Option.json)
    for option in [Option.key as any CommandOption, Option.list]
    where arguments[Option.noKey] && arguments.has(option) {
      throw arguments.error("--no-key does not combine with --\(option.name)")
    }
    guard arguments.all(Option.label).count <= names.count else {
      throw arguments.error("--label is given more than twice")
    }
    let hasDifferences =
      try arguments[Option.text]
      ? compareTexts(arguments) : await compareCollections(arguments)
    return hasDifferences && !arguments[Option.exitZero] ? 1 : 0
  }

  /// The names of OLD and NEW in the output.
  static func labels(_ arguments: ParsedArguments) -> [String] {
    let labels = arguments.all(Option.label)
    return arguments.operands.enumerated().map { position, name in
      position < labels.count ? labels[position] : RecordSource(name).description
    }
  }
}

// MARK: - Collections

extension DiffCommand {
  /// One side of the comparison.
  enum Side {
    case list(ListText)
    case database(Database)
    /// An empty list or database, as git names the missing side of a file that was added or deleted.
    case nothing

    var list: ListText? { if case .list(let list) = self { list } else { nil } }
    var database: Database? { if case .database(let database) = self { database } else { nil } }
  }

  /// Compares lists, tables or databases; returns true if they differ.
  private static func compareCollections(_ arguments: ParsedArguments) async throws -> Bool {
    let names = arguments.operands
    var request = try ListRequest(arguments, format: arguments[Option.format])
    request.list.csv = try arguments.csvOptions()
    request.list.key = arguments[Option.key] ?? ["id"]
    // Beside a table, the key is one of the table.
    if !names.contains(where: SQLiteFile.isAt), !arguments[Option.noKey] {
      request.list.csv.requiredFields = request.list.key
    }
    let sources = try request.sources(names)
    let sides = [try await side(sources[0], request), try await side(sources[1], request)]
    try checkOptions(arguments, for: sides)
    if sides.contains(where: { $0.database != nil }), sides.allSatisfy({ $0.list == nil }),
      let comparison = try databases(sides, arguments)
    {
      return try compare(comparison, arguments)
    }
    if sides.allSatisfy({ $0.database == nil }) {
      let list = sides.compactMap(\.list).first ?? ListText(emptyOf: .json)
      let lists = sides.map { $0.list ?? ListText(emptyOf: list.format) }
      if arguments[Option.noKey] { return try compareBags(lists, arguments) }
      if lists[0].format.isCSV == lists[1].format.isCSV {
        return try compareLists(lists[0], lists[1], arguments)
      }
    }
    return try compareStored(sides, arguments)
  }

  private static func side(_ source: RecordSource, _ request: ListRequest) async throws -> Side {
    if source == .file("/dev/null") { return .nothing }
    if case .file(let path) = source, SQLiteFile.isAt(path) {
      return .database(
        try Database(path: path, configuration: DatabaseConfiguration(access: .readOnly)))
    }
    return .list(try await request.text(of: source))
  }

  /// Rejects options that would have no effect.
  private static func checkOptions(
    _ arguments: ParsedArguments, for sides: [Side]
  ) throws(UsageError) {
    let lists = sides.compactMap(\.list)
    if arguments.has(Option.table), !sides.contains(where: { $0.database != nil }) {
      throw arguments.error("--table is for a SQLite file, and neither OLD nor NEW is one")
    }
    if arguments.has(Option.format), lists.isEmpty {
      throw arguments.error("--format is for lists, not for tables")
    }
    try arguments.checkCSVOptions(for: lists.map(\.format))
    for option in [Option.list, Option.noKey]
    where arguments[option] && sides.contains(where: { $0.database != nil }) {
      let reason =
        option.name == Option.list.name
        ? "a table has no order" : "tables without a key are compared by whole rows without --table"
      throw arguments.error("--\(option.name) compares lists; \(reason)")
    }
  }

  /// Compares lists, or tables, or one with the other, as tables store them.
  private static func compareStored(_ sides: [Side], _ arguments: ParsedArguments) throws -> Bool {
    let tables = try sides.map { try table(of: $0, arguments) }
    // A column of texts has `1.50`, which otherwise would be read as the number 1.5.
    let schema = tables.compactMap { $0?.schema }.first
    let primaryKey = tables.compactMap { $0?.schema.primaryKey }.first { !$0.isEmpty }
    let key = arguments[Option.key] ?? primaryKey ?? ["id"]
    let kinds = schema?.cellKinds(key: key) ?? [:]
    let collections = try sides.indices.map { position in
      if let (schema, database) = tables[position] {
        return RecordCollection.table(schema, database)
      }
      return .list(
        try records(of: sides[position], arguments.operands[position], kinds, key: key))
    }
    let (old, new) = (collections[0], collections[1])
    if !arguments.has(Option.key) { try checkDefaultKey(key, in: collections, arguments) }
    do {
      if arguments[Option.list] {
        guard case .list(let old) = old, case .list(let new) = new else { return false }
        for list in [old, new] { _ = try KeyedRecords(list, key: key) }
        let difference = ListDifference(
          from: old, to: new, identifiedBy: { record in RecordKey(key.map { record[$0] }) })
        return try write(difference, to: new, key: key, arguments)
      }
      let comparison = RecordComparison(from: old, to: new, key: key)
      let isOfTables = sides.allSatisfy { $0.database != nil }
      return try write(key: key, isOfTables: isOfTables, arguments) {
        try comparison.forEachChange($0)
      }
    } catch let error as RecordError {
      throw located(error, in: Array(zip(arguments.operands, collections)), key: key)
    }
  }

  /// Throws if a table lacks the columns that identify its rows without `--key`.
  private static func checkDefaultKey(
    _ key: [String], in collections: [RecordCollection], _ arguments: ParsedArguments
  ) throws(UsageError) {
    for case .table(let schema, _) in collections
    where key.contains(where: { schema.column(named: $0) == nil }) {
      let reason =
        schema.primaryKey.isEmpty
        ? "has no primary key, and no column id" : "has no column \(key.joined(separator: ", "))"
      throw arguments.error(
        "--key is missing: the table \(schema.name) \(reason); its columns are "
          + schema.columnNames.joined(separator: ", ")
          + "; without --table, tables of two databases are compared by whole rows")
    }
  }

  /// The table of a database that is compared; `nil` if the side is a list.
  private static func table(
    of side: Side, _ arguments: ParsedArguments
  ) throws -> (schema: TableSchema, database: Database)? {
    guard let database = side.database else { return nil }
    let schema = try database.read { transaction in
      try transaction.schema(ofNamedTable: arguments[Option.table], for: specification)
    }
    return (schema, database)
  }

  /// The records of a list as a table would store them.
  static func records(
    of side: Side, _ name: String, _ kinds: [String: CSVColumnKind], key: [String]
  ) throws -> [Record] {
    do throws(RecordError) {
      let records = try side.list?.storedRecords(kinds, key: key) ?? []
      // Packing copies the list, and only a path has a value to lift.
      guard key.contains(where: { $0.contains(".") }) else { return records }
      return Array(PackedRecords(records).lifting(key))
    } catch {
      throw SourceError(source: RecordSource(name), error: error)
    }
  }

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
