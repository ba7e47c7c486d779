/// The completions for bash, also for version 3.2, which macOS has. They do not need the package
/// bash-completion.
struct BashCompletions {
  private let commands: [CommandSpecification]

  init(_ commands: [CommandSpecification]) { self.commands = commands }

  var script: String {
    """
    # Completions of tandem for bash, made by 'tandem completions bash'.

    # Sets "offer" to the values of option $2 of command $1; to nothing for an option without a value.
    _tandem_option() {
      case "$1 $2" in
    \(options.joined(separator: "\n"))
        *) offer= ;;
      esac
    }

    # Sets "offer" to the values of operand number $2 of command $1, and "options" to its options.
    _tandem_command() {
      case "$1 $2" in
    \(operands.joined(separator: "\n"))
        *) offer=text ;;
      esac
      case "$1" in
    \(optionLists.joined(separator: "\n"))
        *) options= ;;
      esac
    }

    # Offers the values "offer" for the word $1. The shell itself completes the names of files.
    _tandem_offer() {
      case "$offer" in
        files) return ;;
        directories) type compopt >/dev/null 2>&1 && compopt +o bashdefault +o default -o dirnames ;;
        *)
          type compopt >/dev/null 2>&1 && compopt +o bashdefault +o default
          [[ $offer == text ]] || COMPREPLY=($(compgen -P "$prefix" -W "$offer" -- "$1"))
          ;;
      esac
    }

    _tandem() {
      local words=() word index count=0 command= position=0 waiting= ended= offer= options= prefix=
      # Bash may split --name=value into three words.
      for ((index = 1; index <= COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        if ((count > 0)) && [[ ${words[count - 1]} == --* ]] &&
          [[ $word == = || ${words[count - 1]} == --*= ]]; then
          words[count - 1]+=$word
        else
          words[count]=$word
          count=$((count + 1))
        fi
      done
      for ((index = 0; index < count - 1; index++)); do
        word=${words[index]}
        if [[ -n $waiting ]]; then
          waiting=
        elif [[ -z $ended && $word == -- ]]; then
          ended=yes
        elif [[ -z $ended && $word == -* && $word != - ]]; then
          _tandem_option "$command" "$word"
          [[ -z $offer ]] || waiting=$offer
        elif [[ -z $command ]]; then
          command=$word
        else
          position=$((position + 1))
        fi
      done
      word=${words[count - 1]}
      COMPREPLY=()
      if [[ -n $waiting ]]; then
        offer=$waiting
        _tandem_offer "$word"
      elif [[ -z $ended && $word == --*=* ]]; then
        _tandem_option "$command" "${word%%=*}"
        [[ $COMP_WORDBREAKS == *=* ]] || prefix=${word%%=*}=
        [[ -z $offer ]] || _tandem_offer "${word#*=}"
      elif [[ -z $command ]]; then
        offer='\(commands.map(\.name).joined(separator: " "))'
        [[ $word != -* ]] || offer='\(TandemCLI.options.map { "--\($0.name)" }.joined(separator: " "))'
        _tandem_offer "$word"
      else
        _tandem_command "$command" "$position"
        [[ -n $ended || $word != -* ]] || offer=$options
        _tandem_offer "$word"
      fi
    }

    complete -o bashdefault -o default -F _tandem tandem

    """
  }

  private var options: [String] {
    commands.flatMap { command in
      command.allOptions.compactMap { option in
        option.offer.map { offer in
          let names = ["--\(option.name)"] + (option.letter.map { ["-\($0)"] } ?? [])
          let patterns = names.map { "'\(command.name) \($0)'" }.joined(separator: " | ")
          return "    \(patterns)) offer='\(text(offer))' ;;"
        }
      }
    }
  }

  private var operands: [String] {
    commands.flatMap { command in
      command.operands.enumerated().map { offset, operand in
        let isLast = offset == command.operands.count - 1
        let position = isLast && command.repeatsLastOperand ? "*" : "\(offset)"
        return "    '\(command.name) '\(position)) offer='\(text(operand.offer))' ;;"
      }
    }
  }

  private var optionLists: [String] {
    commands.map { command in
      let names = command.allOptions.map { "--\($0.name)" }.joined(separator: " ")
      return "    \(command.name)) options='\(names)' ;;"
    }
  }

  private func text(_ offer: ValueOffer) -> String {
    switch offer {
    case .text: "text"
    case .words(let words): words.joined(separator: " ")
    case .commands: commands.map(\.name).joined(separator: " ")
    case .files: "files"
    case .directories: "directories"
    }
  }
}
