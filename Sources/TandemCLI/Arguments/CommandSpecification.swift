/// The arguments that a command accepts, for the parser and the help.
struct CommandSpecification: Sendable {
  struct Operand: Sendable {
    var name: String
    var help: String
    var offer = ValueOffer.files
  }

  var name: String
  var summary: String
  var discussion: String
  /// The meanings of the exit statuses; `nil` if the discussion has them.
  var exitStatus: String? = "0 success, 1 failure, 2 wrong usage."
  var operands: [Operand]
  var options: [any CommandOption]
  var examples: [String]
  /// True if the last operand may be given any number of times, including none.
  var repeatsLastOperand = false
  /// True if the command uses databases, whose tables may need an extension of SQLite.
  var usesDatabases = false

  static let help = Flag("help", letter: "h", help: "Show this help.")
  static let loadExtension = ValueOption<String>(
    "load-extension", "FILE", isRepeatable: true,
    help: "Load an extension of SQLite, with functions or collations\nthat the database needs.")

  /// The options, with those that many commands have, and `--help`, which every command has.
  var allOptions: [any CommandOption] {
    options + (usesDatabases ? [Self.loadExtension] : []) + [Self.help]
  }
}

// MARK: - Help

extension CommandSpecification {
  /// The usage line.
  var usage: String {
    (["usage: tandem \(name)"] + operands.map(\.name) + ["[options]"]).joined(separator: " ")
  }

  /// The help page. The examples come first, because most readers look for one to change.
  var helpText: String {
    var lines = [usage, "", summary, "", "examples:"]
    lines += examples.map { "  \($0)" }
    lines += ["", discussion]
    if let exitStatus { lines += ["", "Exit status: \(exitStatus)"] }
    if !operands.isEmpty { lines.append("") }
    lines += operands.map { Self.row($0.name, $0.help) }
    lines += ["", "options:"]
    lines += allOptions.map { option in
      let letter = option.letter.map { "-\($0), " } ?? "    "
      return Self.row(
        "\(letter)--\(option.name)\(option.placeholder.map { " \($0)" } ?? "")", option.help)
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// A term and its explanation, which may have several lines.
  static func row(_ term: String, _ help: String) -> String {
    let indent = String(repeating: " ", count: 28)
    let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
    let first = "  " + term.padded(to: 24)
    let start = term.count > 24 ? "  \(term)\n\(indent)" : "\(first)  "
    return start + lines.joined(separator: "\n\(indent)")
  }
}

extension String {
  /// The text with spaces up to a width.
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}
