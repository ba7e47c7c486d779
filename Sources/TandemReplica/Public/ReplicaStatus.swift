internal import TandemRecords
internal import TandemSQLite
public import TandemSync

/// The condition of a replica's file, as the file itself shows it.
public struct ReplicaStatus: Hashable, Sendable {
  /// The conditions, in ascending order of urgency.
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// The file has exactly the records that the space had at the revision, and nothing waits.
    case upToDate
    /// Changes wait to be sent or applied, or the file was never synchronized.
    case pending
    /// There are rejected changes.
    case rejected
    /// There are open conflicts.
    case conflicts
    /// The synchronization needs a decision or the end of a change of the schema, or the rows differ
    /// from those of the space.
    case blocked
  }

  /// A synchronized table.
  public struct Table: Hashable, Sendable {
    /// The name of the table.
    public let name: String
    /// The columns of the primary key.
    public let keyColumns: [String]
    /// The synchronized columns that are not part of the key.
    public let columns: [String]
    /// The rules of columns, by their names.
    public let policies: [String: FieldPolicy]
    /// The columns whose values mean one record, see ``AttachedTable/same``.
    public let same: [[String]]
    /// The number of rows that were changed since the last synchronization, or whose change was
    /// sent and has no answer yet. During a change of the schema, these are the rows that differ from
    /// the last synchronization.
    public let pendingCount: Int
    /// The number of rows that are not synchronized, because a column of their primary key is `NULL`.
    public let nullKeyCount: Int
  }

  /// The condition.
  public let state: State
  /// The reason why the synchronization is blocked, with what to do; `nil` if it is not. Reasons that
  /// only a request can show, such as a space that refuses it, are in ``/TandemSync/SyncStatus``.
  public let blockReason: ReplicaError?
  /// The identity of the replica: 32 hexadecimal digits.
  public let replica: String
  /// The name of the space.
  public let space: String
  /// The revision of the space that the file contains; `nil` before the first synchronization.
  public let revision: SpaceRevision?
  /// The synchronized tables, in the order in which they were attached.
  public let tables: [Table]
  /// The number of open conflicts.
  public let conflictCount: Int
  /// The number of rejected changes.
  public let rejectedCount: Int
  /// The policies of columns that a table no longer has, such as `note.likes=counter`. If a column was
  /// renamed, its new name needs the policy.
  public let voidPolicies: [String]
  /// What this file and the first copy of each column define differently, in sentences for people: types, `NOT NULL`,
  /// `CHECK`, defaults and policies, as the last synchronization found them. Rows that a table cannot have are rejected changes.
  public let notices: [String]

  /// The number of rows of all tables that wait.
  public var pendingCount: Int { tables.reduce(0) { $0 + $1.pendingCount } }
}

extension ReplicaTables {
  /// The condition of the file. Nothing is written.
  ///
  /// - Complexity: O(*n*) for *n* rows that wait; for all rows during a change of the schema.
  package func status() throws -> ReplicaStatus {
    let state = try state()
    let policies = try storedPolicies()
    do {
      return try fittingStatus(policies)
    } catch let error as ReplicaError where error.code == .schema {
      return ReplicaStatus(
        state: .blocked, blockReason: error, replica: state.replica.description,
        space: state.space, revision: state.revision,
        tables: try declarations().map { table in
          ReplicaStatus.Table(
            name: table.name, keyColumns: table.keyColumns, columns: table.columns,
            policies: policies[table.name] ?? [:], same: try sameRules(of: table.name),
            pendingCount: (try? pendingCount(table, mayHaveDroppedEdits: false)) ?? 0,
            nullKeyCount: (try? nullKeyCount(table)) ?? 0)
        }, conflictCount: try openCount(.conflicts), rejectedCount: try openCount(.rejected),
        voidPolicies: [], notices: try definitionNotices())
    }
  }

  /// The condition of a file whose tables are as they were declared.
  private func fittingStatus(_ policies: [String: [String: FieldPolicy]]) throws -> ReplicaStatus {
    let summary = try summary()
    let blockReason = try blockReason(summary)
    let isPaused = try isPaused()
    return ReplicaStatus(
      state: blockReason != nil
        ? .blocked
        : summary.openConflictCount > 0
          ? .conflicts
          : summary.rejectedCount > 0 ? .rejected : summary.isUpToDate ? .upToDate : .pending,
      blockReason: blockReason,
      replica: summary.state.replica.description, space: summary.state.space,
      revision: summary.state.revision,
      tables: try schemaAsItIs().schema.tables.map { table in
        ReplicaStatus.Table(
          name: table.name, keyColumns: table.keyNames, columns: table.columnNames,
          policies: policies[table.name] ?? [:], same: try sameRules(of: table.name),
          pendingCount: try pendingCount(
            table.declaration, among: isPaused ? differingKeys(of: table) : nil,
            mayHaveDroppedEdits: table.mayHaveDroppedEdits),
          nullKeyCount: try nullKeyCount(table.declaration))
      }, conflictCount: summary.openConflictCount, rejectedCount: summary.rejectedCount,
      voidPolicies: try voidPolicies(), notices: try definitionNotices())
  }

