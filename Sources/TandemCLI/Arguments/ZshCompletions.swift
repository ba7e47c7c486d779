/// The completions for zsh, by its function `_arguments`.
struct ZshCompletions {
  private let commands: [CommandSpecification]

  init(_ commands: [CommandSpecification]) { self.commands = commands }

  var script: String {
    """
    #compdef tandem
    # Completions of tandem for zsh, made by 'tandem completions zsh'.

    _tandem_commands() {
      local -a commands
      commands=(
    \(commands.map { "    " + quoted("\(escaped($0.name)):\($0.summary)") }.joined(separator: "\n"))
      )
      _describe -t commands command commands
    }

    _tandem() {
      local curcontext=$curcontext state line ret=1
      typeset -A opt_args
      _arguments -C \\
    \(TandemCLI.options.map { "    \(specification(of: $0)) \\\n" }.joined())\
        '1:command:_tandem_commands' \\
        '*::argument:->arguments' && ret=0
      [[ $state == arguments ]] || return ret
      curcontext=${curcontext%:*:*}:tandem-$words[1]:
      case $words[1] in
    \(commands.map(arguments).joined(separator: "\n"))
      esac
      return ret
    }

    if [[ $funcstack[1] == _tandem ]]; then
      _tandem "$@"
    else
      compdef _tandem tandem
    fi

    """
  }

  private func arguments(of command: CommandSpecification) -> String {
    let options = command.allOptions.map(specification)
    let operands = command.operands.enumerated().map { offset, operand in
      let isLast = offset == command.operands.count - 1
      let position = isLast && command.repeatsLastOperand ? "*" : "\(offset + 1)"
      return quoted("\(position):\(escaped(operand.name)):\(action(operand.offer))")
    }
    let lines = (options + operands).map { "      \($0)" }.joined(separator: " \\\n")
    return "    \(command.name))\n      _arguments -s \\\n\(lines) && ret=0\n      ;;"
  }

  private func specification(of option: any CommandOption) -> String {
    let long = "--\(option.name)\(option.offer == nil ? "" : "=")"
    var value = ""
    if let placeholder = option.placeholder, let offer = option.offer {
      value = ":\(escaped(placeholder)):\(action(offer))"
    }
    let rest = quoted("[\(escaped(option.shortHelp))]\(value)")
    let others = option.isRepeatable && option.offer != nil ? "'*'" : ""
    guard let letter = option.letter else { return "\(others)\(long)\(rest)" }
    let short = "-\(letter)\(option.offer == nil ? "" : "+")"
    return "\(others.isEmpty ? "'(-\(letter) --\(option.name))'" : others){\(short),\(long)}\(rest)"
  }

  private func action(_ offer: ValueOffer) -> String {
    switch offer {
    case .text: " "
    case .words(let words): "(\(words.joined(separator: " ")))"
    case .commands: "_tandem_commands"
    case .files: "_files"
    case .directories: "_files -/"
    }
  }

  private func escaped(_ text: String) -> String {
    let special: Set<Character> = ["\\", ":", "[", "]"]
    return text.map { special.contains($0) ? "\\\($0)" : String($0) }.joined()
  }

  private func quoted(_ text: String) -> String {
    "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
  }
}
