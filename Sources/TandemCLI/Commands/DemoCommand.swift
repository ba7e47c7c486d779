import Demo
import Tandem

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

      Exit status: 0 ended by Ctrl-C, 1 failure, 2 wrong usage.
      """,
    operands: [],
    options: [Option.port, Option.data, Option.phone],
    examples: ["tandem demo --data demo"])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    if arguments[Option.phone] {
      try await Stop.ending { try await Demo.runPhone() }
      return 0
    }
    let port = arguments[Option.port] ?? defaultPort
    let demo = try Demo(port: UInt16(port), folder: arguments[Option.data])
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
    return 0
  }
}
