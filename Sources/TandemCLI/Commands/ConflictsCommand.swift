import Tandem

/// `tandem conflicts`: shows and resolves the conflicts of a file.
enum ConflictsCommand: Command {
  static let failureStatus = ExitStatus.failure

  /// The options, each declared once.
  enum Option {
    static let take = ValueOption<ConflictChoice>(
      "take", "VERSION",
      takes: "local, remote, base, null, or a JSON object of fields such as '{\"title\":\"new\"}', "
        + "with 1 and 0 for true and false",
      help: """
        The version that resolves it: local (of this file), remote
        (of the space: leaves the row as it is), base (before
        both), or a JSON object with new values of some fields;
        null deletes the row.
        """,
      offer: .words(["local", "remote", "base", "null"])
    ) { ConflictsCommand.choice($0) }
    static let json = Flag(
      "json",
      help: """
        Print an array of all conflicts, also resolved ones:
        {"id":N,"table":T,"key":KEY,"kind":"edit/edit|add/add|
        edit/delete|delete/edit","base":ROW,"local":ROW,
        "remote":ROW,
        "resolution":"local|remote|base|merged|chosen|unresolved"}
        merged: by a policy; chosen: other fields, by --take.
        \(keyShape)
        The ROW of a version that is deleted is null.
        """)
    static let quiet = Flag("quiet", letter: "q", help: "Report nothing but errors.")
  }

  static let specification = CommandSpecification(
    name: "conflicts",
    summary: "Show the conflicts of a database, or resolve them.",
    discussion: """
      Shows the open conflicts with their three versions: of the base that both sides started from,
      of this file (local) and of the space (remote). When a conflict is found, the row gets the
      version of the space; it may have changed since.

      "resolve ID" with --take resolves one by an ordinary edit of its row; run tandem sync
      afterwards. If both sides changed only some fields, only these are written. --take remote
      leaves the row as it is. Another version replaces the row as it is now: if the row has changed
      since the conflict, the version that is replaced is kept as a resolved conflict. Older
      conflicts of the row in the same fields are resolved too. "resolve all" resolves every open
      conflict so, in one transaction.

      Exit status: 0 no conflict is open, 1 conflicts are open, 2 errors.
      """,
    operands: [
      .init(name: "DATABASE", help: "A SQLite file that is attached."),
      .init(
        name: "[resolve ID|all]", help: "The conflict to resolve.",
        offer: .words(["resolve", "all"])),
    ],
    options: [Option.take, Option.json, Option.quiet],
    examples: [
      "tandem conflicts notes.db",
      "tandem conflicts notes.db resolve 1 --take local",
      "tandem conflicts notes.db resolve 1 --take '{\"title\":\"both\"}'",
      "tandem conflicts notes.db resolve all --take local",
    ],
    repeatsLastOperand: true, usesDatabases: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let path = arguments.operands[0]
    if arguments.operands.count > 1 { return try await resolve(path, arguments) }
    guard !arguments.has(Option.take) else {
      throw arguments.error("--take needs a conflict: resolve ID")
    }
    let conflicts = try await ReplicaFile.with(path, access: .readOnly) {
      try await $1.conflicts(includingResolved: true)
    }
    let open = conflicts.filter { $0.resolution == .unresolved }
    if arguments[Option.json] {
      try OutputStream.printLine { $0.array(of: conflicts) { $0.write(to: &$1) } }
    } else {
      try OutputStream.printLines(open.flatMap(\.lines))
      let resolvedCount = conflicts.count - open.count
      if !arguments[Option.quiet] {
        let more = resolvedCount > 0 ? "; \(resolvedCount) resolved: --json shows them" : ""
        TandemCLI.report("\(path): \(Quantity.count(open.count, "open conflict"))\(more)")
      }
    }
    return open.isEmpty ? ExitStatus.success : ExitStatus.attention
  }

  private static func resolve(_ path: String, _ arguments: ParsedArguments) async throws -> Int32 {
    let word = arguments.operands.last ?? ""
    guard arguments.operands[1] == "resolve", arguments.operands.count == 3,
      word == "all" || Int64(word) != nil
    else {
      throw arguments.error(
        "unexpected '\(arguments.operands.dropFirst().joined(separator: " "))'; "
          + "write: resolve ID --take VERSION, or resolve all --take VERSION")
    }
    let choice = try arguments.required(Option.take, "the version that resolves the conflict")
    guard !arguments[Option.json] else {
      throw arguments.error("--json shows conflicts; leave it out to resolve one")
    }
    return try await ReplicaFile.with(path) { _, replica in
      var subject: String?
      if let id = Int64(word) {
        try await replica.resolve(conflict: id, by: choice)
        subject = "conflict \(id) is resolved"
      } else {
        let count = try await replica.resolveConflicts(by: choice)
        if count > 0 { subject = "\(Quantity.count(count, "conflict")) resolved" }
      }
      let openCount = try await replica.status().conflictCount
      if !arguments[Option.quiet] {
        let next =
          openCount == 0
          ? "send it: tandem sync \(path)"
          : "\(Quantity.count(openCount, "open conflict")) left"
        TandemCLI.report(
          "\(path): " + (subject.map { "\($0); \(next)" } ?? "no conflict is open"))
      }
      return openCount == 0 ? ExitStatus.success : ExitStatus.attention
    }
  }

  private static func choice(_ text: String) -> ConflictChoice? {
    switch text {
    case "local": return .local
    case "remote": return .remote
    case "base": return .base
    case "null": return .record(nil)
    default:
      guard let fields = try? SyncMessageReader().fields(Array(text.utf8)),
        !fields.values.isEmpty
      else { return nil }
      return .fields(fields)
    }
  }
}

extension ReplicaConflict {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("id", Int(id))
      json.field("table", table)
      json.field("key") { primaryKey.writeKey(to: &$0) }
      json.field("kind", kind.rawValue)
      let names = fieldNames
      json.field("base", base?.with(names))
      json.field("local", local?.with(names))
      json.field("remote", remote?.with(names))
      json.field("resolution", resolution.rawValue)
    }
  }

  /// The names of the fields of all versions.
  private var fieldNames: [String] {
    [base, local, remote].compactMap { $0?.layout.names }.reduce(into: []) { names, more in
      names += more.filter { !names.contains($0) }
    }
  }

  fileprivate var lines: [String] {
    let fields = fields.map { " in \($0.joined(separator: ", "))" } ?? ""
    var lines = ["conflict \(id): \(table) \(primaryKey.keyText), \(kind.rawValue)\(fields)"]
    if kind != .addAdd { lines.append("  base    \(base.text)") }
    return lines + ["  local   \(local.text)", "  remote  \(remote.text)"]
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
