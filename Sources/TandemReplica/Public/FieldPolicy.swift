internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// A policy for a field that two replicas changed at the same time. The file keeps its name, so that
/// every program that synchronizes the file uses it.
///
/// Give all replicas of a space the same policies: each merge is made by the replica that receives the
/// other change. The space keeps those of the first one, and the notices of ``ReplicaStatus`` name
/// what differs.
public enum FieldPolicy: String, Hashable, Sendable, CaseIterable {
  /// Integers to which each replica adds: the sum of all additions, exactly.
  case counter
  /// Texts: the edits of both sides, unless they overlap.
  case text
  /// The value of this file.
  case local
  /// The value of the space.
  case remote
  /// The greater value, in SQLite's order, in which null is the least.
  case maximum
  /// The lesser value, in SQLite's order, in which null is the least.
  case minimum

  /// Takes null if one side has it.
  private static let nullIsLeast = MergePolicy<FieldValue> { conflict in
    switch conflict {
    case .editDelete, .deleteEdit: .deleted
    case .editEdit, .addAdd: .unresolved
    }
  }

  /// The policy of the merge.
  var field: TableMerging.Field {
    switch self {
    case .counter: .counter
    case .text: .policy(.textMerge)
    case .local: .policy(.keepLocal)
    case .remote: .policy(.keepRemote)
    case .maximum: .policy(.maximum.then(.editBeatsDelete))
    case .minimum: .policy(.minimum.then(FieldPolicy.nullIsLeast))
    }
  }
}

extension AttachedTable {
  /// The policies, by the names of columns as the table declares them.
  ///
  /// - Throws: ``ReplicaError`` with code `unsuitable` if a column is not synchronized, or is part of the
  ///   key: rows with different keys are different rows, which are never merged.
  func policies(for declaration: SpaceTable) throws(ReplicaError) -> [(String, FieldPolicy)] {
    var found: [(String, FieldPolicy)] = []
    for (name, policy) in policies.sorted(by: { $0.key < $1.key }) {
      guard !declaration.keyColumns.contains(where: name.isSameSQLName) else {
        throw ReplicaError(
          .unsuitable,
          "there is a policy for the column \(name), which is part of the primary key of "
            + "\(declaration.name): rows with different keys are never merged; leave the policy out"
        )
      }
      guard let column = declaration.columns.first(where: name.isSameSQLName) else {
        throw ReplicaError(
          .unsuitable,
          "there is a policy for the column \(name), but of the table \(declaration.name) the "
            + "columns \(declaration.columns.joined(separator: ", ")) are synchronized")
      }
      guard !found.contains(where: { $0.0 == column }) else {
        throw ReplicaError(.unsuitable, "the column \(column) has two policies")
      }
      found.append((column, policy))
    }
    return found
  }
}

extension AttachedTable {
  /// Throws if there are policies for a table whose records are merged as a whole.
  func checkGranularity(of declaration: SpaceTable) throws(ReplicaError) {
    guard declaration.granularity == .record, let column = policies.keys.min() else { return }
    throw ReplicaError(
      .unsuitable,
      "there is a policy for the column \(column), but records of the table \(declaration.name) are merged "
        + "as a whole (`granularity` \(declaration.name)=record), so that it would have no effect; leave one "
        + "of both out")
  }

  /// Throws if a counter is a column that turns integers into other values.
  func checkCounters(in schema: TableSchema) throws(ReplicaError) {
    for (name, policy) in policies.sorted(by: { $0.key < $1.key }) where policy == .counter {
      guard let column = schema.column(named: name),
        !schema.primaryKey.contains(where: name.isSameSQLName)
      else { continue }
      switch column.affinity {
      case .integer, .numeric, .none: continue
      case .real, .text:
        throw ReplicaError(
          .unsuitable,
          "the table \(schema.name) has the counter \(column.name), which turns integers into other "
            + "values; declare it INTEGER, or choose another policy: only integers are counted "
            + "exactly")
      }
    }
  }
}

extension ReplicaTables {
  /// Notes the policy for a column.
  func insert(_ policy: FieldPolicy, _ column: String, of table: String) throws {
    try run(
      "INSERT INTO tandem_policies (\"table\", \"column\", policy) VALUES (?, ?, ?)",
      [.text(table), .text(column), .text(policy.rawValue)])
  }

