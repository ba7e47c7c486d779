import Tandem

/// `tandem track`: makes whoever writes to a table note which rows change.
enum TrackCommand: Command {
  static let specification = CommandSpecification(
    name: "track",
    summary: "Note the changes of a table, whoever makes them.",
    discussion: """
      Adds triggers to a table that note the key of each row that changes, and a table
      tandem_changes_T that holds the last 100,000 of them. tandem watch, and live queries,
      then read only those rows again, however large the table. Repeat it after a change of
      the table's keys or unique indexes.
      """,
    operands: [.init(name: "DATABASE", help: "A SQLite file that exists.")],
    options: [.init(name: "table", value: "T", help: "The table to track.")],
    examples: ["tandem track places.db --table place"])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let table = try arguments.requiredTable(specification)
    let database = try await Database.open(existing: arguments.operands[0])
    let blindSpots = try await database.track(table: table)
    await database.close()
    for blindSpot in blindSpots { Terminal.report("\(table): it cannot see \(blindSpot)") }
    Terminal.report(
      "\(table) is tracked; unseen is only what bypasses triggers, as writable_schema does")
    return 0
  }
}

/// `tandem untrack`: undoes `tandem track`.
enum UntrackCommand: Command {
  static let specification = CommandSpecification(
    name: "untrack",
    summary: "Undo track, without a trace.",
    discussion: "Removes the triggers and the table that tandem track added.",
    operands: [.init(name: "DATABASE", help: "A SQLite file that exists.")],
    options: [.init(name: "table", value: "T", help: "The table that is tracked.")],
    examples: ["tandem untrack places.db --table place"])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let table = try arguments.requiredTable(specification)
    let database = try await Database.open(existing: arguments.operands[0])
    let wasTracked = try await database.untrack(table: table)
    await database.close()
    Terminal.report(wasTracked ? "\(table) is no longer tracked" : "\(table) was not tracked")
    return 0
  }
}

extension ParsedArguments {
  /// The table that must be named.
  fileprivate func requiredTable(_ command: CommandSpecification) throws(UsageError) -> String {
    guard let table = self["table"] else {
      throw UsageError("name the table with --table", command: command)
    }
    return table
  }
}

extension Database {
  fileprivate static func open(existing path: String) async throws -> Database {
    try await open(path: path, configuration: DatabaseConfiguration(access: .readWrite))
  }
}

extension Terminal {
  /// Writes a line for people to standard error.
  static func report(_ message: String) {
    try? OutputStream.write(Array("tandem: \(message)\n".utf8), to: STDERR_FILENO)
  }
}
