internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The unique columns whose values mean one record, by table: rows that two copies make under different keys are joined.
///
/// Each file has its own rules. The copy that synchronizes later joins its row with the record of the space, so the
/// record is the same whichever copies have a rule: a copy without one keeps its row as a rejected change.
typealias SameRules = [FieldName: Set<Set<FieldName>>]

extension AttachedTable {
  /// The rules, by the names of columns as the table declares them.
  ///
  /// - Throws: ``ReplicaError`` with code `unsuitable` if no unique constraint or index has exactly these columns.
  func sameRules(for declaration: SpaceTable) throws(ReplicaError) -> [[String]] {
    let unique = (declaration.constraints ?? []).compactMap { constraint -> Set<FieldName>? in
      if case .unique(let columns) = constraint { Set(columns.map(\.name)) } else { nil }
    }
    var rules: [[String]] = []
    for rule in same {
      let names = (declaration.keyColumns + declaration.columns).filter { column in
        rule.contains(where: column.isSameSQLName)
      }
      guard names.count == rule.count, unique.contains(Set(names.map { FieldName($0) })) else {
        throw ReplicaError(
          .unsuitable,
          "the table \(declaration.name) has no unique constraint on exactly \(rule.joined(separator: ", ")), so that "
            + "two rows may have the same values (`same`); name all columns of a UNIQUE constraint, or of a unique "
            + "index without a condition and without expressions, or create one")
      }
      if !rules.contains(names) { rules.append(names) }
    }
    return rules
  }
}

// They are in the table of the policies, each under a list of its columns.
extension ReplicaTables {
  static let samePolicy = "same"

  func insert(same rule: [String], of table: String) throws {
    try run(
      "INSERT OR REPLACE INTO tandem_policies (\"table\", \"column\", policy) VALUES (?, ?, ?)",
      [.text(table), .text(Self.text(ofRule: rule)), .text(Self.samePolicy)])
  }

  private static func text(ofRule names: [String]) -> String {
    String(decoding: SyncMessageWriter.bytes(id: names.map { .text($0) }), as: UTF8.self)
  }

  /// The rules of the file, in the order of tables and columns.
  package func storedSameRules() throws -> [(table: String, columns: [String])] {
    try rows(
      "SELECT \"table\", \"column\" FROM tandem_policies WHERE policy = ? ORDER BY 1, 2",
      [.text(Self.samePolicy)]
    ).map { row in
      guard case .text(let table) = row[0], case .text(let text) = row[1],
        let names = try? SyncMessageReader(limits: .unlimited).id(Array(text.utf8))
      else { throw ReplicaError.damaged("tandem_policies", connection.path) }
      return (table, names.compactMap(\.textValue))
    }
  }

  func sameRules() throws -> SameRules {
    try storedSameRules().reduce(into: [:]) { rules, entry in
      rules[FieldName(entry.table), default: []].insert(Set(entry.columns.map { FieldName($0) }))
    }
  }

  /// Gives a column that a statement has renamed its place in the rules.
  func moveSameRules(of table: String, from old: String, to new: String) throws {
    for rule in try storedSameRules()
    where UTF8Order.areEqual(rule.table, table) && rule.columns.contains(old) {
      try run(
        "DELETE FROM tandem_policies WHERE \"table\" = ? AND \"column\" = ?",
        [.text(table), .text(Self.text(ofRule: rule.columns))])
      try insert(same: rule.columns.map { $0 == old ? new : $0 }, of: table)
    }
  }
}
