import Tandem

/// `tandem alter`: changes the schema of a file that is attached.
enum AlterCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let begin = Flag(
      "begin",
      help:
        "Prepare the file for changes by another program; it\ncannot be synchronized until --end."
    )
    static let end = Flag("end", help: "Take over all changes, and end what --begin began.")
    static let policy = ValueOption<PolicyChoice>(
      "policy", "COLUMN=POLICY", isRepeatable: true,
      takes:
        "COLUMN=POLICY or TABLE.COLUMN=POLICY, with \(PolicyChoice.names) or none",
      help: """
        Merge edits of both sides of a column by another policy
        from now on; none removes it. Change it in all copies.
        """,
      hint: { PolicyChoice.hint($0, allowsNone: true) }
    ) { PolicyChoice($0, allowsNone: true) }
  }

  static let specification = CommandSpecification(
    name: "alter",
    summary: "Change the schema of an attached database.",
    discussion: """
      Runs SQL statements in one transaction while Tandem's triggers are removed, and then attaches
      the tables as they are now. SQLite refuses to drop a column while triggers name it. Foreign
      keys are checked at the end, so that a table may be built anew.

      To let another program change the schema, run --begin before it, and --end after it. It may
      change rows too.

      Adding a column needs neither: tandem sync notices it. If a table was attached with all its
      columns, new ones are synchronized. A column that is renamed by a statement keeps its policy;
      after a change by another program, set it again by --policy. A copy that lacks a column of
      others keeps their values aside, and gets them when the column is added. Tables keep their names
      and primary keys.
      """,
    operands: [
      .init(name: "DATABASE", help: "A SQLite file that is attached."),
      .init(name: "[SQL …]", help: "Statements, one in each argument.", offer: .text),
    ],
    options: [Option.begin, Option.end, Option.policy, Flag.quiet],
    examples: [
      "tandem alter notes.db 'ALTER TABLE note DROP COLUMN body'",
      "tandem alter notes.db --policy likes=counter",
      "tandem alter notes.db --begin && migrate-it notes.db && tandem alter notes.db --end",
    ],
    repeatsLastOperand: true, usesDatabases: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let path = arguments.operands[0]
    let statements = Array(arguments.operands.dropFirst())
    let (begins, ends) = (arguments[Option.begin], arguments[Option.end])
    let policies = arguments.all(Option.policy)
    guard [!statements.isEmpty, begins, ends, !policies.isEmpty].count(where: { $0 }) == 1 else {
      throw arguments.error("give one of: SQL statements, --begin, --end or --policy")
    }
    let reports = try await ReplicaFile.with(path) { _, replica in
      if !policies.isEmpty {
        let places = try await replica.status().tables
          .map { (name: $0.name, columns: $0.keyColumns + $0.columns) }
        var columns: [(policy: FieldPolicy?, column: String, table: String)] = []
        for choice in policies {
          let place = try choice.place(in: places, arguments)
          let column = (choice.policy, place.column, places[place.table].name)
          guard !columns.contains(where: { $0.column == column.1 && $0.table == column.2 }) else {
            throw arguments.error("--policy: \(choice.field) has two policies")
          }
          columns.append(column)
        }
        try await replica.setPolicies(columns)
        return columns.filter { $0.policy == nil }
          .map { "\($0.table).\($0.column) has no policy any more" }
          + (try await replica.policies().map {
            "\($0.table).\($0.column) has the policy \($0.policy)"
          })
          + (try await replica.status().tables.flatMap { table in
            table.same.map {
              "\(table.name): rows with one \($0.joined(separator: ", ")) are one record"
            }
          })
      }
      let before = try await replica.declarations()
      let notices = try await replica.status().notices
      if begins {
        try await replica.beginSchemaChange()
        return ["can be changed; then: tandem alter \(path) --end"]
      }
      if ends {
        try await replica.endSchemaChange()
      } else {
        try await replica.changeSchema(by: statements)
      }
      let changes = changes(from: before, to: try await replica.declarations())
      let status = try await replica.status()
      return (changes.isEmpty ? ["is attached with the same columns as before"] : changes)
        + status.voidPolicyLines(path) + status.notices.filter { !notices.contains($0) }
    }
    if !arguments[Flag.quiet] {
      for report in reports { TandemCLI.report("\(path): \(report)") }
    }
    return ExitStatus.success
  }

  /// The columns that were added and that are gone, in words.
  private static func changes(from old: [SpaceTable], to new: [SpaceTable]) -> [String] {
    zip(old, new).flatMap { old, new in
      let added = new.columns.filter { !old.columns.contains($0) }
      let gone = old.columns.filter { !new.columns.contains($0) }
      return added.map { "\(new.name).\($0) is synchronized from now on" }
        + gone.map { "\(new.name).\($0) is kept aside from now on, for the other copies" }
    }
  }
}

extension ReplicaStatus {
  /// Lines about policies of columns that are gone.
  func voidPolicyLines(_ path: String) -> [String] {
    voidPolicies.map { policy in
      "the policy \(policy) is void, because the column is gone; if it was renamed, write: tandem "
        + "alter \(path) --policy COLUMN=\(policy.split(separator: "=").last ?? "")"
    }
  }
}
