internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

// The rows that get new numbers, and all that refers to them.
extension Renumbering {
  /// Lets the references of this file in a column follow: those of rows that are new, or whose reference is an edit.
  /// Tables that are not synchronized have nothing from the space. A new column may have been renamed, and have values from
  /// it, but none that refers to a row that the space never had.
  func follow(_ place: Int, _ carrier: Carrier) throws {
    let column = carrier.column.sqlQuoted
    let child = schema.tables.first { $0.name.isSameSQLName(as: carrier.table) }
    let isKey = child?.keyNames.contains(where: carrier.column.isSameSQLName) ?? false
    let edited = child?.editedRows(carrier.column, isKey: isKey)
    let isRenumbered = """
      SELECT new FROM \(Self.list)
      WHERE tab = \(place) AND old = c.\(column) AND is_taken < \(edited == nil ? 2 : 1)
      """
    var conditions = ["EXISTS (\(isRenumbered))"]
    let isNew =
      child.flatMap { newColumns[$0.name] }?.contains {
        $0.name.text.isSameSQLName(as: carrier.column)
      } ?? false
    let isOwn = "EXISTS (\(isRenumbered) AND is_own)"
    if let edited {
      conditions.append(isNew ? "(\(isOwn) OR \(edited))" : edited)
    }
    let condition = conditions.joined(separator: " AND ")
    let table = "main.\(carrier.table.sqlQuoted) AS c"
    var moved: [(old: SyncKey, new: SyncKey)] = []
    if let child, isKey { moved = try movedKeys(place, child, carrier.column, condition) }
    try writing {
      try tables.run(
        "UPDATE OR ABORT \(table) SET \(column) = (\(isRenumbered)) WHERE \(condition)", [])
      return try tables.rows("SELECT 1 FROM \(table) WHERE \(condition) LIMIT 1").isEmpty
    }
    guard let child else { return }
    if isNew {
      // Former values too. Otherwise the new number would look like an edit of another value.
      try tables.run(
        "UPDATE \(child.shadow.name.sqlQuoted) AS c SET \(column) = (\(isRenumbered)) WHERE \(isOwn)",
        [])
    }
    try followKept(place, child, carrier.column)
    // It may have been dropped, and be back.
    try followDroppedEdits(place, child, carrier.column)
    guard isKey else { return }
    for (old, new) in moved { try moveRest(from: old, to: new, of: child) }
    let names = child.keyNames.sqlList
    try tables.run(
      """
      INSERT INTO \(child.shadow.name.sqlQuoted) (\(names), \(TableShadow.existed))
      SELECT \(names), 0 FROM main.\(child.name.sqlQuoted)
      WHERE \(column) IN (SELECT new FROM \(Self.list) WHERE tab = \(place)) ON CONFLICT DO NOTHING
      """, [])
    try tables.run(
      """
      DELETE FROM \(child.shadow.name.sqlQuoted) AS c WHERE EXISTS (\(isRenumbered))
        AND \(TableShadow.existed) = 0 AND NOT EXISTS (
          SELECT 1 FROM main.\(child.name.sqlQuoted) AS t
          WHERE \(child.shadow.sameKey("t", "c")))
      """, [])
  }

  /// Lets the references of this file follow in a column that its table no longer has: those of edits that were not sent,
  /// of kept edits, and of new rows.
  func followDropped(_ place: Int, _ carrier: Carrier) throws {
    guard let child = schema.table(named: carrier.table) else { return }
    try followKeptFields(place, child, carrier.column)
    try followDroppedEdits(place, child, carrier.column)
    for key in try tables.parkedKeys("is_whole = \(ParkedFields.Extent.fields.rawValue)")
    where UTF8Order.areEqual(key.table, child.name) {
      guard var parked = try tables.parked(key), let former = parked.fields[carrier.column].integer,
        try tables.row(child, key.id).base == nil,
        let new = try tables.rows(
          "SELECT new FROM \(Self.list) WHERE tab = ? AND old = ? AND NOT is_taken",
          [.integer(Int64(place)), .integer(former)]
        ).first?[0]
      else { continue }
      parked.fields[field: FieldName(carrier.column)] = new
      try tables.park(parked, key)
    }
  }

  private func followDroppedEdits(
    _ place: Int, _ child: ReplicaTable, _ column: String
  ) throws {
    guard child.mayHaveDroppedEdits else { return }
    // Of a value that may have changed unnoticed, both are the same.
    let (former, value) = (TableShadow.droppedFormer, TableShadow.droppedValue)
    let number =
      "SELECT new FROM \(Self.list) WHERE tab = \(place) AND old = c.\(value) AND NOT is_taken"
    try tables.run(
      """
      UPDATE \(TableShadow.droppedName(child.name).sqlQuoted) AS c
      SET \(former) = iif(\(former) IS \(value), (\(number)), \(former)), \(value) = (\(number))
      WHERE \(TableShadow.droppedColumn) = ? COLLATE NOCASE AND typeof(\(value)) = 'integer' AND EXISTS (\(number))
      """, [.text(column)])
  }

