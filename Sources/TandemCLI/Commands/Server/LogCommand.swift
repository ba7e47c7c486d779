import Tandem

/// `tandem log`: shows the commits of a space.
enum LogCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let count = ValueOption(
      "count", in: 1...Int.max,
      help: "The maximum number of commits (default: \(defaultCount)).")
    static let replicaName = ValueOption<ReplicaName>(
      "name", "REPLICA=NAME", isRepeatable: true, takes: "REPLICA=NAME, such as 3f0c=Laptop",
      help: """
        Give a replica a name, which the log shows. REPLICA is the
        beginning of its identity. An empty NAME removes the name.
        """
    ) { ReplicaName($0) }
    static let json = Flag(
      "json",
      help: """
        Print one JSON object per line:
        {"version":N,"time":TIME,"account":NAME,
        "replica":ID,"name":NAME,"commit":ID,
        "changes":[{"table":T,"records":N}],"overruled":[
        {"table":T,"id":[VALUE],"version":N,"fields":ROW}]}
        The id has the values of the key columns. A version
        that is a deletion has "deleted":true, and no fields.
        """)
  }

  private static let defaultCount = 100

  static let specification = CommandSpecification(
    name: "log",
    summary: "Show the commits of a space, and the versions that lost.",
    discussion: """
      Shows the last commits of a space, the newest first: the version, the time, the account and
      the replica that made it, and the number of records that it changed, by table. A dash stands
      for what the space does not know. tandem status shows the identity of a file's replica; --name
      gives it a name. Below a commit are the versions of records that lost a merge on that
      replica, or wait for a decision there. So they can be read without the device that made them.
      A server may be using the space.
      """,
    operands: [],
    options: SpacePlace.Option.all + [Option.count, Option.replicaName, Option.json],
    examples: [
      "tandem log --space shared.space", "tandem log --space notes --data spaces --json",
      "tandem log --space shared.space --name 3f0c=Laptop",
      "tandem log --space notes --store postgresql://tandem@db.example/spaces",
    ])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let count = arguments[Option.count] ?? defaultCount
    let commits = try await SpacePlace.with(arguments) { place in
      for choice in arguments.all(Option.replicaName) { try await name(choice, in: place) }
      return try await place.read { try $0.history(maxCount: count) }
    }
    if arguments[Option.json] {
      for commit in commits { try OutputStream.printLine { commit.write(to: &$0) } }
    } else {
      let rows = [heading] + commits.map(\.cells)
      let widths = heading.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
      try OutputStream.printLines([line(heading, widths)])
      for (commit, cells) in zip(commits, rows.dropFirst()) {
        try OutputStream.printLines([line(cells, widths)] + commit.overruledLines)
      }
    }
    return 0
  }

  private static func name(_ choice: ReplicaName, in place: SpacePlace) async throws {
    let replicas = try await place.write { space in
      let replicas = try space.replicas(beginningWith: choice.replica)
      if replicas.count == 1 { try space.setName(choice.name, of: replicas[0]) }
      return replicas
    }
    guard replicas.count == 1 else {
      let reason = replicas.isEmpty ? "no replica" : "\(replicas.count) replicas"
      throw FileError(
        path: place.name, action: "changed",
        reason: "\(reason) of the space begin with \(choice.replica); tandem log --json shows all")
    }
  }

  private static let heading = ["version", "time", "account", "replica", "changes"]

  /// The cells of a line, in columns.
  private static func line(_ cells: [String], _ widths: [Int]) -> String {
    zip(cells, widths.dropLast() + [0]).map { $0.padded(to: $1) }.joined(separator: "  ")
  }
}

/// A value of `--name`.
struct ReplicaName: Sendable {
  /// The beginning of the replica's identity.
  let replica: String
  let name: String

  init?(_ text: String) {
    guard let sign = text.firstIndex(of: "="), sign != text.startIndex else { return nil }
    replica = text[..<sign].lowercased()
    name = String(text[text.index(after: sign)...])
  }
}

extension SpaceCommit {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("version", version)
      json.field("time", timeText)
      json.field("account", account)
      json.field("replica", "\(replica)")
      json.field("name", name)
      json.field("commit", "\(id)")
      json.objects("changes", of: counts.sorted { $0.key < $1.key }) { entry, json in
        json.field("table", entry.key)
        json.field("records", entry.value)
      }
      json.field("overruled", overruled)
    }
  }

  fileprivate var cells: [String] {
    let changes = counts.sorted { $0.key < $1.key }.map { "\($0.value) in \($0.key)" }
    return [
      "\(version)", timeText, account ?? "-",
      name ?? (replica == .ofSpace ? "(rules)" : "\(replica)"),
      changes.isEmpty ? "-" : changes.joined(separator: ", "),
    ]
  }

  fileprivate var overruledLines: [String] {
    overruled.map { state in
      "  overruled: \(state.key.table) \(state.key.id.keyText), edited version "
        + "\(state.version): \(state.fields.text)"
    }
  }

  private var timeText: String { Quantity.time(time) }
}
