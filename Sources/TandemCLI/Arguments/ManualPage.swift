import Tandem

/// A page of the manual in the format of man(7), made of the same specification as the help.
struct ManualPage {
  /// The name of the page, such as `tandem-mirror`.
  let name: String
  private(set) var text: String
  /// True after the title of a section, where no paragraph may begin.
  private var isAtStart = false

  private init(_ name: String, summary: String) {
    self.name = name
    text = """
      .\\" Made by 'tandem man'.
      .TH \(name.uppercased()) 1 "" "Tandem \(PackageVersion.current)" "Tandem"
      .nh
      .ad l
      .SH NAME

      """
    let summary = summary.hasSuffix(".") ? String(summary.dropLast()) : summary
    line("\(Self.escaped(name)) \\- \(Self.escaped(summary))")
  }

  /// The page of a command.
  init(of command: CommandSpecification) {
    self.init("tandem-\(command.name)", summary: command.summary)
    section("SYNOPSIS")
    synopsis("tandem \(command.name)", command.operands.map(\.name) + ["[options]"])
    section("DESCRIPTION")
    for block in Self.blocks(of: command.discussion) { add(block) }
    if !command.operands.isEmpty { section("ARGUMENTS") }
    for operand in command.operands { entry(Self.emphasized(operand.name), operand.help) }
    section("OPTIONS")
    for option in command.allOptions { entry(Self.term(of: option), option.help) }
    if let status = command.exitStatus {
      section("EXIT STATUS")
      for block in Self.blocks(of: status) { add(block) }
    }
    add(examples: command.examples)
    section("SEE ALSO")
    reference(to: ["tandem"])
  }

  /// The page of the tool itself.
  init(ofTool jobs: [(title: String, commands: [any Command.Type])]) {
    let commands = jobs.flatMap(\.commands).map { $0.specification }
    self.init("tandem", summary: TandemCLI.purpose)
    section("SYNOPSIS")
    synopsis("tandem", ["COMMAND", "[arguments]"])
    section("DESCRIPTION")
    line(Self.escaped(TandemCLI.purpose))
    section("COMMANDS")
    for job in jobs {
      line(".SS \(Self.escaped(job.title))")
      for command in job.commands { add(command.specification) }
    }
    add(TandemCLI.help)
    section("OPTIONS")
    for option in TandemCLI.options { entry(Self.term(of: option), option.help) }
    add(examples: commands.compactMap(\.examples.first))
    section("SEE ALSO")
    reference(to: commands.map { "tandem-\($0.name)" })
  }
}

// MARK: - Parts

extension ManualPage {
  private mutating func line(_ line: String) {
    text += line + "\n"
    isAtStart = false
  }

  private mutating func section(_ title: String) {
    line(".SH \(title)")
    isAtStart = true
  }

  private mutating func paragraph() {
    if !isAtStart { line(".PP") }
  }

  /// A command in the list of all.
  private mutating func add(_ command: CommandSpecification) {
    entry("\\fB\(Self.escaped(command.name))\\fR", command.summary)
  }

  private mutating func synopsis(_ command: String, _ arguments: [String]) {
    line(([Self.bold(command)] + arguments.map(Self.emphasized)).joined(separator: " "))
  }

  /// A term and its explanation, which is filled again.
  private mutating func entry(_ term: String, _ help: String) {
    line(".TP")
    line(term)
    for part in help.split(separator: "\n") { line(Self.escaped(String(part))) }
  }

  private mutating func add(examples: [String]) {
    section("EXAMPLES")
    add(code: examples)
  }

  private mutating func add(code lines: [String]) {
    guard !lines.isEmpty else { return }
    paragraph()
    line(".RS 4\n.EX")
    for code in lines { line(Self.escaped(code)) }
    line(".EE\n.RE")
  }

  private mutating func reference(to pages: [String]) {
    line(pages.map { "\(Self.bold($0))(1)" }.joined(separator: ",\n"))
  }

  /// Adds a paragraph: filled lines, indented lines of code, or terms with their explanations, which
  /// begin after two spaces and continue in the same column.
  private mutating func add(_ block: [String]) {
    var code: [String] = []
    var column: Int?
    var isFirst = true
    for source in block {
      let indent = source.prefix { $0 == " " }.count
      if indent > 0, indent != column {
        code.append(String(source.dropFirst(2)))
        continue
      }
      add(code: code)
      if let term = Self.split(source) {
        line(".TP")
        line(Self.bold(term.name))
        line(Self.escaped(term.help))
        column = term.column
      } else {
        if isFirst || !code.isEmpty { paragraph() }
        line(Self.escaped(source.drop { $0 == " " }))
      }
      code = []
      isFirst = false
    }
    add(code: code)
  }

  /// The term of a line such as `listen  Prints messages`, its help, and the column of that.
  private static func split(_ line: String) -> (name: String, help: Substring, column: Int)? {
    let name = line.prefix { $0 != " " }
    let rest = line.dropFirst(name.count)
    let help = rest.drop { $0 == " " }
    guard !name.isEmpty, !help.isEmpty, rest.count - help.count > 1 else { return nil }
    return (String(name), help, line.count - help.count)
  }

  /// The paragraphs of a text, each with its lines.
  private static func blocks(of text: String) -> [[String]] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      .split(separator: "").map(Array.init)
  }

  private static func term(of option: any CommandOption) -> String {
    let names = (option.letter.map { ["-\($0)"] } ?? []) + ["--\(option.name)"]
    let value = option.placeholder.map { " " + emphasized($0) } ?? ""
    return names.map(bold).joined(separator: ", ") + value
  }

  private static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

  private static func emphasized(_ text: String) -> String { "\\fI\(escaped(text))\\fR" }

  /// The text as it is: no character is a request, or is exchanged for a typographic one.
  private static func escaped(_ text: some StringProtocol) -> String {
    let escapes: [Character: String] = [
      "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti",
    ]
    let escaped = text.map { escapes[$0] ?? String($0) }.joined()
    return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
  }
}
