import Tandem

/// `tandem attach`: makes a file a replica of a space.
enum AttachCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let space = ValueOption<String>(
      "space", "SPACE",
      help: """
        The file of the space or, with --server, the name of
        the space; created if it is missing. Required.
        """, offer: .files)
    static let server = ValueOption<String>(
      "server", "URL",
      help: "The server of the space, which tandem serve runs, such as\nhttps://sync.example.org.")
    static let tokenFile = ValueOption<String>(
      "token-file", "FILE",
      help: """
        A file with the token for the server. The database keeps
        its path, not the token (default: the variable
        TANDEM_TOKEN, also for tandem sync).
        """)
    static let cacert = ValueOption<String>(
      "cacert", "FILE",
      help:
        "Trust the certificates in this PEM file instead of the\nsystem's. The database keeps its path."
    )
    static let insecureHTTP = Flag(
      "insecure-http",
      help: """
        Send the token to another machine over http, where
        whoever sees the network can read it. The database
        keeps this decision.
        """)
    static let table = ValueOption<TableChoice>(
      "table", "T[:COLUMN,…]", isRepeatable: true,
      takes: "a table, or a table and its columns, such as note:title,body",
      help: """
        A table to synchronize, with all columns or these.
        Required. May be repeated. A name with a colon or a
        comma is written in double quotes.
        """
    ) { TableChoice($0) }
    static let granularity = ValueOption<GranularityChoice>(
      "granularity", "T=field|record", isRepeatable: true,
      takes: "TABLE=field or TABLE=record",
      help: """
        The unit of conflicts in a table. With record, edits of
        different fields of a row are a conflict as well: for
        fields that must fit each other (default: field). All
        copies must choose the same. May be repeated.
        """
    ) { GranularityChoice($0) }
    static let policy = ValueOption<PolicyChoice>(
      "policy", "COLUMN=POLICY", isRepeatable: true,
      takes: "COLUMN=POLICY or TABLE.COLUMN=POLICY, with \(PolicyChoice.names)",
      help: """
        The policy for a column that two copies change at the
        same time: counter, text, local, remote, maximum or
        minimum. Name it COLUMN or TABLE.COLUMN. May be
        repeated.
        """,
      hint: { PolicyChoice.hint($0) }
    ) { PolicyChoice($0, allowsNone: false) }
    static let same = ValueOption<TableChoice>(
      "same", "T.COLUMN[,…]", isRepeatable: true,
      takes: "a table and the columns of a unique constraint, such as category.name",
      help: """
        Rows with the same values in these columns are one
        record. If two copies add one under different keys, the
        row of the later one is joined with the other: null
        fields are filled, and what refers to it follows. The
        columns need a UNIQUE constraint. May be repeated.
        """
    ) { text in TableChoice(text, separator: ".").flatMap { $0.columns == nil ? nil : $0 } }
    static let renumber = ValueOption<String>(
      "renumber", "TABLE", isRepeatable: true,
      help: """
        SQLite chooses the keys of this table, by INTEGER
        PRIMARY KEY AUTOINCREMENT. If two copies give one
        number, the row of the later one gets a new number, and
        its references follow. All copies must say the same.
        May be repeated.
        """)
    static let allowAssignedKeys = Flag(
      "allow-assigned-keys",
      help:
        "Accept INTEGER PRIMARY KEY: the programs that write\nchoose numbers that no two copies choose."
    )
    static let allowBlindSpots = Flag(
      "allow-blind-spots",
      help:
        "Accept a table that REPLACE can change unseen; such\nchanges are found later, by comparing everything."
    )
    static let allowLostCommits = Flag(
      "allow-lost-commits",
      help: """
        Without --table: attach the file to another address of
        its space although commits are missing there, as after
        tandem promote. Then: tandem sync --lost-history
        """)
  }

  static let specification = CommandSpecification(
    name: "attach",
    summary: "Make tables of a database a replica of a space.",
    discussion: """
      Attaches tables of a SQLite file to a space, through which tandem sync keeps all copies in
      step: a file that all of them can reach, or a space of a server (--server). Any program may
      write the tables at any time. The tables keep their schema; Tandem adds triggers and tables of
      its own, whose names begin with tandem_. tandem detach removes them again.

      The rows that exist are additions. Rows with the same key and content as in the space are
      recognized, so copies of one file can be attached one after the other.

      Each table needs a primary key that no two copies give to different rows, or --renumber. The
      policies are
      kept in the file: counter adds the changes of both sides, text merges the edits of both sides,
      local and remote take the version of this file or of the space, maximum and minimum take the
      greater or the lesser value. Edits of different fields do not conflict, unless --granularity
      says record for their table. Give every copy the same policies.

      If the space has moved, the same command without --table notes its new address.
      """,
    operands: [.init(name: "DATABASE", help: "A SQLite file that exists.")],
    options: [
      Option.space, Option.server, Option.tokenFile, Option.cacert, Option.insecureHTTP,
      Option.table, Option.granularity,
      Option.policy, Option.same, Option.renumber, Option.allowAssignedKeys, Option.allowBlindSpots,
      Option.allowLostCommits, Flag.quiet,
    ],
    examples: [
      "tandem attach notes.db --space shared.space --table note",
      "tandem attach notes.db --space shared.space --table note:title,body,likes "
        + "--policy likes=counter",
      "tandem attach notes.db --space shared.space --table note --table address "
        + "--granularity address=record",
      "tandem attach money.db --space shared.space --table category --table expense "
        + "--same category.name",
      "tandem attach notes.db --server https://sync.example.org --space notes --token-file token "
        + "--table note",
      "tandem attach notes.db --space moved/shared.space",
    ],
    usesDatabases: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let path = arguments.operands[0]
    let spaceName = try arguments.required(Option.space, "the file or the name of the space")
    let serverSpace = try serverSpace(spaceName, arguments)
    let choices = arguments.all(Option.table)
    guard !choices.isEmpty else { return try await move(path, spaceName, serverSpace, arguments) }
    guard !arguments[Option.allowLostCommits] else {
      throw arguments.error(
        "--allow-lost-commits is for a file that is attached: leave out --table")
    }
    try await ReplicaFile.with(path) { database, replica in
      let tables = try await database.read { transaction in
        try attachedTables(choices, arguments, transaction.connection)
      }
      // Before the space is created.
      _ = try await replica.plan(tables)
      let space =
        if let serverSpace { serverSpace } else {
          try await SyncSpace.file(spaceName, creates: true)
        }
      let notices = try await ReplicaFile.with(space) { try await replica.attach(tables, to: $0) }
      guard !arguments[Flag.quiet] else { return }
      let status = try await replica.status()
      let names = status.tables.map { "\($0.name) (\($0.columns.joined(separator: ", ")))" }
      TandemCLI.report(
        "\(path) is attached to \(SyncSpace.plainName(serverSpace?.name ?? spaceName)): "
          + "\(names.joined(separator: ", ")); "
          + "\(Quantity.count(status.pendingCount, "row")) to compare: tandem sync \(path)")
      for notice in notices { TandemCLI.report("\(path): \(notice)") }
      for table in status.tables where table.nullKeyCount > 0 {
        TandemCLI.report(
          "\(path): \(Quantity.count(table.nullKeyCount, "row")) of \(table.name) not synchronized: "
            + "the key (\(table.keyColumns.joined(separator: ", "))) is NULL; give each row a key")
      }
    }
    return ExitStatus.success
  }

  /// Changes the address of the space of a file that is attached.
  private static func move(
    _ path: String, _ name: String, _ serverSpace: SyncSpace?, _ arguments: ParsedArguments
  ) async throws -> Int32 {
    try await ReplicaFile.with(path) { database, replica in
      do {
        _ = try await replica.declarations()
      } catch let error as ReplicaError where error.code == .notAttached {
        let (names, ofTools) = try await database.read { try $0.connection.tablesToAttach() }
        throw arguments.error(
          "--table is missing: a table to synchronize" + optionsForAll(names, leftOut: ofTools))
      }
      let space = if let serverSpace { serverSpace } else { try await SyncSpace.file(name) }
      try await ReplicaFile.with(space) { space in
        try await replica.move(to: space, allowsLostCommits: arguments[Option.allowLostCommits])
        guard !arguments[Flag.quiet] else { return }
        TandemCLI.report(
          "\(path) is attached to \(SyncSpace.plainName(space.name)), which is the same space")
      }
    }
    return ExitStatus.success
  }

  /// The options that attach all tables of a file; empty if there are none.
  private static func optionsForAll(_ names: [String], leftOut: [String]) -> String {
    guard !names.isEmpty else { return "" }
    let options = names.map { name in
      let isPlain = name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
      if isPlain { return "--table \(name)" }
      let parts = name.sqlQuoted.split(separator: "'", omittingEmptySubsequences: false)
      return "--table '\(parts.joined(separator: #"'\''"#))'"
    }
    let rest =
      leftOut.isEmpty
      ? "" : " (without \(leftOut.joined(separator: ", ")): they describe the schema of one copy)"
    return "; for all, write \(options.joined(separator: " "))\(rest)"
  }

  /// The space of a server; `nil` without `--server`.
  private static func serverSpace(
    _ name: String, _ arguments: ParsedArguments
  ) throws -> SyncSpace? {
    guard let server = arguments[Option.server] else {
      try arguments.checkAbsent(
        [Option.tokenFile, Option.cacert, Option.insecureHTTP],
        "is for a space of a server: it needs --server")
      guard !name.hasPrefix("https://"), !name.hasPrefix("http://") else {
        throw arguments.error("--space takes a file; for a server write --server URL --space NAME")
      }
      return nil
    }
    let token = arguments[Option.tokenFile].map { ServerToken.file($0) }
    return try SyncSpace.server(
      server, space: name, token: token ?? ReplicaFile.environmentToken,
      certificateAuthorityFile: arguments[Option.cacert],
      allowsInsecureHTTP: arguments[Option.insecureHTTP])
  }

  /// The tables with their policies.
  private static func attachedTables(
    _ choices: [TableChoice], _ arguments: ParsedArguments, _ connection: DatabaseConnection
  ) throws -> [AttachedTable] {
    let granularities = arguments.all(Option.granularity)
    for choice in granularities
    where !choices.contains(where: { $0.name.isSameSQLName(as: choice.table) }) {
      throw arguments.error("--granularity \(choice.table): name the table by --table as well")
    }
    let same = arguments.all(Option.same)
    for rule in same where !choices.contains(where: { $0.name.isSameSQLName(as: rule.name) }) {
      throw arguments.error("--same \(rule.name): name the table by --table as well")
    }
    let renumbered = arguments.all(Option.renumber)
    for name in renumbered where !choices.contains(where: { $0.name.isSameSQLName(as: name) }) {
      throw arguments.error("--renumber \(name): name the table by --table as well")
    }
    var tables = choices.map { choice in
      AttachedTable(
        choice.name, columns: choice.columns,
        same: same.filter { $0.name.isSameSQLName(as: choice.name) }.compactMap(\.columns),
        granularity: granularities.last { $0.table.isSameSQLName(as: choice.name) }?.granularity
          ?? .field,
        renumbers: renumbered.contains(where: choice.name.isSameSQLName),
        allowsAssignedKeys: arguments[Option.allowAssignedKeys],
        allowsBlindSpots: arguments[Option.allowBlindSpots])
    }
    // Those that are not synchronized too: the library refuses policies for them, with the reason.
    let columns = try choices.map { choice in
      try connection.schema(ofTable: choice.name)?.columnNames ?? choice.columns ?? []
    }
    for choice in arguments.all(Option.policy) {
      guard let policy = choice.policy else { continue }
      let place = try choice.place(in: zip(tables, columns).map { ($0.name, $1) }, arguments)
      let former = tables[place.table].policies.updateValue(policy, forKey: place.column)
      guard former == nil else {
        throw arguments.error("--policy: \(choice.field) has two policies")
      }
    }
    return tables
  }
}

