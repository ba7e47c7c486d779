import Tandem
import TandemPostgreSQL

/// `tandem store`: prints and upgrades the schema of spaces on PostgreSQL, and moves spaces there and back.
enum StoreCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let json = Flag(
      "json",
      help: """
        Print one JSON object per space: {"space":NAME,
        "outcome":"copied","revision":R,"rows":N}; the outcome may
        also be "copiedBefore", or "failed" with an "error".
        """)
    static let again = Flag(
      "again",
      help: """
        Copy also spaces that were moved before. Only if the
        copy that was made then was interrupted or is lost.
        """)
  }

  static let specification = CommandSpecification(
    name: "store",
    summary: "Move spaces between files and a PostgreSQL database.",
    discussion: """
      copy FROM TO moves all spaces, or those named, from the directory of a server to a PostgreSQL
      database, or back. One of FROM and TO is the directory, and the other one an address as in
      tandem serve --store. A space takes its history along, so that copies of it go on where they were.
      Stop the server of the directory first; those of the database may run.

      Each space is copied as a whole or not at all, and compared with its source. A space in FROM is then
      marked as moved: servers refuse it, and copies wait until TO is served. Serve TO, and then
      delete FROM. If the command was interrupted, run it again. A space that TO has already is refused, and so
      is one that was moved to another place, which would be a second one.

      sql prints the SQL that makes the schema tandem, for a user who may create it, as in
      tandem store sql | psql -1 -d spaces. The user of tandem serve --store then needs the rights that
      the last lines grant; put the name of that user there. tandem serve --store --create-store runs
      the same SQL itself.

      upgrade ADDRESS brings the schema of an earlier version to this one, in one transaction. Stop all
      servers of the database first, back it up, and run this as the owner of the schema. Servers
      refuse a schema of another version.
      """,
    operands: [
      .init(
        name: "ACTION", help: "copy, sql or upgrade.", offer: .words(["copy", "sql", "upgrade"])),
      .init(
        name: "[FROM TO [SPACE...]]",
        help: "The places, and the names of the spaces to copy; or the address to upgrade."),
    ],
    options: [Option.again, Option.json, Flag.quiet],
    examples: [
      "tandem store sql", "tandem store copy spaces postgresql://tandem@db.example/spaces",
      "tandem store copy service=spaces spaces notes", "tandem store upgrade service=spaces",
    ], repeatsLastOperand: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    // Other users may not read spaces and members.
    umask(0o077)
    let places = Array(arguments.operands.dropFirst())
    switch arguments.operands.first {
    case "sql" where places.isEmpty: return try printSQL()
    case "upgrade" where places.count == 1: return try await upgrade(places[0], arguments)
    case "copy" where places.count >= 2:
      return try await copy(places[0], places[1], Array(places.dropFirst(2)), arguments)
    default:
      throw arguments.error(
        "unexpected '\(arguments.operands.joined(separator: " "))': write sql, copy FROM TO, or "
          + "upgrade ADDRESS")
    }
  }

  private static func printSQL() throws -> Int32 {
    try OutputStream.printLines(
      (PostgreSQLSchema.sql + "\n" + PostgreSQLWebhooks.sql).split(separator: "\n").map(String.init)
        + [
          "-- GRANT USAGE ON SCHEMA tandem TO the_user_of_the_nodes;",
          "-- GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tandem TO the_user_of_the_nodes;",
        ])
    return ExitStatus.success
  }

  private static func upgrade(_ address: String, _ arguments: ParsedArguments) async throws -> Int32
  {
    try PostgreSQLDatabase.check(address: address)
    let (former, format) = try await PostgreSQLDatabase.upgrade(address: address)
    if !arguments[Flag.quiet] {
      TandemCLI.report(
        former == format
          ? "the schema has format \(format), that of this version"
          : "the schema had format \(former), and has \(format) now")
    }
    return ExitStatus.success
  }

  private static func copy(
    _ source: String, _ target: String, _ chosen: [String], _ arguments: ParsedArguments
  ) async throws -> Int32 {
    let failureCount = try await StoreCopy.with(from: source, to: target, arguments) { copy in
      var failureCount = 0
      let names = chosen.isEmpty ? try await copy.names() : chosen
      guard !names.isEmpty else {
        throw FileError(path: source, action: "copied", reason: "it has no spaces")
      }
      for name in names {
        let bar = ProgressBar(name, isQuiet: arguments[Flag.quiet] || arguments[Option.json])
        let result: Result<StoreCopy.Outcome, any Error>
        do {
          result = .success(
            try await copy.copy(name) { bar.update($0, of: $1, unit: "row") })
        } catch {
          result = .failure(error)
          failureCount += 1
        }
        bar.finish()
        try print(result, of: name, arguments)
      }
      return failureCount
    }
    guard failureCount == 0 else { return 1 }
    if !arguments[Flag.quiet] {
      // Others may be there if some were named.
      let spaces = chosen.isEmpty ? "the spaces" : chosen.joined(separator: ", ")
      let rest = chosen.isEmpty ? ", then delete \(source)" : ""
      TandemCLI.report(
        "\(spaces) in \(source): marked as moved, and refused by servers; serve \(target)\(rest)")
    }
    return ExitStatus.success
  }

  private static func print(
    _ result: Result<StoreCopy.Outcome, any Error>, of name: String, _ arguments: ParsedArguments
  ) throws {
    if case .failure(let error) = result { TandemCLI.report("\(name): \(error)") }
    if arguments[Option.json] {
      try OutputStream.printObject { json in
        json.field("space", name)
        switch result {
        case .success(.copied(let copy)):
          json.field("outcome", "copied")
          json.field("revision", "\(copy.head)")
          json.field("rows", copy.rowCount)
        case .success(.copiedBefore): json.field("outcome", "copiedBefore")
        case .failure(let error):
          json.field("outcome", "failed")
          json.field("error", "\(error)")
        }
      }
    } else if !arguments[Flag.quiet], case .success(let outcome) = result {
      switch outcome {
      case .copied(let copy):
        try OutputStream.printLines([
          "\(name): copied at version \(copy.head.version), \(Quantity.count(copy.rowCount, "row"))"
        ])
      case .copiedBefore: try OutputStream.printLines(["\(name): was copied before"])
      }
    }
  }
}
