import Tandem

/// The arguments of a command, parsed once.
struct ParsedArguments {
  let command: CommandSpecification
  private(set) var operands: [String] = []
  private var texts: [(option: any CommandOption, text: String)] = []
  private var values: [String: [any Sendable]] = [:]
  /// The options with a value that other users of the machine cannot see.
  private var secrets: Set<String> = []

  /// Parses the arguments of `command`.
  ///
  /// With `--help`, only the names of options are checked.
  ///
  /// - Throws: ``UsageError``; for an unknown option, it suggests the closest one.
  init(_ arguments: [String], for command: CommandSpecification) throws(UsageError) {
    self.command = command
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        operands += rest
        break
      } else if argument.hasPrefix("--") {
        try parseLong(argument.dropFirst(2), &rest)
      } else if argument.hasPrefix("-"), argument != "-" {
        try parseShort(argument.dropFirst(), &rest)
      } else {
        operands.append(argument)
      }
    }
    guard !texts.contains(where: { $0.option.name == CommandSpecification.help.name }) else {
      values[CommandSpecification.help.name] = [true]
      return
    }
    let isComplete =
      command.repeatsLastOperand
      ? operands.count >= command.operands.count - 1 : operands.count == command.operands.count
    guard isComplete else { throw error(Self.countMessage(operands, command)) }
    for (operand, text) in zip(command.operands, operands)
    where operand.name == "DATABASE" && text == ":memory:" {
      throw error(
        "DATABASE is a file, and what is in memory would be lost; ./:memory: is a file of this name"
      )
    }
    for (option, text) in texts {
      do throws(UsageError) {
        values[option.name, default: []].append(try option.read(text))
      } catch {
        throw self.error(error.message)
      }
    }
  }

  private mutating func parseLong(
    _ text: Substring, _ rest: inout ArraySlice<String>
  ) throws(UsageError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = command.allOptions.first(where: { $0.name == name }) else {
      let closest = Spelling.closest(to: name, among: command.allOptions.map(\.name))
      let hint = closest.map { "; did you mean --\($0)?" } ?? ""
      throw error("unknown option --\(name)\(hint)")
    }
    guard let placeholder = option.placeholder else {
      guard parts.count == 1 else {
        throw error("option --\(name) takes no value")
      }
      texts.append((option, ""))
      return
    }
    guard option.isRepeatable || !texts.contains(where: { $0.option.name == name }) else {
      throw error("option --\(name) is given twice")
    }
    guard let value = parts.count == 2 ? String(parts[1]) : popValue(&rest) else {
      throw error("option --\(name) needs a value: --\(name) \(placeholder)")
    }
    texts.append((option, value))
  }

  /// The next argument, or `nil` if it is an option, so that the value is missing.
  private func popValue(
    _ rest: inout ArraySlice<String>
  ) -> String? {
    guard let next = rest.first,
      !command.allOptions.contains(where: {
        next == "--\($0.name)" || next.hasPrefix("--\($0.name)=")
      })
    else { return nil }
    return rest.popFirst()
  }

  private mutating func parseShort(
    _ letters: Substring, _ rest: inout ArraySlice<String>
  ) throws(UsageError) {
    for (position, letter) in letters.enumerated() {
      guard let option = command.allOptions.first(where: { $0.letter == letter }) else {
        throw error("unknown option -\(letter)")
      }
      guard option.placeholder == nil else {
        // The value is what follows the letter, or else the next argument.
        let value = letters.dropFirst(position + 1)
        return try parseLong(
          value.isEmpty ? "\(option.name)" : "\(option.name)=\(value)", &rest)
      }
      texts.append((option, ""))
    }
  }

  private static func countMessage(
    _ operands: [String], _ command: CommandSpecification
  ) -> String {
    if operands.count > command.operands.count {
      return "unexpected argument '\(operands[command.operands.count])'"
    }
    return "missing \(command.operands[operands.count].name)"
  }

  // MARK: Values

  /// True if the flag was given.
  subscript(flag: Flag) -> Bool { has(flag) }

  /// The value of an option, if it was given.
  subscript<Value>(option: ValueOption<Value>) -> Value? { all(option).last }

  /// All values of an option that may be repeated, in order.
  func all<Value>(_ option: ValueOption<Value>) -> [Value] {
    values[checked(option).name]?.compactMap { $0 as? Value } ?? []
  }

  /// The value of a required option, which must not be empty; `meaning` describes it in the error.
  func required<Value>(
    _ option: ValueOption<Value>, _ meaning: String
  ) throws(UsageError) -> Value {
    guard let value = self[option], (value as? String) != "" else {
      throw error("--\(option.name) is missing: \(meaning)")
    }
    return value
  }

  /// Gives an option a value that does not stand on the command line.
  ///
  /// - Parameter isSecret: True if other users of the machine cannot see it.
  mutating func add(
    _ text: String, for option: any CommandOption, _ isSecret: Bool
  ) throws(UsageError) {
    values[checked(option).name, default: []].append(try option.read(text))
    if isSecret { secrets.insert(option.name) }
  }

  /// True if other users of the machine cannot see the value of an option.
  func isSecret(_ option: any CommandOption) -> Bool { secrets.contains(checked(option).name) }

  /// True if the option of a name was given.
  func has(named name: String) -> Bool { values[name] != nil }

  /// True if the option was given.
  func has(_ option: any CommandOption) -> Bool { values[checked(option).name] != nil }

  /// Rejects URLs where only files can be read.
  func checkFiles(_ names: [String], of option: any CommandOption) throws(UsageError) {
    for name in names {
      guard case .url = RecordSource(name) else { continue }
      throw error("--\(option.name) takes files: fetch \(RecordSource(name)) first, as curl does")
    }
  }

  /// Rejects `--json` beside a `--quiet` that prints nothing.
  func checkQuietJSON(_ quiet: Flag, _ json: Flag) throws(UsageError) {
    guard self[quiet], self[json] else { return }
    throw error("--quiet prints nothing, and --json something: leave one of them out")
  }

  /// Rejects options that would have no effect; `reason` completes "--name …".
  func checkAbsent(_ options: [any CommandOption], _ reason: String) throws(UsageError) {
    guard let option = options.first(where: has) else { return }
    throw error("--\(option.name) \(reason)")
  }

  /// A usage error of this command.
  func error(_ message: String) -> UsageError { UsageError(message, command: command) }

  private func checked(_ option: any CommandOption) -> any CommandOption {
    precondition(
      command.allOptions.contains { $0.name == option.name },
      "\(command.name) must list --\(option.name) among its options")
    return option
  }
}

/// An error in the arguments: exit status 2.
struct UsageError: Error {
  var message: String
  /// The command whose help the message suggests; `nil` if the command is unknown.
  var command: CommandSpecification?

  init(_ message: String, command: CommandSpecification? = nil) {
    self.message = message
    self.command = command
  }
}
