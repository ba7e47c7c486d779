import Tandem

/// `tandem rekey`: gives the keys of tables another form.
enum RekeyCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let table = ValueOption<String>(
      "table", "T", isRepeatable: true,
      help: "A table whose key changes. Required. May be repeated.")
    static let autoincrement = Flag(
      "autoincrement", help: "Let SQLite never give a number of the key again.")
    static let text = Flag(
      "text",
      help: """
        Replace each number of the key by a random text, also
        in the columns that refer to it by foreign keys.
        """)
    static let dryRun = Flag(
      "dry-run", letter: "n", help: "Change nothing; print the SQL statements.")
    static let json = Flag(
      "json",
      help: """
        Print one JSON object:
        {"tables":[{"table":T,"key":COLUMN}],
        "references":[{"table":T,"column":COLUMN,"parent":T}],
        "notes":[TEXT],"statements":[SQL]}. The statements are
        there with --dry-run only.
        """)
  }

  static let specification = CommandSpecification(
    name: "rekey",
    summary: "Give the numbers of a primary key another form, before attach.",
    discussion: """
      SQLite numbers the rows of a table with an INTEGER PRIMARY KEY, and two copies give the same
      number to different rows. Rekey prepares such a table for synchronization, in one transaction:
      the file is as before or as after, also if the command is killed.

      --autoincrement makes the key INTEGER PRIMARY KEY AUTOINCREMENT. All rows and numbers stay.

      --text makes the key a TEXT with a random UUID in each row, such as
      7c1de9a0-5c5a-4b7e-9d0b-0c8a3f1e6f52, and gives rows that are inserted without a key one. All
      columns that refer to the key by foreign keys become TEXT too, those of other tables included.
      Columns that refer to it without a foreign key stay as they are. Programs that hold numbers,
      or declare the columns as numbers, must change. Each run draws other keys: run it in one file,
      and make the other copies from that file.

      Rows, columns, indexes, triggers and views stay in both cases. What cannot be kept is refused,
      with a remedy. A table that is synchronized must be detached first.
      """,
    operands: [.init(name: "DATABASE", help: "A SQLite file that exists.")],
    options: [
      Option.table, Option.autoincrement, Option.text, Option.dryRun, Option.json, Flag.quiet,
    ],
    examples: [
      "tandem rekey shop.db --table invoice --autoincrement",
      "tandem rekey shop.db --table customer --table invoice --text",
      "tandem rekey shop.db --table invoice --text --dry-run",
    ],
    usesDatabases: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let path = arguments.operands[0]
    _ = try arguments.required(Option.table, "the name of the table")
    try arguments.checkQuietJSON(Flag.quiet, Option.json)
    guard arguments[Option.autoincrement] != arguments[Option.text] else {
      throw arguments.error("give one of: --autoincrement or --text")
    }
    let isDryRun = arguments[Option.dryRun]
    let bar = ProgressBar("rekey", isQuiet: arguments[Flag.quiet])
    defer { bar.finish() }
    let change = try await ReplicaFile.with(path) { database, _ in
      let names = try await tableNames(in: database, arguments)
      return try await database.rekey(
        names, arguments[Option.text] ? .text : .autoincrement, isDryRun: isDryRun
      ) { table, share in
        bar.update(share: share, detail: table)
      }
    }
    bar.finish()
    if arguments[Option.json] {
      try OutputStream.printLine { change.write(to: &$0, isDryRun: isDryRun) }
    } else if isDryRun {
      let statements =
        ["PRAGMA foreign_keys = OFF", "BEGIN IMMEDIATE"] + change.statements + ["COMMIT"]
      try OutputStream.write(Array(statements.map { $0 + ";\n" }.joined().utf8), to: STDOUT_FILENO)
    }
    guard !arguments[Flag.quiet], !arguments[Option.json] else { return ExitStatus.success }
    let form = arguments[Option.text] ? "is a random text" : "is AUTOINCREMENT"
    let tense = isDryRun ? "would change: it" : "has changed: it"
    for table in change.tables {
      TandemCLI.report("\(path): the key \(table.key) of \(table.name) \(tense) \(form)")
    }
    for reference in change.references {
      TandemCLI.report(
        "\(path): \(reference.table).\(reference.column) follows the key of \(reference.parent)")
    }
    for note in change.notes { TandemCLI.report("\(path): \(note)") }
    if arguments[Option.text] {
      TandemCLI.report("\(path): programs that hold numbers of these keys must change")
    }
    return ExitStatus.success
  }

  /// The tables, as they are declared.
  private static func tableNames(
    in database: Database, _ arguments: ParsedArguments
  ) async throws -> [String] {
    let names = arguments.all(Option.table)
    return try await database.read { transaction in
      guard try transaction.connection.integer("PRAGMA application_id") != SyncSpace.applicationID
      else {
        throw DatabaseError(
          code: .error, message: "it is a space; name the file of an application",
          path: database.path)
      }
      return try names.map { try transaction.schema(ofNamedTable: $0, for: specification).name }
    }
  }
}

extension KeyChange {
  fileprivate func write(to json: inout JSONWriter, isDryRun: Bool) {
    json.object { json in
      json.objects("tables", of: tables) { table, json in
        json.field("table", table.name)
        json.field("key", table.key)
      }
      json.objects("references", of: references) { reference, json in
        json.field("table", reference.table)
        json.field("column", reference.column)
        json.field("parent", reference.parent)
      }
      json.field("notes", notes)
      if isDryRun { json.field("statements", statements) }
    }
  }
}
