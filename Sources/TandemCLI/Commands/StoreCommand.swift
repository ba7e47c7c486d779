import Tandem
import TandemPostgreSQL

/// `tandem store`: prints the schema of spaces on PostgreSQL.
enum StoreCommand: Command {
  static let specification = CommandSpecification(
    name: "store",
    summary: "Print the tables of spaces that a PostgreSQL database holds.",
    discussion: """
      sql prints the SQL that makes the schema tandem, for a user who may create it, as in
      tandem store sql | psql -1 -d spaces. The user of tandem serve --store then needs the rights that
      the last lines grant; put the name of that user there. tandem serve --store --create-store runs
      the same SQL itself.

      Exit status: 0 success, 1 failure, 2 wrong usage.
      """,
    operands: [.init(name: "ACTION", help: "sql.", offer: .words(["sql"]))],
    options: [],
    examples: ["tandem store sql"])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    guard arguments.operands == ["sql"] else {
      throw arguments.error("unexpected '\(arguments.operands.joined(separator: " "))': write sql")
    }
    try OutputStream.printLines(
      PostgreSQLSchema.sql.split(separator: "\n").map(String.init) + [
        "-- GRANT USAGE ON SCHEMA tandem TO the_user_of_the_nodes;",
        "-- GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tandem TO the_user_of_the_nodes;",
      ])
    return ExitStatus.success
  }
}
