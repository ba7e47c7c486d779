/// One of the things `tandem` can do.
protocol Command {
  static var specification: CommandSpecification { get }

  /// Does it, and returns the exit status.
  static func run(_ arguments: ParsedArguments) async throws -> Int32

  /// The exit status when it throws.
  static var failureStatus: Int32 { get }
}

extension Command {
  static var failureStatus: Int32 { 1 }
}
