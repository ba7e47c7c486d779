import Tandem

/// `tandem completions`: prints the completions of a shell.
enum CompletionsCommand: Command {
  /// The shells that have completions.
  enum Shell: String, CaseIterable {
    case bash, zsh, fish

    /// The script that completes the commands, options and values of `tandem`.
    func script(for commands: [CommandSpecification]) -> String {
      switch self {
      case .bash: BashCompletions(commands).script
      case .zsh: ZshCompletions(commands).script
      case .fish: FishCompletions(commands).script
      }
    }
  }

  static let specification = CommandSpecification(
    name: "completions",
    summary: "Print the completions for a shell.",
    discussion: """
      Prints a script by which a shell completes commands, options, file names and the words that
      an option takes. 'make install' and the Debian package install these scripts where the shells
      find them. Otherwise, load them in the shell's own start file, as in the examples: ~/.bashrc,
      ~/.zshrc after compinit, or ~/.config/fish/config.fish.
      """,
    operands: [
      .init(
        name: "SHELL", help: "bash, zsh or fish.", offer: .words(Shell.allCases.map(\.rawValue)))
    ],
    options: [],
    examples: [
      "tandem completions bash",
      "tandem completions bash > ~/.local/share/bash-completion/completions/tandem",
      "source <(tandem completions zsh)",
      "tandem completions fish | source",
    ])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let name = arguments.operands[0]
    guard let shell = Shell(rawValue: name) else {
      let names = Shell.allCases.map(\.rawValue)
      let hint = Spelling.closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
      throw arguments.error("SHELL is bash, zsh or fish, not '\(name)'\(hint)")
    }
    let script = shell.script(for: TandemCLI.specifications + [TandemCLI.help])
    try OutputStream.write(Array(script.utf8), to: STDOUT_FILENO)
    return 0
  }
}
