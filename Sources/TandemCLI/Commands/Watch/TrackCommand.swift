import Tandem

/// `tandem track`: records the changes of a table by triggers.
enum TrackCommand: Command {
  private static let table = ValueOption<String>("table", "T", help: "The table to track.")

  static let specification = CommandSpecification(
    name: "track",
    summary: "Record the changes of a table by all programs.",
    discussion: """
      Adds triggers to the table, which record the key of each row that changes, and a table
      tandem_changes_T with the last 100,000 keys. tandem watch and live queries then read only
      these rows again, in tables of any size.

      While T is tracked, SQLite rejects ALTER TABLE T DROP COLUMN for the columns of its key and of
      its unique indexes, also of former ones: untrack T before you change its schema, and track it
      again afterwards. Also track it again after you have added a unique index or a trigger; until
      then, all rows are read again.
      """,
    operands: [.init(name: "DATABASE", help: "A SQLite file that exists.")],
    options: [table],
    examples: ["tandem track places.db --table place"],
    usesDatabases: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let table = try arguments.required(table, "the name of the table")
    let tracking = try write(to: arguments.operands[0]) { transaction in
      let schema = try transaction.schema(ofNamedTable: table, for: specification)
      let tracking = try TableTracking(table: schema.name, in: transaction.connection)
      try transaction.connection.track(tracking)
      return tracking
    }
    for blindSpot in tracking.blindSpots {
      TandemCLI.report("\(tracking.table): tracking cannot see \(blindSpot)")
    }
    TandemCLI.report(
      "\(tracking.table) is tracked; writes that bypass triggers, as with writable_schema, are not seen"
    )
    return 0
  }
}

/// `tandem untrack`: ends the tracking of a table.
enum UntrackCommand: Command {
  private static let table = ValueOption<String>("table", "T", help: "The tracked table.")

  static let specification = CommandSpecification(
    name: "untrack",
    summary: "Undo track.",
    discussion: """
      Removes the triggers and the table that tandem track added.
      """,
    operands: [.init(name: "DATABASE", help: "A SQLite file that exists.")],
    options: [table],
    examples: ["tandem untrack places.db --table place"],
    usesDatabases: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let table = try arguments.required(table, "the name of the table")
    let wasTracked = try TrackCommand.write(to: arguments.operands[0]) { transaction in
      let wasTracked = try transaction.connection.untrack(table)
      // A table that was dropped may have left its log.
      if !wasTracked { _ = try transaction.schema(ofNamedTable: table, for: specification) }
      return wasTracked
    }
    TandemCLI.report(wasTracked ? "\(table) is no longer tracked" : "\(table) was not tracked")
    return 0
  }
}

extension TrackCommand {
  /// Writes to a file that exists, which keeps its journal mode.
  fileprivate static func write<Value>(
    to path: String, _ body: (borrowing WriteTransaction) throws -> Value
  ) throws -> Value {
    let database = try Database(
      path: path,
      configuration: DatabaseConfiguration(access: .readWrite, journal: .asItIs, maxReaderCount: 1))
    return try database.write(body)
  }
}
