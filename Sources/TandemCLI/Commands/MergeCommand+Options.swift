import Tandem

extension MergeCommand {
  /// What was asked for, checked.
  struct Options {
    /// The file of the base; `nil` if it is unknown.
    var base: String?
    var local: String
    var remote: String
    var key: [String]
    var textFields: [FieldName]
    var policy: MergePolicy<Record>
    var format: RecordFormat?
    var path: String?
    /// The file to write to; `nil` for standard output.
    var output: String?
    var printsJSON: Bool
    var isQuiet: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
      let specification = MergeCommand.specification
      base = arguments["base"]
      guard (base == nil) == arguments.has("unknown-base") else {
        throw UsageError("either --base or --unknown-base is needed", command: specification)
      }
      local = try Self.required("local", "one version of the list", arguments)
      remote = try Self.required("remote", "the other version of the list", arguments)
      guard [base, local, remote].count(where: { $0 == "-" }) <= 1 else {
        throw UsageError("only one version can be standard input", command: specification)
      }
      try arguments.checkFiles(
        [("--base", base ?? ""), ("--local", local), ("--remote", remote)], specification)
      guard let key = try arguments.key(specification) else {
        throw UsageError(
          "--key is missing: the fields that identify a record", command: specification)
      }
      self.key = key
      textFields = arguments.values(of: "text").flatMap { $0.split(separator: ",") }
        .map { FieldName(String($0)) }
      policy = try Self.policy(arguments, texts: textFields)
      format = try arguments.format(specification)
      path = arguments["path"]
      output = arguments["output"].flatMap { AtomicFile.isStandardOutput($0) ? nil : $0 }
      printsJSON = arguments.has("json")
      guard !printsJSON || !arguments.has("output") || output != nil else {
        throw UsageError(
          "--json goes to standard output, and --output names that too", command: specification)
      }
      isQuiet = arguments.has("quiet")
    }

    private static func required(
      _ name: String, _ meaning: String, _ arguments: ParsedArguments
    ) throws(UsageError) -> String {
      guard let value = arguments[name], !value.isEmpty else {
        throw UsageError("--\(name) is missing: \(meaning)", command: specification)
      }
      return value
    }
  }
}

// MARK: - How conflicts are resolved

extension MergeCommand.Options {
  private enum Granularity: String, CaseIterable {
    case record, field
  }

  private enum Preference: String, CaseIterable {
    case local, remote, edits

    func policy<Value>() -> MergePolicy<Value> {
      switch self {
      case .local: return .keepLocal
      case .remote: return .keepRemote
      case .edits: return .editBeatsDelete
      }
    }
  }

  private static func policy(
    _ arguments: ParsedArguments, texts: [FieldName]
  ) throws(UsageError) -> MergePolicy<Record> {
    let preference: Preference? = try choice("prefer", arguments)
    let preferred: MergePolicy<FieldValue> = preference?.policy() ?? .unresolved
    let text = MergePolicy<FieldValue>.textMerge.then(preferred)
    let records: MergePolicy<Record>
    switch try choice("by", arguments) ?? Granularity.record {
    case .field:
      records = .fieldwise(
        byName: Dictionary(texts.map { ($0, text) }) { first, _ in first }, otherwise: preferred)
    case .record:
      records = texts.isEmpty ? .unresolved : .merging(fields: texts, text)
    }
    return records.then(preference?.policy() ?? .unresolved)
  }

  private static func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String, _ arguments: ParsedArguments
  ) throws(UsageError) -> Choice? {
    guard let text = arguments[name] else { return nil }
    guard let choice = Choice(rawValue: text) else {
      let names = Choice.allCases.map(\.rawValue)
      let hint = Spelling.closest(to: text, among: names).map { "; did you mean \($0)?" } ?? ""
      throw UsageError(
        "--\(name) takes \(names.joined(separator: ", ")), not '\(text)'\(hint)",
        command: MergeCommand.specification)
    }
    return choice
  }
}
