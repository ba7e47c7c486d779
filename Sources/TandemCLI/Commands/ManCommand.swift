import Tandem

/// `tandem man`: prints a page of the manual.
enum ManCommand: Command {
  private static let into = ValueOption<String>(
    "into", "DIR", help: "Write every page as a file into this directory, which must exist.")

  static let specification = CommandSpecification(
    name: "man",
    summary: "Print a page of the manual.",
    discussion: """
      Prints the page of a command, or of tandem itself, in the format of man. The text is that of
      'tandem help'. 'make install' and the Debian package install the pages, so that
      'man tandem-mirror' finds them.
      """,
    operands: [
      .init(name: "[COMMAND]", help: "The command (default: tandem itself).", offer: .commands)
    ],
    options: [into],
    examples: [
      "tandem man mirror",
      "tandem man mirror | man -l -",
      "tandem man --into ~/.local/share/man/man1",
    ],
    repeatsLastOperand: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    guard arguments.operands.count <= 1 else {
      throw arguments.error("unexpected argument '\(arguments.operands[1])'")
    }
    let commands = TandemCLI.specifications
    guard let directory = arguments[into] else {
      let page = try arguments.operands.first.map { name throws(UsageError) in
        ManualPage(of: try TandemCLI.command(name).specification)
      }
      try OutputStream.write(
        Array((page ?? ManualPage(ofTool: TandemCLI.jobs)).text.utf8), to: STDOUT_FILENO)
      return 0
    }
    guard arguments.operands.isEmpty else {
      throw arguments.error("--into writes all pages: leave out '\(arguments.operands[0])'")
    }
    for page in [ManualPage(ofTool: TandemCLI.jobs)] + commands.map(ManualPage.init(of:)) {
      try AtomicFile.write(Array(page.text.utf8), to: "\(directory)/\(page.name).1")
    }
    return 0
  }
}
