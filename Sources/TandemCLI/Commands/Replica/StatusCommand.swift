import Tandem

/// `tandem status`: shows whether a file is in step.
enum StatusCommand: Command {
  static let failureStatus = ExitStatus.failure
  private static let json = Flag(
    "json",
    help: """
      Print one JSON object:
      {"state":"upToDate|pending|rejected|conflicts|blocked",
      "replica":ID,"space":NAME,"revision":"EPOCH.VERSION",
      "pending":N,"conflicts":N,"rejected":N,
      "tables":[{"name":T,"key":[COLUMN],"columns":[COLUMN],
      "policies":{COLUMN:POLICY},"same":[[COLUMN]],
      "pending":N,"nullKeys":N}],
      "notices":[TEXT]},
      and "reason":TEXT if it is blocked. The revision is null
      before the first synchronization.
      """)

  static let specification = CommandSpecification(
    name: "status",
    summary: "Show whether a database is in step with its space.",
    discussion: """
      Reads the file and its space; neither is changed. The states are:
        upToDate   the synchronized columns equal the space, and nothing waits
        pending    changes wait to be sent or received: run tandem sync
        rejected   changes could not be synchronized: see tandem rejected
        conflicts  conflicts are open: see tandem conflicts
        blocked    the space cannot be read, or tandem sync needs help: see the reason

      Below the tables stands what this file and the first copy of each column define differently, such as types.

      Rows with NULL in their primary key are not synchronized. The line of the table counts them, and so
      does "nullKeys" of each table in --json.
      """,
    exitStatus: "0 upToDate or pending, 1 rejected, conflicts or blocked, 2 errors.",
    operands: [.init(name: "DATABASE", help: "A SQLite file that is attached.")],
    options: [json],
    examples: ["tandem status notes.db", "tandem status notes.db --json"],
    usesDatabases: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let status = try await ReplicaFile.with(arguments.operands[0], access: .readOnly) {
      try await $1.status()
    }
    var state = status.state
    var reason = status.blockReason.map { "\($0)" }
    do {
      let head = try await ReplicaFile.withSpace(named: status.space) { try await $0.revision() }
      if let revision = status.revision, head.hasDiverged(from: revision) {
        reason = reason ?? SyncCommand.remedy(.undecided)
        state = .blocked
      } else if state == .upToDate, head != status.revision {
        state = .pending
      }
    } catch {
      reason = reason ?? "the space cannot be read: \(error)"
      state = .blocked
    }
    reason = reason.map(LibraryNames.replaced)
    if arguments[json] {
      try OutputStream.printLine { status.write(state, reason, to: &$0) }
    } else {
      try OutputStream.printLines(status.lines(state, reason))
    }
    switch state {
    case .upToDate, .pending: return ExitStatus.success
    case .rejected, .conflicts, .blocked: return ExitStatus.attention
    }
  }
}

extension ReplicaStatus {
  fileprivate func write(_ state: State, _ reason: String?, to json: inout JSONWriter) {
    json.object { json in
      json.field("state", state.rawValue)
      if let reason { json.field("reason", reason) }
      json.field("replica", replica)
      json.field("space", space)
      json.field("revision", revision?.shortText)
      json.field("pending", pendingCount)
      json.field("conflicts", conflictCount)
      json.field("rejected", rejectedCount)
      json.objects("tables", of: tables) { table, json in
        json.field("name", table.name)
        json.field("key", table.keyColumns)
        json.field("columns", table.columns)
        json.field("policies") { json in
          json.object { json in
            for (column, policy) in table.sortedPolicies { json.field(column, policy.rawValue) }
          }
        }
        json.field("same", table.same)
        json.field("pending", table.pendingCount)
        json.field("nullKeys", table.nullKeyCount)
      }
      json.field("notices", notices.map(LibraryNames.replaced))
    }
  }

  fileprivate func lines(_ state: State, _ reason: String?) -> [String] {
    var rows: [(String, String)] = [
      ("state", state.rawValue), ("reason", reason ?? ""), ("space", SyncSpace.plainName(space)),
      ("revision", revision?.shortText ?? "none: never synchronized"), ("replica", replica),
      ("pending", "\(pendingCount)"), ("conflicts", "\(conflictCount)"),
      ("rejected", "\(rejectedCount)"),
    ]
    rows += tables.map { ("table", $0.line) }
    rows += notices.map { ("notice", LibraryNames.replaced(in: $0)) }
    return rows.filter { !$0.1.isEmpty }.map { "\($0.padded(to: 11))\($1)" }
  }
}

extension ReplicaStatus.Table {
  fileprivate var line: String {
    "\(name) by \(keyColumns.joined(separator: ", ")): "
      + "\(columns.joined(separator: ", ")); \(pendingCount) pending"
      + (policies.isEmpty
        ? ""
        : "; policies "
          + sortedPolicies.map { "\($0)=\($1.rawValue)" }.joined(separator: ", "))
      + same.map { "; same by \($0.joined(separator: ", "))" }.joined()
      + (nullKeyCount == 0
        ? ""
        : "; \(Quantity.count(nullKeyCount, "row")) not synchronized, with a NULL key")
  }

  fileprivate var sortedPolicies: [(String, FieldPolicy)] {
    policies.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}

extension SpaceRevision {
  /// True if a space with this head cannot have the history of a revision: it was restored or replaced.
  fileprivate func hasDiverged(from revision: SpaceRevision) -> Bool {
    epoch != revision.epoch || version < revision.version
      || version == revision.version && self != revision
  }
}
