import Tandem

@main
struct TandemCLI {
  static var commands: [any Command.Type] {
    [
      MirrorCommand.self, DiffCommand.self, MergeCommand.self, WatchCommand.self,
      TrackCommand.self, UntrackCommand.self, ChannelCommand.self,
    ]
  }

  static func main() async {
    // A peer or a reader that goes away is an error of the write, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    occupyStandardDescriptors()
    exit(await status(of: Array(CommandLine.arguments.dropFirst())))
  }

  /// Has something stand where standard input, output and error are closed: the next file or socket
  /// would take the place, and be written to. Nothing can be written to what stands there instead.
  private static func occupyStandardDescriptors() {
    while true {
      let descriptor = open("/dev/null", O_RDONLY)
      guard (0...STDERR_FILENO).contains(descriptor) else {
        close(descriptor)
        return
      }
    }
  }

  /// Runs what was typed and returns the exit status: 2 for a mistake in it.
  static func status(of arguments: [String]) async -> Int32 {
    do throws(UsageError) {
      guard let first = arguments.first else { throw UsageError("a command is missing") }
      switch first {
      case "--help", "-h": return print(helpText)
      case "--version": return print("tandem \(PackageVersion.current)\n")
      case "help":
        guard let name = arguments.dropFirst().first, name != "help" else { return print(helpText) }
        return print(try command(name).specification.helpText)
      default: return try await run(command(first), Array(arguments.dropFirst()))
      }
    } catch {
      let more = error.command.map { "tandem help \($0.name)" } ?? "tandem --help"
      report("\(error.message)\n\(error.command.map { "\($0.usage)\n" } ?? "")See '\(more)'.")
      return 2
    }
  }

  private static func run(
    _ command: any Command.Type, _ arguments: [String]
  ) async throws(UsageError) -> Int32 {
    let parsed = try ParsedArguments(arguments, for: command.specification)
    if parsed.has("help") { return print(command.specification.helpText) }
    do {
      return try await command.run(parsed)
    } catch let error as UsageError {
      throw error
    } catch let error as OutputError where error.isBrokenPipe {
      return 128 + SIGPIPE
    } catch {
      report("\(error)")
      return command.failureStatus
    }
  }

  private static func command(_ name: String) throws(UsageError) -> any Command.Type {
    if let command = commands.first(where: { $0.specification.name == name }) { return command }
    let names = commands.map { $0.specification.name } + ["help", "--help", "--version"]
    let hint = Spelling.closest(to: name, among: names).map { "; did you mean '\($0)'?" } ?? ""
    throw UsageError("unknown command '\(name)'\(hint)")
  }

  private static func print(_ text: String) -> Int32 {
    (try? OutputStream.write(Array(text.utf8), to: STDOUT_FILENO)) == nil ? 1 : 0
  }

  /// Says on standard error what went wrong.
  static func report(_ message: String) {
    let text = "tandem: \(message)".escapingControls(keepsLineFeeds: true)
    try? OutputStream.write(Array("\(text)\n".utf8), to: STDERR_FILENO)
  }

  static var helpText: String {
    let rows = commands.map {
      CommandSpecification.row($0.specification.name, $0.specification.summary)
    }
    return """
      usage: tandem COMMAND [arguments]

      Keeps copies of data in step: lists from servers and files, and SQLite databases.

      commands:
      \(rows.joined(separator: "\n"))
        help COMMAND              What a command does, its options, and examples.

      options:
        --help                    Show this help.
        --version                 Show the version.

      examples:
        tandem mirror https://example.org/places.json places.db --table place --key id
        tandem diff monday.csv tuesday.csv --key id

      """
  }
}
