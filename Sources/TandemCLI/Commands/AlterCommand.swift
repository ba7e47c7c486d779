import Tandem

/// `tandem alter`: changes the schema of a file that is attached.
enum AlterCommand: Command {
  static let failureStatus = ReplicaFile.trouble

  /// The options, each declared once.
  enum Option {
    static let begin = Flag(
      "begin",
      help:
        "Prepare the file for changes by another program; it\ncannot be synchronized until --end."
    )
    static let end = Flag("end", help: "Take over all changes, and end what --begin began.")
    static let policy = ValueOption<PolicyChange>(
      "policy", "COLUMN=POLICY", isRepeatable: true,
      takes:
        "COLUMN=POLICY or TABLE.COLUMN=POLICY, with \(AttachCommand.PolicyChoice.names) or none",
      help: """
        Merge edits of both sides of a column by another policy
        from now on; none removes it. Change it in all copies.
        """
    ) { PolicyChange($0) }
    static let quiet = Flag("quiet", letter: "q", help: "Report nothing but errors.")
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
      columns, new ones are synchronized. A column that is renamed loses its policy: set it again
      by --policy. A copy that lacks a column of others keeps their values aside, and gets them when
      the column is added. Tables keep their names and primary keys.

      Exit status: 0 success, 2 errors.
      """,
    operands: [
      .init(name: "DATABASE", help: "A SQLite file that is attached."),
      .init(name: "[SQL …]", help: "Statements, one in each argument.", offer: .text),
    ],
    options: [Option.begin, Option.end, Option.policy, Option.quiet],
    examples: [
      "tandem alter notes.db 'ALTER TABLE note DROP COLUMN body'",
      "tandem alter notes.db --policy likes=counter",
      "tandem alter notes.db --begin && migrate-it notes.db && tandem alter notes.db --end",
    ],
    repeatsLastOperand: true)

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
        for change in policies {
          let table = try change.table(in: places, arguments)
          try await replica.setPolicy(
            change.policy, forColumn: change.column(in: table), of: table.name)
        }
        return try await replica.policies().map {
          "\($0.table).\($0.column) has the policy \($0.policy)"
        }
      }
      let before = try await replica.declarations()
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
      return (changes.isEmpty ? ["is attached with the same columns as before"] : changes)
        + (try await replica.status().voidPolicyLines(path))
    }
    if !arguments[Option.quiet] {
      for report in reports { TandemCLI.report("\(path): \(report)") }
    }
    return ReplicaFile.inStep
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

extension AlterCommand {
  /// A value of `--policy`.
  struct PolicyChange: Sendable {
    /// A column, or a table and a column.
    private let field: String
    /// The policy; `nil` for none.
    let policy: FieldPolicy?

    init?(_ text: String) {
      guard let sign = text.lastIndex(of: "="), sign != text.startIndex else { return nil }
      field = String(text[..<sign])
      let name = text[text.index(after: sign)...]
      policy = FieldPolicy(rawValue: String(name))
      if policy == nil, name != "none" { return nil }
    }

    /// The table that has the column.
    func table(
      in tables: [ReplicaStatus.Table], _ arguments: ParsedArguments
    ) throws -> ReplicaStatus.Table {
      let found = tables.filter { table in table.columns.contains { isNamed($0, of: table) } }
      guard found.count == 1 else {
        throw arguments.error(
          found.isEmpty
            ? "--policy: no attached table has a column \(field)"
            : "--policy: \(found.map(\.name).joined(separator: " and ")) have a column \(field); "
              + "write TABLE.COLUMN")
      }
      return found[0]
    }

    func column(in table: ReplicaStatus.Table) -> String {
      table.columns.first { isNamed($0, of: table) } ?? field
    }

    private func isNamed(_ column: String, of table: ReplicaStatus.Table) -> Bool {
      column.isSameSQLName(as: field) || "\(table.name).\(column)".isSameSQLName(as: field)
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
