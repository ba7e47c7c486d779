import Demo
import Tandem
import TandemPostgreSQL
import TandemServer

/// `tandem demo`: a page with two phones.
enum DemoCommand: Command {
  private static let defaultPort = 7878

  private enum Option {
    static let port = ValueOption<Int>(
      "port", in: 0...Int(UInt16.max),
      help: "The port of the page on this machine (default:\n\(defaultPort)). 0 picks a free one.")
    static let data = ValueOption<String>(
      "data", "DIR",
      help:
        "Keep all files in DIR, and continue with them. Without it,\nthey are removed at the end.")
    static let store = ValueOption<String>(
      "store", "ADDRESS",
      help: """
        Keep the space in a PostgreSQL database, as for tandem
        serve. Two servers serve it, one for each phone.
        """)
    static let phone = Flag(
      "phone",
      help: "Run one phone. The demo does this itself, with the settings\non standard input.")
  }

  static let specification = CommandSpecification(
    name: "demo",
    summary: "Show two phones that are kept in step, on a page.",
    discussion: """
      Starts a server, a feed with a mirror, and two phones, each a process with a SQLite file of its
      own; prints the address of a page that shows all of them, and opens it if there is a browser.
      Edit both phones, offline too; kill one; change its file with sqlite3. Ctrl-C ends everything.

      Only programs and the page on this machine can use it.
      """,
    exitStatus: "0 ended by Ctrl-C, 1 failure, 2 wrong usage.",
    operands: [],
    options: [Option.port, Option.data, Option.store, Option.phone],
    examples: ["tandem demo --data demo"])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    if arguments[Option.phone] {
      try await Stop.ending { try await Demo.runPhone() }
      return 0
    }
    let port = arguments[Option.port] ?? defaultPort
    let spaces = try await spaces(arguments)
    let demo = try Demo(port: UInt16(port), folder: arguments[Option.data], spaces: spaces)
    try await Stop.ending {
      do {
        try await demo.run { url in
          try? OutputStream.write(Array("\(url)\n".utf8), to: STDOUT_FILENO)
          let isOpen = isatty(STDOUT_FILENO) == 1 && Demo.openBrowser(url)
          if isOpen {
            TandemCLI.report("the page is open; Ctrl-C ends the demo")
          } else {
            TandemCLI.report("open \(url) in a browser; Ctrl-C ends the demo")
            TandemCLI.report("without a browser: change one phone, and look at the other one")
            for statement in demo.statements { TandemCLI.report("  \(statement)") }
          }
        }
      } catch is CancellationError {}
    }
    for spaces in spaces { await spaces.close() }
    return 0
  }

  /// The spaces of each server of a database; none if the space is a file.
  private static func spaces(_ arguments: ParsedArguments) async throws -> [PostgreSQLSpaces] {
    guard let address = arguments[Option.store] else { return [] }
    try PostgreSQLDatabase.check(address: address)
    var spaces: [PostgreSQLSpaces] = []
    for _ in 0..<2 {
      let database = try await PostgreSQLDatabase.open(address: address, creates: true) {
        TandemCLI.report($0)
      }
      spaces.append(PostgreSQLSpaces(database, maxSpaceCount: 1_000, limits: SyncLimits()))
    }
    return spaces
  }
}
