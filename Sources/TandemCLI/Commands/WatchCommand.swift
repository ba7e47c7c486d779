import Tandem

/// `tandem watch`: shows the changes of a database by all programs as they are committed.
enum WatchCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let table = ValueOption<String>(
      "table", "T", help: "The table to watch (default: the only one).")
    static let query = ValueOption<String>(
      "query", "SQL", help: "A query to watch instead of a table.")
    static let key = ValueOption.key(
      "COLUMN[,COLUMN]", help: "The columns of the query that identify a row.")
    static let initial = Flag("initial", help: "Show the present rows first, as inserted.")
    static let list = Flag("list", help: "Show positions and moves, in the order of the query.")
    static let json = Flag(
      "json",
      help: """
        Print one JSON object per line:
        {"inserted":[ROW],"updated":[{"old":ROW,"new":ROW}],"deleted":[ROW]}
        """)
    static let once = ValueOption("once", in: 1...Int.max, help: "End after N differences.")
    static let quiet = Flag("quiet", letter: "q", help: "Print only the changes.")
  }

  static let specification = CommandSpecification(
    name: "watch",
    summary: "Show the changes of a database as they are committed.",
    discussion: """
      Watches a table or a query of a SQLite file, and shows the rows that each commit inserted
      (+), updated (~) and deleted (-), including commits by other programs. Commits in quick
      succession may be shown as one. Ctrl-C ends the command, with a summary.

      The query runs again after each commit. In a table that tandem track has prepared, only the
      rows that changed are read.
      """,
    operands: [.init(name: "DATABASE", help: "A SQLite file that exists; it is only read.")],
    options: [
      Option.table, Option.query, Option.key, Option.initial, Option.list, Option.json, Option.once,
      Option.quiet,
    ],
    examples: [
      "tandem watch places.db --table place",
      "tandem watch places.db --query 'SELECT id, name FROM place ORDER BY name' --key id --list",
    ])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let limit = arguments[Option.once] ?? .max
    // Ctrl-C works from here on, because opening the file may wait for a lock.
    let summary = try await Stop.ending {
      do {
        return try await watch(arguments, limit: limit)
      } catch is CancellationError {
        return WatchOutput.emptySummary
      }
    }
    if !arguments[Option.quiet] { TandemCLI.report(summary) }
    return 0
  }

  private static func watch(_ arguments: ParsedArguments, limit: Int) async throws -> String {
    let configuration = DatabaseConfiguration(access: .readOnly, maxReaderCount: 1)
    let database = try await Database.open(
      path: arguments.operands[0], configuration: configuration)
    do {
      let summary = try await watch(database, arguments, limit: limit)
      await database.close()
      return summary
    } catch {
      // Otherwise the write-ahead log and its index would remain beside the file.
      await database.close()
      throw error
    }
  }

  private static func watch(
    _ database: Database, _ arguments: ParsedArguments, limit: Int
  ) async throws -> String {
    let query = try await query(arguments, in: database)
    let mode = try await database.read { try $0.fetchValue("PRAGMA journal_mode", as: String.self) }
    let watch = Watch(
      database: database, query: query, explanation: try await query.explanation(in: database),
      journalMode: mode, isList: arguments[Option.list], isJSON: arguments[Option.json],
      showsInitial: arguments[Option.initial], isQuiet: arguments[Option.quiet], limit: limit)
    return try await watch.run()
  }
}

// MARK: - The query

extension WatchCommand {
  private static func query(
    _ arguments: ParsedArguments, in database: Database
  ) async throws -> LiveQuery<Record> {
    let key = arguments[Option.key]
    guard let sql = arguments[Option.query] else {
      guard key == nil else {
        throw UsageError("--key needs --query", command: specification)
      }
      return LiveQuery(table: try await table(arguments[Option.table], in: database))
    }
    guard let key, arguments[Option.table] == nil else {
      let message =
        key == nil
        ? "a query needs --key: the columns that identify a row"
        : "choose one of --table and --query"
      throw UsageError(message, command: specification)
    }
    return LiveQuery(SQL(text: sql), key: key)
  }

  private static func table(_ name: String?, in database: Database) async throws -> String {
    try await database.read { transaction in
      let schema = try transaction.schema(ofNamedTable: name, for: specification)
      guard !schema.isView else {
        throw DatabaseError(
          code: .error,
          message: "\(schema.name) is a view, whose rows have no key of their own: "
            + "watch --query 'SELECT * FROM \(schema.name)' with --key", path: database.path)
      }
      return schema.name
    }
  }
}
