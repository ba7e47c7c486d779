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
        \(setDifferenceShape)
        or, with --list:
        \(listDifferenceShape)
        """)
    static let wait = Flag(
      "wait",
      help: """
        Wait for a file or table that does not exist yet, or no
        longer exists.
        """)
    static let once = ValueOption("once", in: 1...Int.max, help: "End after N differences.")
    static let quiet = Flag("quiet", letter: "q", help: "Print only the changes.")
  }

  /// The options of a run.
  struct Options: Sendable {
    var isList: Bool
    var isJSON: Bool
    var showsInitial: Bool
    var isQuiet: Bool
    /// True if it waits for a file or a table that does not exist.
    var waits: Bool
    /// The number of differences after which the run ends.
    var limit: Int

    /// True if the rows that are shown are kept, to be compared later, or to name those that move.
    var keepsRows: Bool { waits || isList && !isJSON }
  }

  /// The pause between two attempts to find a file or table that does not exist.
  static let waitPause = Duration.milliseconds(100)

  static let specification = CommandSpecification(
    name: "watch",
    summary: "Show the changes of a database as they are committed.",
    discussion: """
      Watches a table or a query of a SQLite file, and shows the rows that each commit inserted
      (+), updated (~) and deleted (-), and with --list those that moved (>), including commits by
      other programs. Commits in quick succession may be shown as one. Ctrl-C ends the command, with
      a summary.

      In a table that tandem track has prepared, only the rows that changed are read; in another
      large table, only the pages that changed. Other queries run again after each commit.

      In a file without a write-ahead log, other programs cannot write while rows are read. So the
      command pauses before it reads all rows again, four times as long as it read before.

      A file or table that goes away ends the command with an error. With --wait, the command waits
      until it is there again, as after DROP TABLE and CREATE TABLE, or after "mv new.db places.db" if
      places.db has no write-ahead log, and then shows how its rows differ from those before.

      SQLite forbids to replace a file that a program has open: it would apply the write-ahead log of
      the former file, DATABASE-wal, to the new one, and destroy that. If the log is there, the command
      ends with an error that says what to do before any program opens the new file.
      """,
    exitStatus: "0 ended by Ctrl-C or --once, 1 failure, 2 wrong usage.",
    operands: [.init(name: "DATABASE", help: "A SQLite file that exists; it is only read.")],
    options: [
      Option.table, Option.query, Option.key, Option.initial, Option.list, Option.json, Option.wait,
      Option.once, Option.quiet,
    ],
    examples: [
      "tandem watch places.db --table place",
      "tandem watch places.db --query 'SELECT id, name FROM place ORDER BY name' --key id --list",
      "tandem watch places.db --table place --wait --json",
    ],
    usesDatabases: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let options = Options(
      isList: arguments[Option.list], isJSON: arguments[Option.json],
      showsInitial: arguments[Option.initial], isQuiet: arguments[Option.quiet],
      waits: arguments[Option.wait], limit: arguments[Option.once] ?? .max)
    if options.waits, arguments[Option.table] == nil, arguments[Option.query] == nil {
      throw arguments.error("--wait needs --table or --query")
    }
    // Ctrl-C works from here on, because opening the file may wait for a lock.
    let summary = try await Stop.ending {
      options.isList
        ? try await watch(arguments, options, as: ListDifference<Record>.self)
        : try await watch(arguments, options, as: SetDifference<Record>.self)
    }
    if !options.isQuiet { TandemCLI.report(summary) }
    return 0
  }

  /// Watches until the limit, or until the task is cancelled; returns a summary.
  private static func watch<Difference: WatchedDifference>(
    _ arguments: ParsedArguments, _ options: Options, as _: Difference.Type
  ) async throws -> String {
    let output = WatchOutput(isJSON: options.isJSON)
    var shown: ShownRows<Difference>?
    var database: Database?
    var lastReason = ""
    // Otherwise the write-ahead log and its index would remain beside the file.
    return try await closing({ await database?.close() }) {
      while true {
        let wasMissing = isFileMissing(arguments)
        do {
          let opened = try await opened(database, arguments)
          database = opened
          try await watch(opened, arguments, options, output, &shown)
          return output.summary
        } catch is CancellationError {
          return output.summary
        } catch let error as OutputError where error.isCancellation {
          // The reader of the output had stalled when the task was cancelled.
          return output.summary
        } catch let error as DatabaseError
          where isAbsence(error, isFileMissing: wasMissing || isFileMissing(arguments))
        {
          if database?.errorOfReopening != nil {
            // "rm places.db*" removes the log last.
            do { try await Task.sleep(for: waitPause) } catch { return output.summary }
            if let error = database?.errorOfReopening { throw error }
          }
          guard options.waits else { throw advised(error, wasShowing: output.isBegun) }
          if error.isFileGone {
            await database?.close()
            database = nil
          }
          if !options.isQuiet, error.message != lastReason {
            TandemCLI.report("waiting: \(error.path): \(error.message)")
          }
          lastReason = error.message
          do { try await Task.sleep(for: waitPause) } catch { return output.summary }
        }
      }
    }
  }

  /// The database that is open if its file is still there, or else one that is opened now.
  ///
  /// It stays open while a table does not exist: its write-ahead log remains the one that
  /// ``Database/errorOfReopening`` knows.
  private static func opened(
    _ database: Database?, _ arguments: ParsedArguments
  ) async throws -> Database {
    guard let database else {
      return try await Database.open(
        path: arguments.operands[0],
        configuration: DatabaseConfiguration(access: .readOnly, maxReaderCount: 1))
    }
    try await database.read { try $0.connection.checkIsFileThere() }
    return database
  }

  private static func watch<Difference: WatchedDifference>(
    _ database: Database, _ arguments: ParsedArguments, _ options: Options,
    _ output: WatchOutput, _ shown: inout ShownRows<Difference>?
  ) async throws {
    let query = try await Self.query(arguments, in: database)
    let mode = try await database.read {
      try $0.fetchValue("PRAGMA journal_mode", as: String.self)
    }
    let watch = Watch<Difference>(
      database: database, query: query, explanation: try await query.explanation(in: database),
      journalMode: mode, options: options)
    try await watch.run(output, &shown)
  }
}

// MARK: - Files and tables that do not exist

extension WatchCommand {
  private static func isFileMissing(_ arguments: ParsedArguments) -> Bool {
    access(arguments.operands[0], F_OK) != 0 && errno == ENOENT
  }

  /// True if an error reports that the file, a table or a column does not exist.
  private static func isAbsence(_ error: DatabaseError, isFileMissing: Bool) -> Bool {
    switch error.code.primary {
    case .cannotOpen: isFileMissing || error.isFileGone
    case .error:
      ["no such table: ", "no such column: ", "there is no table "].contains {
        error.message.hasPrefix($0)
      }
    default: false
    }
  }

  /// The error with the option that would have waited, for what was there before.
  private static func advised(_ error: DatabaseError, wasShowing: Bool) -> DatabaseError {
    guard wasShowing else { return error }
    var error = error
    error.message += "; with --wait, tandem watch waits until it is there again"
    return error
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
        throw arguments.error("--key needs --query")
      }
      return LiveQuery(table: try await table(arguments[Option.table], in: database))
    }
    guard let key, arguments[Option.table] == nil else {
      let message =
        key == nil
        ? "a query needs --key: the columns that identify a row"
        : "choose one of --table and --query"
      throw arguments.error(message)
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
