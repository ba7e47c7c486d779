/// What was written after a command, taken apart.
struct ParsedArguments {
  var operands: [String] = []
  private var values: [String: [String]] = [:]

  /// Takes arguments apart by what a command accepts.
  ///
  /// - Throws: ``UsageError`` that names the closest option there is.
  init(_ arguments: [String], for command: CommandSpecification) throws(UsageError) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        operands += rest
        break
      } else if argument.hasPrefix("--") {
        try parseLong(argument.dropFirst(2), &rest, command)
      } else if argument.hasPrefix("-"), argument != "-" {
        try parseShort(argument.dropFirst(), &rest, command)
      } else {
        operands.append(argument)
      }
    }
    guard !has("help") else { return }
    let isComplete =
      command.repeatsLastOperand
      ? operands.count >= command.operands.count - 1 : operands.count == command.operands.count
    guard isComplete else {
      throw UsageError(Self.countMessage(operands, command), command: command)
    }
  }

  private mutating func parseLong(
    _ text: Substring, _ rest: inout ArraySlice<String>, _ command: CommandSpecification
  ) throws(UsageError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = command.allOptions.first(where: { $0.name == name }) else {
      let closest = Spelling.closest(to: name, among: command.allOptions.map(\.name))
      let hint = closest.map { "; did you mean --\($0)?" } ?? ""
      throw UsageError("unknown option --\(name)\(hint)", command: command)
    }
    guard let valueName = option.value else {
      guard parts.count == 1 else {
        throw UsageError("option --\(name) takes no value", command: command)
      }
      values[name] = [""]
      return
    }
    guard option.isRepeatable || values[name] == nil else {
      throw UsageError("option --\(name) is given twice", command: command)
    }
    guard let value = parts.count == 2 ? String(parts[1]) : Self.popValue(&rest, command) else {
      throw UsageError("option --\(name) needs a value: --\(name) \(valueName)", command: command)
    }
    values[name, default: []].append(value)
  }

  /// The next argument, unless it is an option: then the value before it was forgotten.
  private static func popValue(
    _ rest: inout ArraySlice<String>, _ command: CommandSpecification
  ) -> String? {
    guard let next = rest.first,
      !command.allOptions.contains(where: {
        next == "--\($0.name)" || next.hasPrefix("--\($0.name)=")
      })
    else { return nil }
    return rest.popFirst()
  }

  private mutating func parseShort(
    _ letters: Substring, _ rest: inout ArraySlice<String>, _ command: CommandSpecification
  ) throws(UsageError) {
    for (position, letter) in letters.enumerated() {
      guard let option = command.allOptions.first(where: { $0.letter == letter }) else {
        throw UsageError("unknown option -\(letter)", command: command)
      }
      guard option.value == nil else {
        // The value is what follows the letter, or else the next argument.
        let value = letters.dropFirst(position + 1)
        return try parseLong(
          value.isEmpty ? "\(option.name)" : "\(option.name)=\(value)", &rest, command)
      }
      values[option.name] = [""]
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

  /// Whether an option was given.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// The value of an option, if it was given.
  subscript(name: String) -> String? { values[name]?.last }

  /// All values of an option that may be repeated, in order.
  func values(of name: String) -> [String] { values[name] ?? [] }
}

/// A mistake in what was typed: exit status 2.
struct UsageError: Error {
  var message: String
  /// The command whose help is worth reading, if one was recognised.
  var command: CommandSpecification?

  init(_ message: String, command: CommandSpecification? = nil) {
    self.message = message
    self.command = command
  }
}
