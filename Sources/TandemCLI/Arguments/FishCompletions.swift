/// The completions for fish.
struct FishCompletions {
  private let commands: [CommandSpecification]

  init(_ commands: [CommandSpecification]) { self.commands = commands }

  var script: String {
    let lines =
      commands.map { "-n __tandem_has_no_command -a \($0.name) -d \(quoted($0.summary))" }
      + TandemCLI.options.map {
        "-n __tandem_has_no_command \(names($0)) -d \(quoted($0.shortHelp))"
      }
      + commands.flatMap(lines)
    return """
      # Completions of tandem for fish, made by 'tandem completions fish'.

      function __tandem_has_no_command
        test (count (commandline -opc)) -eq 1
      end

      function __tandem_command_is
        set -l words (commandline -opc)
        test (count $words) -gt 1; and test "$words[2]" = $argv[1]
      end

      # True for the word after the command.
      function __tandem_begins
        test (count (commandline -opc)) -eq 2; and __tandem_command_is $argv[1]
      end

      complete -c tandem -f
      \(lines.map { "complete -c tandem \($0)" }.joined(separator: "\n"))

      """
  }

  private func lines(of command: CommandSpecification) -> [String] {
    let condition = "-n '__tandem_command_is \(command.name)'"
    let options = command.allOptions.map { option in
      let value = option.offer.map { " -r \(action($0))" } ?? ""
      return "\(condition) \(names(option))\(value) -d \(quoted(option.shortHelp))"
    }
    let operands: [String] = command.operands.map(\.offer).compactMap { offer in
      switch offer {
      case .text: nil
      case .files where !command.operands.contains { $0.offer == .text }: "\(condition) -F"
      case .files: "-n '__tandem_begins \(command.name)' -F"
      case .directories, .words, .commands: "-n '__tandem_begins \(command.name)' \(action(offer))"
      }
    }
    return options + Array(Set(operands)).sorted()
  }

  private func names(_ option: any CommandOption) -> String {
    (option.letter.map { "-s \($0) " } ?? "") + "-l \(option.name)"
  }

  private func action(_ offer: ValueOffer) -> String {
    switch offer {
    case .text: "-f"
    case .words(let words): "-f -a \(quoted(words.joined(separator: " ")))"
    case .commands: "-f -a \(quoted(commands.map(\.name).joined(separator: " ")))"
    case .files: "-F"
    case .directories: "-f -a '(__fish_complete_directories)'"
    }
  }

  private func quoted(_ text: String) -> String {
    let special: Set<Character> = ["\\", "'"]
    return "'\(text.map { special.contains($0) ? "\\\($0)" : String($0) }.joined())'"
  }
}