  /// The rules that the file keeps, by the names of tables and columns.
  private func storedPolicies() throws -> [String: [String: FieldPolicy]] {
    try policies().reduce(into: [:]) { policies, entry in
      policies[entry.table, default: [:]][entry.column] = FieldPolicy(rawValue: entry.policy)
    }
  }

  private func sameRules(of table: String) throws -> [[String]] {
    try storedSameRules().filter { UTF8Order.areEqual($0.table, table) }.map(\.columns)
  }

  /// The policies of columns that a table no longer has.
  private func voidPolicies() throws -> [String] {
    let tables = try schemaAsItIs().schema
    return try policies().filter { entry in
      tables.table(named: entry.table)?.schema.column(named: entry.column) == nil
    }.map { "\($0.table).\($0.column)=\($0.policy)" }
  }

  private func blockReason(_ summary: ReplicaSummary) throws -> ReplicaError? {
    let state = summary.state
    if try isPaused() { return .paused(connection.path) }
    if state.pullNeed.needsDecision { return ReplicaError(.undecided) }
    if summary.sync.hasChanges, try hasWithdrawn() {
      return ReplicaError(
        .blocked,
        "the space refused the last commit as a whole, so its changes wait in this file; the next "
          + "synchronization shows the reason, such as a token without the right to write")
    }
    guard state.pullNeed == .none, !state.hasEqualDigests else { return nil }
    return ReplicaError(.differentDigests)
  }

  /// The number of rows that may differ from the base, or whose change has no outcome.
  ///
  /// - Parameter changed: A query for the keys of the rows that differ. By default, all rows whose former
  ///   version is kept.
  private func pendingCount(
    _ table: SpaceTable, among changed: String? = nil, mayHaveDroppedEdits: Bool
  ) throws -> Int {
    let keys = table.keyColumns.sqlList
    let changed = changed ?? "SELECT \(keys) FROM \(TableShadow.name(table.name).sqlQuoted)"
    let dropped =
      mayHaveDroppedEdits
      ? "UNION SELECT \(keys) FROM \(TableShadow.droppedName(table.name).sqlQuoted)" : ""
    return Int(
      try connection.integer(
        """
        SELECT count(*) FROM (
          \(changed)
          UNION SELECT \(keys) FROM \(TableShadow.asideName(table.name).sqlQuoted) \(dropped))
        """) ?? 0)
  }

  /// A query for the keys of the rows that differ from their former versions. During a change of the
  /// schema, the shadow has the former versions of all rows.
  private func differingKeys(of table: ReplicaTable) -> String {
    let shadow = TableShadow.name(table.name).sqlQuoted
    func all(_ names: [String], _ comparison: (String) -> String) -> String {
      names.map { comparison($0.sqlQuoted) }.joined(separator: " AND ")
    }
    let isSameRow = all(table.keyNames) { "t.\($0) = s.\($0)" }
    let isSameVersion = all(table.keyNames + table.columnNames) {
      "t.\($0) IS s.\($0) COLLATE BINARY AND typeof(t.\($0)) = typeof(s.\($0))"
    }
    // Without the sign, the affinity of the table's column would keep the index of the shadow from being used.
    let isKept = all(table.keyNames) { "s.\($0) = +t.\($0)" }
    let hasKey = all(table.keyNames) { "t.\($0) IS NOT NULL" }
    return """
      SELECT \(table.keyNames.sqlList) FROM \(shadow) AS s
      WHERE s.tandem_existed <> EXISTS (SELECT 1 FROM \(table.name.sqlQuoted) AS t WHERE \(isSameRow))
        OR s.tandem_existed AND NOT EXISTS (
          SELECT 1 FROM \(table.name.sqlQuoted) AS t WHERE \(isSameRow) AND \(isSameVersion))
      UNION SELECT \(table.keyNames.sqlList) FROM \(table.name.sqlQuoted) AS t
      WHERE NOT EXISTS (SELECT 1 FROM \(shadow) AS s WHERE \(isKept)) AND \(hasKey)
      """
  }

  /// The number of rows whose key has a `NULL`. SQLite allows it unless the table forbids it.
  ///
  /// - Complexity: O(log *n*) in the number of rows for a key of one column, else O(*n*); O(1) if the
  ///   table forbids it.
  private func nullKeyCount(_ table: SpaceTable) throws -> Int {
    let names = try rows(
      "SELECT name FROM pragma_table_info(?) WHERE pk > 0 AND NOT \"notnull\"",
      [.text(table.name)])
    let conditions = names.compactMap { row -> String? in
      guard case .text(let name) = row[0] else { return nil }
      return "\(name.sqlQuoted) IS NULL"
    }
    guard !conditions.isEmpty else { return 0 }
    return Int(
      try connection.integer(
        "SELECT count(*) FROM \(table.name.sqlQuoted) WHERE \(conditions.joined(separator: " OR "))"
      )
        ?? 0)
  }
}
