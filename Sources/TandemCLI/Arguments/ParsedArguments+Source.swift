import Tandem

extension ParsedArguments {
  /// Refuses a source that cannot be mirrored, and options that would do nothing for it.
  func checkMirrorSource(_ source: RecordSource) throws(UsageError) {
    let command = MirrorCommand.specification
    if case .file(let path) = source, SQLiteFile.isAt(path) {
      throw UsageError(
        "\(path) is a SQLite database: SOURCE is a list, and DATABASE comes after it",
        command: command)
    }
    if case .url = source { return }
    for option in ["header", "page", "unconditional"] where has(option) {
      throw UsageError("--\(option) is for a list from a URL", command: command)
    }
    for option in ["timeout", "retries"] where has(option) && !has("content") && !has("preview") {
      throw UsageError("--\(option) is for a list from a URL, or for --content", command: command)
    }
  }

  /// Refuses names of files that are URLs, where only files are read.
  func checkFiles(
    _ files: [(option: String, name: String)], _ command: CommandSpecification
  ) throws(UsageError) {
    for (option, name) in files {
      let source = RecordSource(name)
      guard case .url = source else { continue }
      throw UsageError(
        "\(option) takes files: fetch \(source) first, as curl does", command: command)
    }
  }
}
