internal import TandemRecords
internal import TandemSQLite
package import TandemSync

// What the space answers to the declaration of the tables: it has the rules of all copies. Merges need to know which
// columns belong together, also by a rule that only another copy has.
extension ReplicaTables {
  private static let name = "tandem_rules"

  static let rulesCreation =
    "CREATE TABLE IF NOT EXISTS tandem_rules (one INTEGER PRIMARY KEY CHECK (one = 1), tables BLOB NOT NULL)"

  /// Takes note of the tables of the space.
  ///
  /// - Parameter tables: Its answer to the declaration of this file's tables.
  package func noteSpaceTables(_ tables: [SpaceTable]) throws {
    guard let news = try news(in: tables) else { return }
    // Before the first pull, the rows are not known to be those of the space. That pull touches them.
    if try state().revision != nil {
      let known = try spaceTables()
      for table in try schema().unclaimedTables(
        of: news, besides: { known.table(named: $0)?.pending.map(\.constraint) ?? [] })
      {
        try touchRows(of: table)
      }
    }
    // A file of an earlier version does not have it.
    try connection.execute(ReplicaTables.rulesCreation)
    try run(
      "INSERT OR REPLACE INTO \(ReplicaTables.name) VALUES (1, ?)",
      [.blob(SyncMessageWriter.bytes(news))])
  }

  /// Touches the rows of tables with a new unique index that the space has from another copy, and that is pending.
  ///
  /// - Parameter former: The tables as the file declared them before.
  func touchUnclaimedRows(of schema: ReplicaSchema, formerly former: [SpaceTable]) throws {
    for table in try schema.unclaimedTables(
      of: spaceTables(), besides: { former.table(named: $0)?.constraints ?? [] })
    {
      try touchRows(of: table)
    }
  }

  /// Touches all rows of a table: the next commit states their values in pending indexes, although they have not
  /// changed.
  func touchRows(of table: ReplicaTable) throws {
    try touch(table, where: table.shadow.hasKey)
  }

  /// Makes rows `t` that a condition selects rows that may have changed: the next commit looks at them.
  func touch(_ table: ReplicaTable, where condition: String) throws {
    let names = (table.keyNames + table.columnNames).sqlList
    try run(
      """
      INSERT INTO \(table.shadow.name.sqlQuoted) (\(names), \(TableShadow.existed))
      SELECT \(names), 1 FROM \(table.name.sqlQuoted) AS t WHERE \(condition) ON CONFLICT DO NOTHING
      """, [])
  }

  /// The references by the rules of the space, also those of columns that this file has dropped.
  func spaceReferences(_ schema: ReplicaSchema) throws -> [SpaceReference] {
    let known = try spaceTables()
    return schema.tables.flatMap { table in
      (known.table(named: table.name)?.constraints ?? []).flatMap { constraint in
        guard case .reference(let names, to: let parent, let columns) = constraint else {
          return [SpaceReference]()
        }
        return zip(names, columns).map {
          SpaceReference(
            table: table, column: $0.text, parent: parent, parentColumn: $1.name,
            isAlone: names.count == 1)
        }
      }
    }
  }

  /// Those of the tables of the space that are attached; `nil` if they are as the file knows them.
  func news(in tables: [SpaceTable]) throws -> [SpaceTable]? {
    let own = try declarations()
    let attached = tables.filter { table in
      own.contains { UTF8Order.areEqual($0.name, table.name) }
    }
    return try spaceTables() == attached ? nil : attached
  }

  /// The tables of the space, as it answered last; none if it has not.
  package func spaceTables() throws -> [SpaceTable] {
    // A file of an earlier version does not have it.
    let isThere = try connection.integer(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '\(ReplicaTables.name)'")
    guard isThere != 0,
      case .blob(let bytes)? = try rows("SELECT tables FROM \(ReplicaTables.name)").first?[0]
    else { return [] }
    if let knownSpaceTables, knownSpaceTables.bytes == bytes { return knownSpaceTables.tables }
    guard let tables = try? SyncMessageReader().tables(bytes) else {
      throw ReplicaError.damaged(ReplicaTables.name, connection.path)
    }
    knownSpaceTables = (bytes, tables)
    return tables
  }

  /// The synchronized tables, with the rules of this file and of all others.
  func knownTables(_ schema: ReplicaSchema) throws -> [SpaceTable] {
    let others = try spaceTables()
    return schema.tables.map { table in
      var known = table.declaration
      known.constraints =
        (known.constraints ?? []) + (others.table(named: table.name)?.constraints ?? [])
      return known
    }
  }

  /// The values that commits of this file state, for the indexes of all copies.
  func indexClaims(_ schema: ReplicaSchema) throws -> IndexClaims {
    IndexClaims(try spaceTables() + schema.tables.map(\.declaration))
  }

  /// Rules for conflicts that merge the columns as one that belong together.
  func addingUnits(to merging: ReplicaMerging, _ schema: ReplicaSchema) throws -> ReplicaMerging {
    var merging = merging
    for table in try knownTables(schema) {
      merging.tables[table.name, default: TableMerging()].units = table.units
    }
    return merging
  }
}

extension ReplicaSchema {
  /// The tables with a unique index of this file that is pending, because the space has records of which nobody has
  /// stated the value.
  ///
  /// - Parameters:
  ///   - tables: The tables of the space.
  ///   - known: The constraints of a table that do not count, by its name.
  func unclaimedTables(
    of tables: [SpaceTable], besides known: (String) -> [SpaceConstraint] = { _ in [] }
  ) -> [ReplicaTable] {
    self.tables.filter { table in
      let known = known(table.name)
      return tables.table(named: table.name)?.pending.contains { entry in
        entry.constraint.index != nil && !known.contains(entry.constraint)
          && table.declaration.constraints?.contains(entry.constraint) == true
      } ?? false
    }
  }
}

/// A reference of one column to another, alone or together with other columns.
struct SpaceReference {
  let table: ReplicaTable
  let column: String
  let parent: FieldName
  let parentColumn: FieldName
  let isAlone: Bool
}

extension [SpaceTable] {
  /// The table of a name, which is compared byte by byte.
  func table(named name: String) -> SpaceTable? {
    first { UTF8Order.areEqual($0.name, name) }
  }
}

extension SpaceTable {
  /// True if a column is synchronized.
  func synchronizes(_ column: FieldName) -> Bool {
    (keyColumns + columns).contains { FieldName($0) == column }
  }
}
