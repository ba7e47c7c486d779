/// The arguments after the name of the program.
enum ProcessArguments {
  /// The arguments as texts.
  ///
  /// `CommandLine.arguments` replaces bytes that are not UTF-8, so the result could name another file.
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
