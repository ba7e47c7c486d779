/// A command of `tandem`.
protocol Command {
  static var specification: CommandSpecification { get }

  /// Runs the command and returns the exit status.
  static func run(_ arguments: ParsedArguments) async throws -> Int32

  /// The exit status after an error.
  static var failureStatus: Int32 { get }
}

extension Command {
  static var failureStatus: Int32 { 1 }
}