  /// The former and the new keys of rows whose key follows, of which the file keeps something beside them.
  private func movedKeys(
    _ place: Int, _ child: ReplicaTable, _ column: String, _ condition: String
  ) throws -> [(old: SyncKey, new: SyncKey)] {
    let isKept = try ["tandem_parked", "tandem_kept"].contains { list in
      try !tables.rows("SELECT 1 FROM \(list) WHERE \"table\" = ? LIMIT 1", [.text(child.name)])
        .isEmpty
    }
    guard isKept || child.mayHaveDroppedEdits,
      let offset = child.keyNames.firstIndex(where: column.isSameSQLName)
    else { return [] }
    let names = child.keyNames.sqlList(of: "c")
    return try tables.rows(
      """
      SELECT (SELECT new FROM \(Self.list) WHERE tab = \(place) AND old = c.\(column.sqlQuoted)), \(names)
      FROM main.\(child.name.sqlQuoted) AS c WHERE \(condition)
      """
    ).map { row in
      var new = Array(row.dropFirst())
      new[offset] = row[0]
      return (child.syncKey(Array(row.dropFirst())), child.syncKey(new))
    }
  }

  func move(_ rows: [RenumberedRow], in table: ReplicaTable, movesNotes: Bool) throws {
    let key = table.keyNames[0].sqlQuoted
    for row in rows {
      let (old, new) = ([FieldValue.integer(row.former)], [FieldValue.integer(row.present)])
      // A deletion and an insertion would run triggers that delete what belongs to the row.
      try writing {
        try tables.run(
          "UPDATE OR ABORT main.\(table.name.sqlQuoted) SET \(key) = ? WHERE \(key) = ?", new + old)
        let found = try [old, new].map { try tables.row(table, $0).row.isMissing }
        return found == [true, false]
      }
      try tables.setShadow(nil, table, old)
      try tables.run(
        """
        INSERT INTO \(table.shadow.name.sqlQuoted) (\(table.keyNames[0].sqlQuoted), \(TableShadow.existed))
        VALUES (?, 0) ON CONFLICT DO NOTHING
        """, new)
      try moveRest(from: table.syncKey(old), to: table.syncKey(new), of: table)
      guard movesNotes else { continue }
      try tables.run(
        "UPDATE tandem_kept SET \"key\" = ? WHERE \"table\" = ? AND \"key\" = ?",
        [
          .text(table.syncKey(new).idText), .text(table.name), .text(table.syncKey(old).idText),
        ])
    }
  }

  /// Moves what the file keeps beside a row.
  private func moveRest(
    from old: SyncKey, to new: SyncKey, of table: ReplicaTable
  ) throws {
    // A whole record is that of the space, which has the former number.
    if let parked = try tables.parked(old), parked.extent == .fields {
      try tables.park(nil, old)
      try tables.park(parked, new)
    }
    // Edits that a new row has lost, such as a reference to a row that the space refused.
    try tables.run(
      """
      UPDATE tandem_kept SET "key" = ?
      WHERE "table" = ? AND "key" = ? AND kind = 'edit' AND base NOT NULL
      """, [.text(new.idText), .text(table.name), .text(old.idText)])
    if table.mayHaveDroppedEdits {
      let names = table.keyNames.map(\.sqlQuoted)
      try tables.run(
        """
        UPDATE \(TableShadow.droppedName(table.name).sqlQuoted)
        SET \(names.map { "\($0) = ?" }.joined(separator: ", "))
        WHERE \(table.keyNames.sqlEquality)
        """, new.id + old.id)
    }
  }

  // MARK: Kept edits

  /// Gives insertions that were taken out of their rows the new numbers.
  func renumberKept(_ place: Int) throws {
    let number =
      "SELECT new FROM \(Self.list) WHERE tab = \(place) AND old = json_extract(\"key\", '$[0]')"
    try tables.run(
      """
      UPDATE tandem_kept SET "key" = json_array((\(number)))
      WHERE "table" = ? AND kind = 'edit' AND base IS NULL AND EXISTS (\(number))
      """, [.text(numbered[place].name)])
  }

