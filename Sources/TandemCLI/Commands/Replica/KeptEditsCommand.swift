import Tandem

/// A command for some of the edits that a file keeps.
protocol KeptEditsCommand: Command {
  static var selection: KeptEdit.Selection { get }
}

/// What a person does with kept edits.
private enum KeptEditVerb {
  case resolve(KeptEdit.Choice)
  case retry, discard

  var writesRows: Bool { if case .discard = self { false } else { true } }

  /// What was done, with the number of edits, in words.
  func done(_ edits: String, isOne: Bool) -> String {
    switch self {
    case .resolve: isOne ? "\(edits) is resolved" : "\(edits) resolved"
    case .retry: isOne ? "\(edits) is in its row again" : "\(edits) made again"
    case .discard: isOne ? "\(edits) is discarded" : "\(edits) discarded"
    }
  }
}

extension KeptEditsCommand {
  static var failureStatus: Int32 { ExitStatus.failure }

  static var operands: [CommandSpecification.Operand] {
    [
      .init(name: "DATABASE", help: "A SQLite file that is attached."),
      .init(
        name: "[resolve|retry|discard ID|all]", help: "What to do, and with which one.",
        offer: .words(["resolve", "retry", "discard", "all"])),
    ]
  }

  static var keptEditOptions: [any CommandOption] {
    [KeptEditOption.take, KeptEditOption.same, KeptEditOption.json, Flag.quiet]
  }

  /// The word for one of them.
  private static var noun: String {
    selection == .conflicts ? "conflict" : "rejected change"
  }

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let path = arguments.operands[0]
    guard let (verb, word) = try verb(arguments) else { return try await list(path, arguments) }
    let chosen: KeptEdit.Selection
    if word == "all" {
      chosen = selection
    } else if let id = Int64(word), id > 0 {
      chosen = .one(id)
    } else {
      throw arguments.error("write the number of a \(noun), or all, instead of '\(word)'")
    }
    guard !arguments[KeptEditOption.json] else {
      throw arguments.error("--json shows what is kept; leave it out to change something")
    }
    return try await ReplicaFile.with(path) { _, replica in
      let count =
        switch verb {
        case .resolve(let choice): try await replica.resolve(chosen, by: choice)
        case .retry: try await replica.retry(chosen)
        case .discard: try await replica.discard(chosen)
        }
      let rest = try await replica.keptEdits(selection)
      if !arguments[Flag.quiet] {
        let subject = word == "all" ? Quantity.count(count, noun) : "\(noun) \(word)"
        let done =
          count > 0
          ? verb.done(subject, isOne: word != "all")
          : rest.isEmpty ? "no \(noun) is open" : "no \(noun) could be changed"
        let left = rest.first.map {
          "; \(Quantity.count(rest.count, noun)) left, such as \($0.id): \($0.reason)"
        }
        let next = count > 0 && verb.writesRows ? "; send it: tandem sync \(path)" : ""
        TandemCLI.report("\(path): \(done)\(left ?? "")\(next)")
      }
      if rest.isEmpty { return ExitStatus.success }
      // As for one edit that cannot be changed.
      return count > 0 ? ExitStatus.attention : ExitStatus.failure
    }
  }

  /// What the arguments ask for, and the edit or "all"; `nil` to show the list.
  private static func verb(
    _ arguments: ParsedArguments
  ) throws -> (KeptEditVerb, word: String)? {
    let words = Array(arguments.operands.dropFirst())
    guard !words.isEmpty else {
      guard !arguments.has(KeptEditOption.take), !arguments[KeptEditOption.same] else {
        throw arguments.error("--take and --same need a \(noun): resolve ID")
      }
      return nil
    }
    guard words.count == 2 else {
      throw arguments.error(
        "unexpected '\(words.joined(separator: " "))'; write: resolve ID --take VERSION, retry ID, or discard ID; "
          + "all instead of an ID is for each of them")
    }
    let isSame = arguments[KeptEditOption.same]
    guard words[0] == "resolve" || !arguments.has(KeptEditOption.take) && !isSame else {
      throw arguments.error("--take and --same need resolve")
    }
    guard !isSame || !arguments.has(KeptEditOption.take) else {
      throw arguments.error("choose one of --take and --same")
    }
    switch words[0] {
    case "resolve":
      if isSame { return (.resolve(.same), words[1]) }
      return (
        .resolve(try arguments.required(KeptEditOption.take, "the version that resolves it")),
        words[1]
      )
    case "retry": return (.retry, words[1])
    case "discard": return (.discard, words[1])
    default:
      throw arguments.error("unexpected '\(words[0])'; write resolve, retry or discard")
    }
  }

  private static func list(_ path: String, _ arguments: ParsedArguments) async throws -> Int32 {
    let edits = try await ReplicaFile.with(path, access: .readOnly) {
      try await $1.keptEdits(selection, includingResolved: true)
    }
    let open = edits.filter { $0.resolution == .unresolved }
    if arguments[KeptEditOption.json] {
      try OutputStream.printLine { $0.array(of: edits) { $0.write(to: &$1) } }
    } else {
      try OutputStream.printLines(open.flatMap(\.lines))
      if !arguments[Flag.quiet] {
        let resolvedCount = edits.count - open.count
        let more = resolvedCount > 0 ? "; \(resolvedCount) resolved: --json shows them" : ""
        let noun = selection == .conflicts ? "open conflict" : noun
        TandemCLI.report("\(path): \(Quantity.count(open.count, noun))\(more)")
      }
    }
    return open.isEmpty ? ExitStatus.success : ExitStatus.attention
  }
}

