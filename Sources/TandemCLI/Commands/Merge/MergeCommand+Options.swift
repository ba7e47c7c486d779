import Tandem

extension MergeCommand {
  /// The options of the command, checked.
  struct Options {
    /// The file of the base; `nil` if it is unknown.
    var base: String?
    var local: String
    var remote: String
    var key: [String]
    var textFields: [FieldName]
    var policy: MergePolicy<ListRecord>
    /// The policy for columns of CSV.
    var columnPolicy: MergePolicy<String>
    var conflictForm: ConflictForm
    var format: RecordFormat?
    var csv: CSVOptions
    /// The requests for versions at URLs.
    var request: ListRequest
    /// The sources of the versions, by their names.
    var sources: [String: RecordSource]
    /// The name of the list in messages; the option is given by git, as to any merge driver.
    var path: String?
    /// The file to write to; `nil` for standard output.
    var output: String?
    var printsJSON: Bool
    var isQuiet: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
      base = arguments[Option.base]
      guard (base == nil) == arguments[Option.unknownBase] else {
        throw arguments.error(
          base == nil
            ? "--base is missing: the version that both sides started from; without one, write "
              + "--unknown-base" : "--base and --unknown-base exclude each other")
      }
      local = try arguments.required(Option.local, "one version of the list")
      remote = try arguments.required(Option.remote, "the other version of the list")
      guard [base, local, remote].count(where: { $0 == "-" }) <= 1 else {
        throw arguments.error("only one version can be standard input")
      }
      key = try arguments.required(Option.key, "the fields that identify a record")
      textFields = arguments.all(Option.text).flatMap { $0.split(separator: ",") }
        .map { FieldName(String($0)) }
      policy = Self.policy(arguments, texts: textFields)
      columnPolicy = arguments[Option.prefer]?.policy() ?? .unresolved
      format = arguments[Option.format]
      csv = try arguments.csvOptions()
      csv.requiredFields = key
      if let format { try arguments.checkCSVOptions(for: [format]) }
      request = try ListRequest(arguments, format: format)
      request.list.key = key
      request.list.csv = csv
      let names = [base, local, remote].compactMap { $0 }
      let typed = try request.sources(names, readsFiles: false)
      sources = Dictionary(zip(names, typed)) { first, _ in first }
      path = arguments[Option.path]
      conflictForm = arguments[Option.conflicts] ?? (path == nil ? .local : .markers)
      output = arguments[Option.output].flatMap { AtomicFile.isStandardOutput($0) ? nil : $0 }
      printsJSON = arguments[Option.json]
      guard !printsJSON || !arguments.has(Option.output) || output != nil else {
        throw arguments.error("--json goes to standard output, and --output names that too")
      }
      isQuiet = arguments[Flag.quiet]
      guard conflictForm != .file || output != nil || path != nil else {
        throw arguments.error(
          "--conflicts file needs --output or --path, beside which the file is written")
      }
    }
  }
}

// MARK: - Resolving conflicts

extension MergeCommand {
  enum Granularity: String, CaseIterable {
    case record, field
  }

  /// The form of an unresolved conflict in the merged list.
  enum ConflictForm: String, CaseIterable {
    case markers, file, local
  }

  enum Preference: String, CaseIterable {
    case local, remote, edits

    func policy<Value>() -> MergePolicy<Value> {
      switch self {
      case .local: return .keepLocal
      case .remote: return .keepRemote
      case .edits: return .editBeatsDelete
      }
    }
  }
}

extension MergeCommand.Options {
  private static func policy(
    _ arguments: ParsedArguments, texts: [FieldName]
  ) -> MergePolicy<ListRecord> {
    let preference = arguments[MergeCommand.Option.prefer]
    let preferred: MergePolicy<ListValue> = preference?.policy() ?? .unresolved
    let text = MergePolicy<ListValue>.textMerge.then(preferred)
    let records: MergePolicy<ListRecord>
    switch arguments[MergeCommand.Option.by] ?? .record {
    case .field:
      records = .fieldwise(
        byName: Dictionary(texts.map { ($0, text) }) { first, _ in first }, otherwise: preferred)
    case .record:
      records = texts.isEmpty ? .unresolved : .merging(fields: texts, text)
    }
    return records.then(preference?.policy() ?? .unresolved)
  }
}
