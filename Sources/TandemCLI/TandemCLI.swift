import Tandem

@main
struct TandemCLI {
  /// The commands by the job that they are for, in the order of the help and the manual.
  static var jobs: [(title: String, commands: [any Command.Type])] {
    [
      (
        "Make tables equal to lists, compare and merge",
        [MirrorCommand.self, DiffCommand.self, MergeCommand.self]
      ),
      (
        "Follow the changes of a database",
        [WatchCommand.self, TrackCommand.self, UntrackCommand.self]
      ),
      (
        "Keep databases in step",
        [
          RekeyCommand.self, AttachCommand.self, SyncCommand.self, StatusCommand.self,
          ConflictsCommand.self, RejectedCommand.self, AlterCommand.self, DetachCommand.self,
        ]
      ),
      (
        "Run a server and look after spaces",
        [
          ServeCommand.self, TokenCommand.self, MemberCommand.self, SpaceCommand.self,
          LogCommand.self,
          ForgetCommand.self, StoreCommand.self, BackupCommand.self, RestoreCommand.self,
          WebhookCommand.self, PromoteCommand.self,
        ]
      ),
      ("Send values between programs", [ChannelCommand.self]),
      (
        "Learn and set up the tool",
        [DemoCommand.self, CompletionsCommand.self, ManCommand.self]
      ),
    ]
  }

  static var commands: [any Command.Type] { jobs.flatMap(\.commands) }

  static var specifications: [CommandSpecification] { commands.map { $0.specification } }

  static func main() async {
    // A peer or a reader that goes away is an error of the write, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    occupyStandardDescriptors()
    OpenFileLimit.raise()
    SQLiteLibrary.leaveOutMemoryCount()
    SQLiteLibrary.add(IdentifierFunctions.all)
    exit(await status())
  }

  /// Opens closed standard descriptors as /dev/null, which rejects writes. Otherwise the next file or socket
  /// would get the number of standard output, and output would be written to it.
  private static func occupyStandardDescriptors() {
    while true {
      let descriptor = open("/dev/null", O_RDONLY)
      guard (0...STDERR_FILENO).contains(descriptor) else {
        close(descriptor)
        return
      }
    }
  }

  /// Runs the command line and returns the exit status: 2 for wrong usage.
  private static func status() async -> Int32 {
    do throws(UsageError) {
      return try await run(ProcessArguments.read())
    } catch {
      let more = error.command.map { "tandem help \($0.name)" } ?? "tandem --help"
      report("\(error.message)\n\(error.command.map { "\($0.usage)\n" } ?? "")See '\(more)'.")
      return 2
    }
  }

  private static func run(_ arguments: [String]) async throws(UsageError) -> Int32 {
    guard let first = arguments.first else { throw UsageError("a command is missing") }
    let rest = Array(arguments.dropFirst())
    switch first {
    case "--help", "-h": return print(helpText)
    case "--version": return print("tandem \(PackageVersion.current)\n")
    case "help": return try help(rest)
    default:
      return try await run(command(first, besides: ["help", "--help", "--version"]), rest)
    }
  }

  private static func run(
    _ command: any Command.Type, _ arguments: [String]
  ) async throws(UsageError) -> Int32 {
    let parsed = try ParsedArguments(arguments, for: command.specification)
    if parsed[CommandSpecification.help] { return printHelp(of: command) }
    if command.specification.usesDatabases {
      for file in parsed.all(CommandSpecification.loadExtension) {
        // The system looks for a name without a slash among its libraries only.
        let isHere = !file.contains("/") && access(file, F_OK) == 0
        SQLiteLibrary.add(extensionAt: isHere ? "./\(file)" : file)
      }
    }
    do {
      return try await command.run(parsed)
    } catch let error as UsageError {
      throw error
    } catch {
      return status(after: error, of: command.failureStatus)
    }
  }

  /// Reports an error, except that the reader of the output has ended, and returns the exit status.
  private static func status(after error: any Error, of failureStatus: Int32) -> Int32 {
    if let error = error as? OutputError, error.isBrokenPipe {
      return error.followsFailure ? failureStatus : 128 + SIGPIPE
    }
    report("\(error)")
    return failureStatus
  }

  static func command(
    _ name: String, besides others: [String] = []
  ) throws(UsageError) -> any Command.Type {
    if let command = commands.first(where: { $0.specification.name == name }) { return command }
    let names = commands.map { $0.specification.name } + others
    let hint = Spelling.closest(to: name, among: names).map { "; did you mean '\($0)'?" } ?? ""
    throw UsageError("unknown command '\(name)'\(hint)")
  }

  /// Writes a message to standard error.
  static func report(_ message: String) {
    let text = LibraryNames.replaced(in: message).escapingControls(keepsLineFeeds: true)
    try? OutputStream.write(Array("tandem: \(text)\n".utf8), to: STDERR_FILENO)
  }
}

// MARK: - Help

extension TandemCLI {
  private static func help(_ names: [String]) throws(UsageError) -> Int32 {
    guard let name = names.first, !["help", "--help", "-h"].contains(name) else {
      return print(helpText)
    }
    guard names.count == 1 else { throw UsageError("unexpected argument '\(names[1])'") }
    return printHelp(of: try command(name, besides: ["help"]))
  }

  private static func printHelp(of command: any Command.Type) -> Int32 {
    print(command.specification.helpText, failureStatus: command.failureStatus)
  }

  private static func print(_ text: String, failureStatus: Int32 = 1) -> Int32 {
    do throws(OutputError) {
      try OutputStream.write(Array(text.utf8), to: STDOUT_FILENO)
      return 0
    } catch {
      return status(after: error, of: failureStatus)
    }
  }

  /// The purpose of the tool, in one sentence.
  static let purpose =
    "Keeps copies of data in step: lists from servers and files, and SQLite databases."

  /// `tandem help`, which is not a ``Command``: it describes them.
  static let help = CommandSpecification(
    name: "help", summary: "Describe a command, with its options and examples.", discussion: "",
    operands: [.init(name: "[COMMAND]", help: "The command.", offer: .commands)], options: [],
    examples: [], repeatsLastOperand: true)

  /// The options that stand in the place of a command.
  static let options = [
    Flag("help", letter: "h", help: "Show this help."),
    Flag("version", help: "Show the version."),
  ]

  static var helpText: String {
    let examples = commands.compactMap { $0.specification.examples.first }
    let parts = jobs.map { job in
      let rows = job.commands.map {
        CommandSpecification.row($0.specification.name, $0.specification.summary)
      }
      return "\(job.title):\n\(rows.joined(separator: "\n"))"
    }
    return """
      usage: tandem COMMAND [arguments]

      \(purpose)

      \(parts.joined(separator: "\n\n"))
      \(CommandSpecification.row("help COMMAND", help.summary))

      options:
      \(options.map { CommandSpecification.row("--\($0.name)", $0.help) }.joined(separator: "\n"))

      examples:
        \(examples.joined(separator: "\n  "))

      """
  }
}