extension KeptEdit {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("id", Int(id))
      json.field("table", table)
      json.field("key") { primaryKey.writeKey(to: &$0) }
      json.field("kind", kind.rawValue)
      json.field("reason", shownReason)
      let names = fieldNames
      json.field("base", base?.with(names))
      json.field("local", local?.with(names))
      json.field("remote", remote?.with(names))
      json.field("resolution", resolution.rawValue)
    }
  }

  private var shownReason: String { LibraryNames.replaced(in: reason) }

  /// The names of the fields of all versions.
  private var fieldNames: [String] {
    [base, local, remote].compactMap { $0?.layout.names }.reduce(into: []) { names, more in
      names += more.filter { !names.contains($0) }
    }
  }

  /// For people: what it is, and its versions.
  fileprivate var lines: [String] {
    let fields = fields.map { " in \($0.joined(separator: ", "))" } ?? ""
    let title = "\(table) \(primaryKey.keyText)"
    switch kind {
    case .editEdit, .addAdd, .editDelete, .deleteEdit:
      let base = kind == .addAdd ? [] : ["  base    \(base.shownText)"]
      return ["conflict \(id): \(title), \(kind.rawValue)\(fields)"] + base
        + ["  local   \(local.shownText)", "  remote  \(remote.shownText)"]
    case .edit:
      let base = base.map { ["  base    \(Optional($0).shownText)"] } ?? []
      return ["rejected \(id): edit \(title): \(shownReason)"] + base
        + ["  local   \(local.shownText)"]
    case .row: return ["rejected \(id): row \(title): \(shownReason)"]
    case .record:
      return ["rejected \(id): record \(title): \(shownReason)", "  remote  \(remote.shownText)"]
    }
  }
}

extension Optional<Record> {
  /// The record for people: long values are cut.
  fileprivate var shownText: String {
    guard var record = self else { return text }
    for (name, value) in zip(record.layout.names, record.values) {
      switch value {
      case .text(let text) where text.utf8.count > 1_000:
        record[field: FieldName(name)] = .text("\(text.prefix(200))…")
      case .blob(let bytes) where bytes.count > 200:
        record[field: FieldName(name)] = .text("… \(bytes.count) bytes")
      default: break
      }
    }
    return Optional(record).text
  }
}

extension Record {
  /// The record with these fields, which are null if it has none of the name.
  fileprivate func with(_ names: [String]) -> Record {
    var record = self
    for name in names where layout.offset(of: name) == nil {
      record[field: FieldName(name)] = .null
    }
    return record
  }
}