extension AttachCommand {
  /// A value of `--table`.
  struct TableChoice: Sendable {
    let name: String
    /// The columns; `nil` for all.
    let columns: [String]?

    /// Names with a colon or a comma are in double quotes, in which a double quote is doubled.
    init?(_ text: String, separator: Character = ":") {
      var rest = Substring(text)
      guard let name = TableChoice.name(before: separator, in: &rest) else { return nil }
      self.name = name
      guard rest.popFirst() != nil else {
        columns = nil
        return
      }
      var columns: [String] = []
      repeat {
        guard let column = TableChoice.name(before: ",", in: &rest) else { return nil }
        columns.append(column)
      } while rest.popFirst() != nil
      self.columns = columns
    }

    /// Removes a name from the front, up to a separator.
    private static func name(before separator: Character, in rest: inout Substring) -> String? {
      var name = ""
      if rest.first == "\"" {
        repeat {
          let start = rest.dropFirst()
          guard let end = start.firstIndex(of: "\"") else { return nil }
          name += start[..<end]
          rest = start[end...].dropFirst()
          if rest.first == "\"" { name.append("\"") }
        } while rest.first == "\""
        guard rest.first.map({ $0 == separator }) ?? true else { return nil }
      } else {
        let end = rest.firstIndex(of: separator) ?? rest.endIndex
        name = String(rest[..<end])
        rest = rest[end...]
      }
      return name.isEmpty ? nil : name
    }
  }

  /// A value of `--granularity`.
  struct GranularityChoice: Sendable {
    let table: String
    let granularity: ConflictGranularity

    init?(_ text: String) {
      guard let sign = text.lastIndex(of: "="), sign != text.startIndex,
        let granularity = ConflictGranularity(rawValue: String(text[text.index(after: sign)...]))
      else { return nil }
      table = String(text[..<sign])
      self.granularity = granularity
    }
  }
}
