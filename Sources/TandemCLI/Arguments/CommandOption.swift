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

  /// Parses the value.
  func read(_ text: String) throws(UsageError) -> any Sendable
}

/// An option without a value, such as `--quiet`.
struct Flag: CommandOption {
  let name: String
  let letter: Character?
  let help: String

  init(_ name: String, letter: Character? = nil, help: String) {
    self.name = name
    self.letter = letter
    self.help = help
  }

  var placeholder: String? { nil }
  var isRepeatable: Bool { true }

  func read(_ text: String) -> any Sendable { true }
}

/// An option with a value, written `--name VALUE` or `--name=VALUE`.
struct ValueOption<Value: Sendable>: CommandOption {
  let name: String
  let letter: Character?
  let placeholder: String?
  let isRepeatable: Bool
  let help: String
  /// Parses a value.
  private let parse: @Sendable (_ text: String) -> Value?
  /// The accepted values, for the error message.
  private let expectation: String
  private let hint: @Sendable (_ text: String) -> String

  /// An option whose values `parse` parses; `expectation` completes "--name takes …".
  init(
    _ name: String, _ placeholder: String, letter: Character? = nil, isRepeatable: Bool = false,
    takes expectation: String, help: String,
    hint: @escaping @Sendable (_ text: String) -> String = { _ in "" },
    parse: @escaping @Sendable (_ text: String) -> Value?
  ) {
    self.name = name
    self.letter = letter
    self.placeholder = placeholder
    self.isRepeatable = isRepeatable
    self.help = help
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
