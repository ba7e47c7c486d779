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

extension ParsedArguments {
  /// The fields of a key, from `--key`.
  func key(_ command: CommandSpecification) throws(UsageError) -> [String]? {
    guard let text = self["key"] else { return nil }
    let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard !names.contains(""), Set(names).count == names.count else {
      throw UsageError("--key names fields with commas between them, each once", command: command)
    }
    return names
  }
}
