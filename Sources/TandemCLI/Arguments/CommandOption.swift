/// An option of a command, declared once: the parser, the help and the command use the same value, so that
/// a misspelt option does not compile.
protocol CommandOption: Sendable {
  /// The name, written as `--name`.
  var name: String { get }
  /// A letter for the short form, as in `-q`.
  var letter: Character? { get }
  /// The placeholder of the value in help; `nil` for an option without a value.
  var placeholder: String? { get }
  /// True if the option may be given more than once. All its values are used.
  var isRepeatable: Bool { get }
  var help: String { get }
  /// The values that a shell offers; `nil` for an option without a value.
  var offer: ValueOffer? { get }

  /// Parses the value.
  func read(_ text: String) throws(UsageError) -> any Sendable
}

extension CommandOption {
  /// The first sentence of the help, on one line, without a full stop: for the lists of a shell.
  var shortHelp: String {
    let line = help.split(separator: "\n").joined(separator: " ")
    let sentence = line.firstRange(of: ". ").map { line[..<$0.lowerBound] } ?? line[...]
    return String(sentence.hasSuffix(".") ? sentence.dropLast() : sentence)
  }
}

/// The values that a shell offers for an option or an operand.
enum ValueOffer: Sendable, Equatable {
  /// None: any text.
  case text
  /// The words that are accepted.
  case words([String])
  /// The commands of the tool.
  case commands
  case files
  case directories

  /// The offer for a value of this placeholder, which says in help that it is a path.
  init(placeholder: String) {
    switch placeholder {
    case "FILE", "OUT", "PATH": self = .files
    case "DIR": self = .directories
    default: self = .text
    }
  }
}

/// An option without a value, such as `--quiet`.
struct Flag: CommandOption {
  let name: String
  let letter: Character?
  let help: String

  /// The flag of commands that report what they did.
  static let quiet = Flag("quiet", letter: "q", help: "Report nothing but errors.")

  init(_ name: String, letter: Character? = nil, help: String) {
    self.name = name
    self.letter = letter
    self.help = help
  }

  var placeholder: String? { nil }
  var isRepeatable: Bool { true }
  var offer: ValueOffer? { nil }

  func read(_ text: String) -> any Sendable { true }
}

/// An option with a value, written `--name VALUE` or `--name=VALUE`.
struct ValueOption<Value: Sendable>: CommandOption {
  let name: String
  let letter: Character?
  let placeholder: String?
  let isRepeatable: Bool
  let help: String
  let offer: ValueOffer?
  /// Parses a value.
  private let parse: @Sendable (_ text: String) -> Value?
  /// The accepted values, for the error message.
  private let expectation: String
  private let hint: @Sendable (_ text: String) -> String

  /// An option whose values `parse` parses; `expectation` completes "--name takes …".
  init(
    _ name: String, _ placeholder: String, letter: Character? = nil, isRepeatable: Bool = false,
    takes expectation: String, help: String, offer: ValueOffer? = nil,
    hint: @escaping @Sendable (_ text: String) -> String = { _ in "" },
    parse: @escaping @Sendable (_ text: String) -> Value?
  ) {
    self.name = name
    self.letter = letter
    self.placeholder = placeholder
    self.isRepeatable = isRepeatable
    self.help = help
    self.offer = offer ?? ValueOffer(placeholder: placeholder)
    self.parse = parse
    self.expectation = expectation
    self.hint = hint
  }

  func read(_ text: String) throws(UsageError) -> any Sendable {
    guard let value = parse(text) else {
      throw UsageError("--\(name) takes \(expectation), not '\(text)'\(hint(text))")
    }
    return value
  }
}
