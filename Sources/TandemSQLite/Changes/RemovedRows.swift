internal import TandemRecords

/// The rows that `REPLACE` removes from a table: SQLite fires no triggers for them, unless
/// `PRAGMA recursive_triggers` is on. Conditions on a new row find them before they are removed.
///
/// A row removes another one by a unique index, or by a rowid that is not the key. Conditions may
/// find rows that are not removed; no removed row is missed, except for ``blindSpots`` and
/// ``defaultedColumns``.
package struct RemovedRows: Sendable {
  /// The event before which rows may be removed.
  package enum Event: String, CaseIterable, Sendable {
    case insertion = "insert"
    /// An update of columns of a unique index.
    case update
    /// Any update: of columns from which others are computed, or that move a row into a partial
    /// index.
    case indirectUpdate = "indirect"
    case rowidUpdate = "rowid"
  }

  /// The removals that no condition finds, in words; empty for most tables.
  package let blindSpots: [String]
  /// The columns where `REPLACE` puts a default in place of `NULL`. If a new row has `NULL` there,
  /// the default decides which rows are removed, and no condition finds them.
  package let defaultedColumns: [String]
  /// True if the table has a unique index besides its key.
  package let hasOtherUniqueIndexes: Bool
  /// The unique indexes by which a row can remove one of another key only if it gets another value
  /// in their columns.
  private let plainIndexes: [UniqueIndex]
  /// The indexes where any column may decide: on generated columns, which change with the columns
  /// from which they are computed, and partial ones, into which any column may move a row.
  private let indirectIndexes: [UniqueIndex]
  /// A condition that is always true and reads the columns from which others are computed; `nil` if
  /// no index is on a computed column.
  ///
  /// Before an update, SQLite makes the columns `NULL` that are neither updated nor read by a
  /// trigger, and then computes the others from them.
  private let readsSources: String?
  /// The names of the rowid, if a row can remove one of another key by it.
  private let rowidNames: [String]

  /// The rows that can be removed from a table.
  init(_ facts: TableFacts, in connection: DatabaseConnection) throws(DatabaseError) {
    let table = facts.schema.name
    let identity = facts.identity
    rowidNames = facts.isIdentifiedByRowid ? [] : facts.rowidNames
    let all = try UniqueIndex.all(of: table, in: connection)
    hasOtherUniqueIndexes = all.contains { !$0.isBinaryKey(identity) }
    let indexes = all.filter { !$0.isByExpression && !$0.isBinaryKey(identity) }
    let generatedColumns = facts.schema.columns.filter(\.isGenerated).map(\.name)
    let computed = indexes.filter { $0.holds(anyOf: generatedColumns) }
    let isIndirect = { (index: UniqueIndex) in
      index.isPartial || index.holds(anyOf: generatedColumns)
    }
    indirectIndexes = indexes.filter(isIndirect)
    plainIndexes = indexes.filter { !isIndirect($0) }
    let sources = facts.schema.columns.filter { !$0.isGenerated }.map(\.name.sqlQuoted)
    let values = "(\(sources.map { "new.\($0)" }.joined(separator: ", ")))"
    // One comparison of rows, because SQLite limits the depth of expressions.
    readsSources = computed.isEmpty ? nil : "\(values) IS \(values)"
    defaultedColumns = try connection.requiredColumnsWithDefault(of: table).filter { column in
      !computed.isEmpty || indexes.contains { $0.holds(anyOf: [column]) }
    }
    blindSpots = RemovedRows.blindSpots(
      all.filter(\.isByExpression), facts.isIdentifiedByRowid ? computed : [])
  }

  /// The blind spots because of indexes on expressions, and of indexes on columns that may be
  /// computed from a rowid that is not known beforehand.
  private static func blindSpots(
    _ byExpression: [UniqueIndex], _ computed: [UniqueIndex]
  ) -> [String] {
    byExpression.map {
      "rows that REPLACE removes because of the index \($0.name), which is on an expression"
    }
      + computed.map {
        """
        rows that REPLACE removes because of the index \($0.name), which is on a generated column, \
        where that is computed from a key that SQLite chose
        """
      }
  }

  /// The SQL of an event, for a `BEFORE` trigger.
  package func trigger(_ event: Event) -> String {
    switch event {
    case .insertion: return "BEFORE INSERT"
    case .update:
      let columns = Set(plainIndexes.flatMap(\.columnNames)).sorted()
      return "BEFORE UPDATE OF \(columns.sqlList)"
    case .indirectUpdate: return "BEFORE UPDATE"
    case .rowidUpdate: return "BEFORE UPDATE OF \(rowidNames.sqlList)"
    }
  }

  /// The conditions on a row of the table under which it is about to be removed by the row `new`;
  /// none if the event removes no rows.
  package func conditions(_ event: Event) -> [String] {
    let plain = plainIndexes.map(\.conflict)
    let indirect = indirectIndexes.map(\.conflict)
    switch event {
    case .insertion: return rowidConflicts + plain + indirect
    case .update: return plain
    case .indirectUpdate:
      return indirect.map { condition in
        readsSources.map { "\(condition) AND \($0)" } ?? condition
      }
    case .rowidUpdate: return rowidConflicts
    }
  }

  /// The condition that a new row takes the rowid of one of another key. Before an insertion, `new`
  /// has the new rowid if the statement names it; otherwise an arbitrary row may meet the
  /// condition.
  private var rowidConflicts: [String] { rowidNames.prefix(1).map { "\($0) = new.\($0)" } }
}

extension DatabaseConnection {
  /// The columns of a table that cannot be `NULL` and have a default, which `REPLACE` then takes.
  fileprivate func requiredColumnsWithDefault(
    of table: String
  ) throws(DatabaseError) -> [String] {
    let listing = try prepare(
      "SELECT name FROM pragma_table_info(?) WHERE \"notnull\" AND dflt_value NOT NULL ORDER BY cid"
    )
    try listing.bind([.text(table)])
    return try listing.texts()
  }
}
