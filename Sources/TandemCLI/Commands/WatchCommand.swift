import Dispatch
import Tandem

/// `tandem watch`: what changes in a database, as it happens, whoever changes it.
enum WatchCommand: Command {
  static let specification = CommandSpecification(
    name: "watch",
    summary: "Show what changes in a database as it happens.",
    discussion: """
      Watches a table or a query of a SQLite file, and shows what each commit inserted (+),
      updated (~) and deleted (-), whichever program makes it. Commits that come in quick
      succession may be shown as one. Ctrl-C ends it.
      """,
    operands: [.init(name: "DATABASE", help: "A SQLite file that exists; it is only read.")],
    options: [
      .init(name: "table", value: "T", help: "The table to watch (default: the only one)."),
      .init(name: "query", value: "SQL", help: "A query to watch instead of a table."),
      .init(
        name: "key", value: "COLUMN[,COLUMN]",
        help: "The columns of the query that identify a row."),
      .init(name: "initial", help: "Begin with the rows that are there, as inserted."),
      .init(name: "list", help: "Show positions and moves, in the order of the query."),
      .init(name: "json", help: "Print one JSON object per line."),
      .init(name: "once", value: "N", help: "End after N differences."),
      .init(name: "quiet", letter: "q", help: "Print nothing but the changes."),
    ],
    examples: [
      "tandem watch places.db --table place",
      "tandem watch places.db --query 'SELECT id, name FROM place ORDER BY name' --key id --list",
    ])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let limit = try limit(arguments)
    let configuration = DatabaseConfiguration(access: .readOnly, maxReaderCount: 1)
    let database = try await Database.open(
      path: arguments.operands[0], configuration: configuration)
    let query = try await query(arguments, in: database)
    let explanation = try await query.explanation(in: database)
    let isQuiet = arguments.has("quiet")
    if !isQuiet { Terminal.report("watching \(database.path), which \(explanation)") }
    let watching = Task {
      let output = WatchOutput(key: explanation.key, isJSON: arguments.has("json"))
      let skipsFirst = !arguments.has("initial")
      if arguments.has("list") {
        let differences = query.listDifferences(in: database)
        for try await difference in differences.dropFirst(skipsFirst ? 1 : 0) {
          try output.write(difference)
          if output.differenceCount == limit { break }
        }
      } else {
        let differences = query.differences(in: database)
        for try await difference in differences.dropFirst(skipsFirst ? 1 : 0) {
          try output.write(difference)
          if output.differenceCount == limit { break }
        }
      }
      return output.summary
    }
    let interruptions = [SIGINT, SIGTERM].map { onSignal($0) { watching.cancel() } }
    defer { for source in interruptions { source.cancel() } }
    let summary = try await watching.value
    await database.close()
    if !isQuiet { Terminal.report(summary) }
    return 0
  }

  private static func limit(_ arguments: ParsedArguments) throws(UsageError) -> Int {
    guard let text = arguments["once"] else { return .max }
    guard let limit = Int(text), limit > 0 else {
      throw UsageError("--once takes a count, at least 1", command: specification)
    }
    return limit
  }

  private static func onSignal(
    _ signalNumber: Int32, _ action: @escaping @Sendable () -> Void
  ) -> any DispatchSourceSignal {
    signal(signalNumber, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: signalNumber, queue: .global())
    source.setEventHandler(handler: action)
    source.resume()
    return source
  }
}

// MARK: - What to watch

extension WatchCommand {
  private static func query(
    _ arguments: ParsedArguments, in database: Database
  ) async throws -> LiveQuery<Record> {
    let key = try arguments.key(specification)
    guard let sql = arguments["query"] else {
      guard key == nil else {
        throw UsageError("--key goes with --query", command: specification)
      }
      return LiveQuery(table: try await table(arguments["table"], in: database))
    }
    guard let key, arguments["table"] == nil else {
      let message =
        key == nil ? "a query needs --key" : "choose one of --table and --query"
      throw UsageError(message, command: specification)
    }
    return LiveQuery(SQL(text: sql), key: key)
  }

  private static func table(_ name: String?, in database: Database) async throws -> String {
    let (names, isThere) = try await database.read { transaction in
      let connection = transaction.connection
      let isThere = try name.map { try connection.schema(ofTable: $0) != nil }
      return (try connection.tableNames(), isThere)
    }
    guard let name = name ?? (names.count == 1 ? names[0] : nil) else {
      let list = names.isEmpty ? "no table" : "the tables \(names.joined(separator: ", "))"
      throw UsageError(
        "\(database.path) has \(list); choose one with --table", command: specification)
    }
    guard isThere != false else {
      let closest = Spelling.closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
      throw DatabaseError(
        code: .error, message: "there is no table \(name)\(closest)", path: database.path)
    }
    return name
  }
}
