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

      # True for the operand with a number, from 1, of a command whose options with a value follow.
      function __tandem_operand_is
        __tandem_command_is $argv[1]; or return
        set -l words (commandline -opc)
        set -l number 1
        set -l isValue 0
        for word in $words[3..]
          if test $isValue -eq 1
            set isValue 0
          else if contains -- $word $argv[3..]
            set isValue 1
          else if not string match -q -- '-?*' $word
            set number (math $number + 1)
          end
        end
        test $number -eq $argv[2]
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
    let takesOnlyFiles = command.operands.allSatisfy { $0.offer == .files }
    let valueOptions = command.allOptions.filter { $0.offer != nil }.flatMap { option in
      ["--\(option.name)"] + (option.letter.map { ["-\($0)"] } ?? [])
    }
    let operands: [String] = command.operands.enumerated().compactMap { offset, operand in
      switch operand.offer {
      case .text: return nil
      case .files where takesOnlyFiles: return "\(condition) -F"
      case .files, .directories, .words, .commands:
        let words = [command.name, "\(offset + 1)"] + valueOptions
        return "-n '__tandem_operand_is \(words.joined(separator: " "))' \(action(operand.offer))"
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
