/// What was typed after the name of the program.
enum TypedArguments {
  /// The arguments as texts.
  ///
  /// `CommandLine.arguments` repairs bytes that are no UTF-8, and what comes of it names another file,
  /// or one file for two.
  static func read() throws(UsageError) -> [String] {
    var texts: [String] = []
    for position in 1..<max(1, Int(CommandLine.argc)) {
      guard let bytes = CommandLine.unsafeArgv[position] else { break }
      guard let text = String(validatingCString: bytes) else {
        throw UsageError("argument \(position), '\(String(cString: bytes))', is not UTF-8")
      }
      texts.append(text)
    }
    return texts
  }
}
