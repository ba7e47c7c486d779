import Tandem

extension ParsedArguments {
  /// The fields of a key, from `--key`.
  func key(_ command: CommandSpecification) throws(UsageError) -> [String]? {
    guard let text = self["key"] else { return nil }
    let names = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    guard !names.contains(""), RecordLayout(names) != nil else {
      throw UsageError("--key names fields with commas between them, each once", command: command)
    }
    return names
  }

  /// The format of lists, from `--format`.
  func format(_ command: CommandSpecification) throws(UsageError) -> RecordFormat? {
    guard let name = self["format"] else { return nil }
    guard let format = RecordFormat(rawValue: name) else {
      let names = RecordFormat.allCases.map(\.rawValue)
      let hint = Spelling.closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
      throw UsageError(
        "--format takes \(names.joined(separator: ", ")), not '\(name)'\(hint)", command: command)
    }
    return format
  }
}
