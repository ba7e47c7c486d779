/// A command of `tandem`.
protocol Command {
  static var specification: CommandSpecification { get }

  /// Runs the command and returns the exit status.
  static func run(_ arguments: ParsedArguments) async throws -> Int32

  /// The exit status after an error: 1, unless that status is an answer of the command.
  static var failureStatus: Int32 { get }
}

extension Command {
  static var failureStatus: Int32 { 1 }
}

/// The exit statuses of commands that answer a question, such as `tandem diff` and `tandem status`.
enum ExitStatus {
  /// The exit status without differences, conflicts or rejected changes, and of commands that answer no question.
  static let success: Int32 = 0
  /// The exit status if there are differences, conflicts or rejected changes, or if `tandem sync` needs help.
  static let attention: Int32 = 1
  /// The exit status after an error.
  static let failure: Int32 = 2
}
