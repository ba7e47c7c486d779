import Tandem

/// `tandem space`: shows the tables and constraints of a space, drops what copies no longer have, and renames, deletes,
/// exports and imports spaces.
enum SpaceCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let dropConstraint = ValueOption(
      "drop-constraint", "NUMBER", in: 1...Int.max,
      help: "Drop the constraint of this number. No copy adds it again.")
    static let redefine = ValueOption<String>(
      "redefine", "TABLE",
      help:
        "Forget how the columns of this table are defined.\nThe next copy that synchronizes defines them."
    )
    static let confirm = ValueOption<String>(
      "confirm", "SPACE",
      help: "For rename and delete: the name of the space once more,\ninstead of a question.")
  }

  static let specification = CommandSpecification(
    name: "space",
    summary: "Show, rename, delete, export or import a space.",
    discussion: """
      Shows the tables of a space with their keys and columns, as the first copy that had them declared
      them. Other copies may declare other types, and their users are told. Below each table are its
      constraints, with their numbers. The space refuses commits that would break a constraint. A constraint that
      records broke when a copy declared it is pending: it holds as soon as the records satisfy
      it, and nothing is checked until then. At most five records that break it are named.

      --drop-constraint removes a constraint from the space for all copies. Copies whose tables have the
      constraint still check it themselves, so that they may be unable to write rows of other copies: change
      their tables first. A server may be using the space.

      --redefine is for a table whose columns all copies have changed: to another type, default, NOT NULL,
      CHECK or policy. They are shown the differences from the former definitions until the space forgets these.
      No record changes.

      rename NAME gives a space another name; its access tokens need the new name. Users attach their
      files to it, without --table, and keep all edits. delete removes a space with its history; the
      rows of its copies stay in their files. Copies of a deleted or former name are refused, and say
      so; they do not create it again. Both ask for the name of the space. Stop a server of files
      before; servers of a database notice it within seconds.

      export FILE writes the state of a space at one moment into a new file, with its history. import
      FILE makes a space of such a file, or of any file of a space, under a name that no space has. Copies
      that have seen later commits notice that these are missing, as after a restored backup.
      """,
    operands: [
      .init(
        name: "[ACTION [NAME|FILE]]", help: "rename NAME, delete, export FILE or import FILE.",
        offer: .words(["rename", "delete", "export", "import"]))
    ],
    options: SpacePlace.Option.all + [Option.dropConstraint, Option.redefine, Option.confirm],
    examples: [
      "tandem space --space shared.space",
      "tandem space --space notes --data spaces --drop-constraint 3",
      "tandem space --space notes --data spaces --redefine note",
      "tandem space --space notes --store service=spaces",
      "tandem space rename todo --space notes --data spaces",
      "tandem space delete --space notes --store service=spaces --confirm notes",
      "tandem space export notes.space --space notes --data spaces",
      "tandem space import notes.space --space notes --store service=spaces",
    ], repeatsLastOperand: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    // Other users may not read spaces and members.
    umask(0o077)
    guard arguments[Option.dropConstraint] == nil || arguments[Option.redefine] == nil else {
      throw arguments.error(
        "--drop-constraint and --redefine are two changes: make one after the other")
    }
    if let action = arguments.operands.first {
      guard arguments[Option.dropConstraint] == nil, arguments[Option.redefine] == nil else {
        throw arguments.error("\(action), --drop-constraint and --redefine are two changes")
      }
      try await administer(action, Array(arguments.operands.dropFirst()), arguments)
      return ExitStatus.success
    }
    try await SpacePlace.with(arguments) { place in
      if let number = arguments[Option.dropConstraint] {
        try await drop(number, in: place)
      } else if let table = arguments[Option.redefine] {
        try await redefine(table, in: place)
      } else {
        try await show(place)
      }
    }
    return ExitStatus.success
  }

  private static func drop(_ number: Int, in place: SpacePlace) async throws {
    guard let rule = try await place.write({ try $0.dropConstraint(number) }) else {
      throw FileError(
        path: place.name, action: "changed",
        reason: "the space has no constraint \(number); tandem space shows all")
    }
    TandemCLI.report("\(place.name): dropped in \(rule.table): \(rule.constraint)")
  }

  private static func redefine(_ name: String, in place: SpacePlace) async throws {
    guard let table = try await place.write({ try $0.forgetDefinitions(of: name) }) else {
      throw FileError(
        path: place.name, action: "changed",
        reason: "the space has no table \(name); tandem space shows all")
    }
    TandemCLI.report(
      "\(place.name): the next copy that synchronizes defines the columns of \(table)")
  }

  private static func show(_ place: SpacePlace) async throws {
    let (tables, rules, usage) = try await place.read {
      (try $0.definedTables(), try $0.rules(), try $0.usage())
    }
    for table in tables {
      try OutputStream.printLines(
        [line(table)] + checks(table)
          + rules.filter { $0.table == FieldName(table.name) }.map { line($0, table) })
    }
    try OutputStream.printLines([
      "\(Quantity.count(usage.recordCount, "record")), \(Quantity.bytes(Double(usage.byteCount)))"
    ])
  }

  private static func line(_ table: SpaceTable) -> String {
    func list(_ names: [String]) -> String {
      names.map { name in
        let definition = table.definitions?.first { $0.name == FieldName(name) }
        return ([name] + (definition?.words ?? [])).joined(separator: " ")
      }.joined(separator: ", ")
    }
    let columns = table.columns.isEmpty ? "" : ": \(list(table.columns))"
    let unit = table.granularity == .record ? "; records merge as a whole" : ""
    return "\(table.name)(\(list(table.keyColumns)))\(columns)\(unit)"
  }

  /// The rules of one row, which copies check themselves.
  private static func checks(_ table: SpaceTable) -> [String] {
    var lines: [String] = []
    for check in (table.definitions ?? []).flatMap(\.checks).map({ "     CHECK (\($0))" })
    where !lines.contains(check) {
      lines.append(check)
    }
    return lines
  }

  private static func line(_ rule: SpaceRule, _ table: SpaceTable) -> String {
    let line = "  \(rule.number)  \(rule.constraint)"
    guard let pending = table.pending.first(where: { $0.constraint == rule.constraint }) else {
      return line
    }
    let records = pending.records.map { "(\($0.keyText))" }.joined(separator: ", ")
    return "\(line); pending, broken by \(records)"
  }
}

extension SpaceColumn {
  /// The words behind the name of the column.
  fileprivate var words: [String] {
    [type, isStrict ? "(STRICT)" : "", isRequired ? "NOT NULL" : ""].filter { !$0.isEmpty }
      + (defaultText.map { ["DEFAULT \($0)"] } ?? []) + (policy.map { ["(\($0))"] } ?? [])
  }
}
