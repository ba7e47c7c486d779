internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

extension DatabaseMirror {
  /// Throws if the table has other rows than a list that was written into it: triggers, actions of foreign keys and
  /// `ON CONFLICT REPLACE` may change them.
  ///
  /// - Parameter rows: Returns the list, and the paths of the files of each record by its key.
  func requireRows(
    after outcome: Outcome, in connection: DatabaseConnection,
    _ rows: () -> (records: PackedRecords, files: [RecordKey: [String?]])
  ) throws {
    guard !outcome.changes.isEmpty, try mayChangeWrittenRows(in: connection) else { return }
    let (records, files) = rows()
    let comparison = try Comparison(self, records, files: files, in: connection)
    guard !comparison.changes.isEmpty else { return }
    var difference = "other rows than the list"
    if let update = comparison.changes.updated.first,
      let name = update.new.layout.names.first(where: { update.old[$0] != update.new[$0] })
    {
      let key = comparison.target.key(of: update.new)
      difference =
        "\(update.old[name]) in column \(name) of the row with key \(key), in place of \(update.new[name])"
    }
    throw MirrorError(
      .unfitDestination,
      "table \(table) would have \(difference), perhaps because its triggers, its foreign keys or ON CONFLICT REPLACE "
        + "change what is written")
  }

  /// True if triggers, or the declaration of the table, may change what is written into its mirrored columns.
  private func mayChangeWrittenRows(in connection: DatabaseConnection) throws -> Bool {
    guard let schema = try connection.schema(ofTable: table),
      let state = try MirrorState.load(table: table, from: connection)
    else { return false }
    let name = schema.name.sqlQuoted
    let columns = schema.columns.filter { !$0.isGenerated }.map(\.name.sqlQuoted)
    let assignments = columns.map { "\($0) = \($0)" }.joined(separator: ", ")
    let writes = connection.triggerWrites(of: [
      "INSERT INTO \(name) DEFAULT VALUES", "UPDATE \(name) SET \(assignments)",
      "DELETE FROM \(name)",
    ])
    // A trigger may assign to an integer key by its other name.
    let mirrored = Set(
      (state.key + state.columns + contents.map(\.fileField) + ["rowid"]).map { $0.lowercased() })
    let own = schema.name.lowercased()
    if writes.values.contains(where: { trigger in
      trigger.tables.contains(own) || trigger.columns[own]?.isDisjoint(with: mirrored) == false
    }) {
      return true
    }
    return try connection.integer(
      """
      SELECT EXISTS (
        SELECT 1 FROM sqlite_schema
        WHERE type = 'table' AND name = ?1 COLLATE NOCASE AND sql LIKE '%conflict%')
      OR EXISTS (
        SELECT 1 FROM pragma_foreign_key_list(?1)
        WHERE on_delete NOT IN ('NO ACTION', 'RESTRICT')
          OR on_update NOT IN ('NO ACTION', 'RESTRICT'))
      """, .text(schema.name)) == 1
  }
}