  /// Lets the references in kept edits of a table follow.
  private func followKept(_ place: Int, _ child: ReplicaTable, _ column: String) throws {
    if let offset = child.keyNames.firstIndex(where: column.isSameSQLName) {
      let number =
        "SELECT new FROM \(Self.list) WHERE tab = \(place) AND old = json_extract(\"key\", ?2)"
      try tables.run(
        """
        UPDATE tandem_kept SET "key" = json_set("key", ?2, (\(number)))
        WHERE "table" = ?1 AND kind = 'edit' AND base IS NULL AND EXISTS (\(number))
        """, [.text(child.name), .text("$[\(offset)]")])
    }
    if let name = child.columnNames.first(where: column.isSameSQLName) {
      try followKeptFields(place, child, name)
    } else if let name = child.otherColumns.first(where: column.isSameSQLName) {
      // A column that is not synchronized has nothing from the space.
      let number =
        "SELECT new FROM \(Self.list) WHERE tab = \(place) AND old = json_extract(others, ?2)"
      for list in ["tandem_kept", "tandem_parked"] {
        try tables.run(
          """
          UPDATE \(list) SET others = json_set(others, ?2, (\(number)))
          WHERE "table" = ?1 AND EXISTS (\(number))
          """, [.text(child.name), .text("$.\"\(name)\"")])
      }
    }
  }

  private func followKeptFields(_ place: Int, _ child: ReplicaTable, _ name: String) throws {
    let version = "\"local\""
    let number = """
      SELECT new FROM \(Self.list) WHERE tab = \(place) AND old = json_extract(\(version), ?2)
      """
    try tables.run(
      """
      UPDATE tandem_kept SET \(version) = json_set(\(version), ?2, (\(number)))
      WHERE "table" = ?1 AND EXISTS (\(number))
        AND json_extract(\(version), ?2) IS NOT json_extract(base, ?2)
      """, [.text(child.name), .text("$.\"\(name)\"")])
  }

  /// Writes rows. Search indexes of the application follow, by its triggers; those that prevent it do not run.
  ///
  /// - Parameter body: Returns true if the rows are as they should be.
  private func writing(_ body: () throws -> Bool) throws {
    var isWritten = false
    _ = try tables.objection { isWritten = try tables.attempt(body) }
    guard try isWritten || tables.quietly(body) else {
      throw ReplicaError(
        .schema,
        "the rows of a table cannot get new numbers: a trigger or a constraint prevents it")
    }
  }
}

extension ReplicaTable {
  /// Queries for the values `number` of a column in edits that are not in their rows: those of dropped columns, and kept
  /// ones.
  func editedReferences(_ column: String) -> [String] {
    func inEdits(_ value: String, _ condition: String) -> String {
      """
      SELECT \(value) AS number FROM tandem_kept
      WHERE "table" = \(self.name.sqlLiteral) AND resolution = 'unresolved' AND \(condition)
      """
    }
    var queries: [String] = []
    if mayHaveDroppedEdits {
      queries.append(
        """
        SELECT \(TableShadow.droppedValue) AS number FROM \(TableShadow.droppedName(name).sqlQuoted)
        WHERE \(TableShadow.droppedColumn) = \(column.sqlLiteral) COLLATE NOCASE
        """)
    }
    if let offset = keyNames.firstIndex(where: column.isSameSQLName) {
      queries.append(
        inEdits("json_extract(\"key\", '$[\(offset)]')", "kind = 'edit' AND base IS NULL"))
    } else if let name = otherColumns.first(where: column.isSameSQLName) {
      let value = "json_extract(others, \("$.\"\(name)\"".sqlLiteral))"
      queries.append(inEdits(value, "others NOT NULL"))
      queries.append(
        "SELECT \(value) AS number FROM tandem_parked WHERE \"table\" = \(self.name.sqlLiteral)")
    } else {
      let path = "$.\"\(columnNames.first(where: column.isSameSQLName) ?? column)\"".sqlLiteral
      queries.append(
        inEdits(
          "json_extract(\"local\", \(path))",
          "json_extract(\"local\", \(path)) IS NOT json_extract(base, \(path))"))
    }
    return queries
  }

  /// The condition that a row `c` of this table refers to another one by a column because of an edit of this file;
  /// `nil` if the column is not synchronized.
  fileprivate func editedRows(_ column: String, isKey: Bool) -> String? {
    guard isKey || columnNames.contains(where: column.isSameSQLName) else { return nil }
    let (name, existed) = (column.sqlQuoted, "s.\(TableShadow.existed)")
    let keys = keyNames.sqlList(of: "c")
    let isEdited =
      isKey
      ? "\(existed) = 0 AND typeof(\(existed)) = 'integer'"
      : "(\(existed) <> 1 OR s.\(name) IS NOT c.\(name))"
    return """
      (\(keys)) IN (SELECT \(keyNames.sqlList) FROM \(shadow.name.sqlQuoted))
        AND EXISTS (SELECT 1 FROM \(shadow.name.sqlQuoted) AS s
          WHERE \(shadow.sameKey("c", "s")) AND \(isEdited))
      """
  }
}