  /// Replaces the policy for a synchronized column; `nil` removes it. Policies for columns that the table
  /// no longer has are removed.
  ///
  /// - Throws: ``ReplicaError`` with code `unsuitable` if the column is not synchronized, or cannot
  ///   be counted.
  package func setPolicy(_ policy: FieldPolicy?, _ column: String, of table: String) throws {
    guard let found = try schema().tables.first(where: { $0.name.isSameSQLName(as: table) }) else {
      throw ReplicaError(.unsuitable, "the table \(table) is not attached")
    }
    // Also finds the name as declared.
    let named = AttachedTable(found.name, policies: [column: .remote])
    guard let name = try named.policies(for: found.declaration).first?.0 else { return }
    let choice = AttachedTable(found.name, policies: policy.map { [column: $0] } ?? [:])
    try choice.checkGranularity(of: found.declaration)
    try choice.checkCounters(in: found.schema)
    for entry in try policies() where UTF8Order.areEqual(entry.table, found.name) {
      guard entry.column == name || found.layout.offset(of: entry.column) == nil else { continue }
      try run(
        "DELETE FROM tandem_policies WHERE \"table\" = ? AND \"column\" = ?",
        [.text(entry.table), .text(entry.column)])
    }
    if let policy { try insert(policy, name, of: found.name) }
    // The file declares it.
    forgetSchema()
    _ = try schema()
  }

  /// The names of the columns of each table with a policy, in the order of the table.
  func policyColumns() throws -> [String: [String]] {
    var columns: [String: [String]] = [:]
    for table in Set(try policies().map(\.table) + storedSameRules().map(\.table)) {
      columns[table] = try connection.schema(ofTable: table)?.columnNames
    }
    return columns
  }

  /// Gives columns that a statement has renamed the policies that they had: those that alone have
  /// another name in the same place.
  ///
  /// - Parameter former: The names of the columns before the statement.
  func movePolicies(of former: [String: [String]]) throws {
    for (table, old) in former {
      guard let new = try connection.schema(ofTable: table)?.columnNames, old.count == new.count
      else { continue }
      let renamed = old.indices.filter { old[$0] != new[$0] }
      guard renamed.count == 1, let offset = renamed.first else { continue }
      try run(
        "UPDATE OR REPLACE tandem_policies SET \"column\" = ? WHERE \"table\" = ? AND \"column\" = ?",
        [.text(new[offset]), .text(table), .text(old[offset])])
      try moveSameRules(of: table, from: old[offset], to: new[offset])
    }
  }

  /// The policies that the file keeps, by table and column.
  package func policies() throws -> [(table: String, column: String, policy: String)] {
    try rows(
      "SELECT \"table\", \"column\", policy FROM tandem_policies WHERE policy <> ? ORDER BY 1, 2",
      [.text(Self.samePolicy)]
    ).map { row in
      guard case .text(let table) = row[0], case .text(let column) = row[1],
        case .text(let policy) = row[2]
      else { throw ReplicaError.damaged("tandem_policies", connection.path) }
      return (table, column, policy)
    }
  }

  /// The policies that the file keeps, as rules of a merge.
  ///
  /// - Throws: ``ReplicaError`` with code `schema` if a later version of Tandem added a policy that
  ///   this version does not know.
  package func storedMerging() throws -> ReplicaMerging {
    try checkIsAttached()
    var merging = ReplicaMerging()
    for (table, column, name) in try policies() {
      guard let policy = FieldPolicy(rawValue: name) else {
        throw ReplicaError(
          .schema,
          "\(connection.path) has the policy \(name) for \(table).\(column), which this version of "
            + "Tandem does not know; use the version that attached it")
      }
      merging.tables[table, default: TableMerging()].fields[FieldName(column)] = policy.field
    }
    return merging
  }
}

extension ReplicaMerging {
  /// These rules, and those of the file for all other tables.
  func completed(by stored: ReplicaMerging) -> ReplicaMerging {
    ReplicaMerging(tables.merging(stored.tables) { own, _ in own })
  }
}
