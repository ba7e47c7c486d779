internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

// The highest number that the space has ever given in each table whose keys SQLite chooses, as far as the file knows.
extension ReplicaTables {
  static let numbersCreation =
    "CREATE TABLE tandem_numbers (\"table\" TEXT PRIMARY KEY, highest INTEGER NOT NULL)"

  func storedNumbers(_ schema: ReplicaSchema) throws -> [FieldName: Int64] {
    guard !schema.numbered.isEmpty else { return [:] }
    var numbers: [FieldName: Int64] = [:]
    for row in try rows("SELECT \"table\", highest FROM tandem_numbers") {
      guard case .text(let table) = row[0], case .integer(let number) = row[1] else {
        throw ReplicaError.damaged("tandem_numbers", connection.path)
      }
      numbers[FieldName(table)] = number
    }
    return numbers
  }

  /// The highest numbers that the file knows: those that the space has given, and those of rows that were deleted or
  /// rejected since.
  func knownNumbers(_ schema: ReplicaSchema) throws -> [FieldName: Int64] {
    var numbers = try storedNumbers(schema)
    for table in schema.numbered {
      let key = table.keyNames[0].sqlQuoted
      for former in [table.shadow.name, table.asideName] {
        // The last one would leave no other.
        let highest = try rows(
          "SELECT max(\(key)) FROM \(former.sqlQuoted) WHERE \(key) < \(Int64.max)")
        if let number = highest.first?[0] {
          numbers.note(table.syncKey([number]), in: table)
        }
      }
      if let number = try keptNumbers(table, upTo: .max - 1).max() {
        numbers.note(table.syncKey([.integer(number)]), in: table)
      }
    }
    return numbers
  }

  /// Saves the highest number that SQLite has given, also if no row has it: a program that builds the table anew seldom
  /// does. The shadow has it as that of a new row that was deleted.
  func saveSequence(of table: ReplicaTable) throws {
    guard table.declaration.isNumbered,
      let number = try connection.sequence(ofTable: table.schema.name), number < .max
    else { return }
    try run(
      """
      INSERT INTO \(table.shadow.name.sqlQuoted) (\(table.keyNames[0].sqlQuoted), \(TableShadow.existed))
      VALUES (?, 0) ON CONFLICT DO NOTHING
      """, [.integer(number)])
  }

  /// Takes out of the shadow what ``saveSequence(of:)`` has put there, when SQLite knows the number again.
  func forgetSequence(of table: ReplicaTable) throws {
    guard table.declaration.isNumbered,
      let number = try connection.sequence(ofTable: table.schema.name)
    else { return }
    let (key, existed) = (table.keyNames[0].sqlQuoted, TableShadow.existed)
    try run(
      """
      DELETE FROM \(table.shadow.name.sqlQuoted) WHERE \(key) = ?1 AND \(existed) = 0
        AND NOT EXISTS (SELECT 1 FROM main.\(table.name.sqlQuoted) AS t WHERE t.\(key) = ?1)
      """, [.integer(number)])
  }

  /// Replaces the highest numbers.
  func store(_ numbers: [FieldName: Int64]) throws {
    guard try !schema().numbered.isEmpty else { return }
    try run("DELETE FROM tandem_numbers", [])
    for (table, number) in numbers {
      try run("INSERT INTO tandem_numbers VALUES (?, ?)", [.text(table.text), .integer(number)])
    }
  }

  /// Takes note of rows that no trigger noted, because another program has built their tables anew, and that the space
  /// cannot have: those with a number that it has not given, and those that refer to a new row by its number. The rows
  /// of a commit that waits for its outcome are known.
  ///
  /// - Parameter base: The digest of the base; `nil` if it was made with other columns.
  func noteUngivenNumbers(
    of tables: [ReplicaTable], _ schema: ReplicaSchema, base: RecordDigest?
  ) throws {
    let numbers = try storedNumbers(schema)
    for table in tables where table.declaration.isNumbered {
      try noteNew(
        table, "0",
        where: "t.\(table.keyNames[0].sqlQuoted) > \(numbers[FieldName(table.name)] ?? 0)")
      if let base, let number = try firstNumberBeyond(base, table, schema) {
        try noteNew(table, "0", where: "t.\(table.keyNames[0].sqlQuoted) >= \(number)")
      }
    }
    for key in schema.foreignKeys {
      guard let child = key.attachedChild, tables.contains(where: { $0 === child }),
        key.parent.declaration.isNumbered, key.columns.count == 1,
        key.columns[0].parent.isSameSQLName(as: key.parent.keyNames[0]),
        (child.keyNames + child.columnNames).contains(where: key.columns[0].child.isSameSQLName)
      else { continue }
      let (number, existed) = (key.parent.keyNames[0].sqlQuoted, TableShadow.existed)
      // The space may have the row with another reference. So it keeps its own number, by a real one.
      try noteNew(
        child, "0.0",
        where: """
          EXISTS (SELECT 1 FROM \(key.parent.shadow.name.sqlQuoted) AS p
            WHERE p.\(number) = t.\(key.columns[0].child.sqlQuoted)
              AND p.\(existed) = 0 AND typeof(p.\(existed)) = 'integer')
          """)
    }
  }

  /// The most rows with numbers that SQLite may have given again.
  private static let maxReusedNumberCount = 1_000

  /// The lowest of the numbers that SQLite has given again, because a program did not take over its highest number when
  /// it built the table anew: without the rows from there on, the digest of the rows is that of the base. If other rows
  /// have changed unnoticed too, it is not found.
  private func firstNumberBeyond(
    _ base: RecordDigest, _ table: ReplicaTable, _ schema: ReplicaSchema
  ) throws -> Int64? {
    // The rows of a commit that waits for its outcome differ from the base.
    guard try outboxSummary() == nil else { return nil }
    let digest = try computedDigest(schema)
    guard digest != base else { return nil }
    var (sum, found) = (base, nil as Int64?)
    try connection.forEachRow(
      """
      SELECT \((table.keyNames + table.columnNames).sqlList) FROM main.\(table.name.sqlQuoted) AS t
      WHERE NOT EXISTS (
        SELECT 1 FROM \(table.shadow.name.sqlQuoted) AS s WHERE \(table.shadow.sameKey("t", "s")))
      ORDER BY \(table.keyNames[0].sqlQuoted) DESC LIMIT \(Self.maxReusedNumberCount)
      """
    ) { statement in
      // A text that is not UTF-8 is in no digest.
      guard let row = try? statement.values() else { return true }
      try addRecord(row, of: table, hasParked: true, to: &sum)
      if sum == digest { found = row[0].integer }
      return found == nil
    }
    return found
  }

  private func noteNew(
    _ table: ReplicaTable, _ existed: String, where condition: String
  ) throws {
    let keys = table.keyNames.sqlList
    try run(
      """
      INSERT INTO \(table.shadow.name.sqlQuoted) (\(keys), \(TableShadow.existed))
      SELECT \(keys), \(existed) FROM main.\(table.name.sqlQuoted) AS t
      WHERE \(condition) AND \(table.shadow.hasKey) AND NOT EXISTS (
        SELECT 1 FROM \(table.asideName.sqlQuoted) AS a WHERE \(table.shadow.sameKey("t", "a")))
      ON CONFLICT DO NOTHING
      """, [])
  }

  /// True if a row that the space does not have has a number that the space has given.
  func hasTakenNumbers(_ schema: ReplicaSchema, _ numbers: [FieldName: Int64]) throws -> Bool {
    try schema.numbered.contains { table in
      guard let last = numbers[FieldName(table.name)] else { return false }
      return try !rows("\(table.newRows(upTo: last)) LIMIT 1").isEmpty
    }
  }

  /// The numbers of insertions that were taken out of their rows, and that the space has given since.
  func keptNumbers(_ table: ReplicaTable, _ numbers: [FieldName: Int64]) throws -> [Int64] {
    guard let last = numbers[FieldName(table.name)] else { return [] }
    return try keptNumbers(table, upTo: last)
  }

  private func keptNumbers(_ table: ReplicaTable, upTo last: Int64) throws -> [Int64] {
    try rows(
      """
      SELECT DISTINCT json_extract("key", '$[0]') AS number FROM tandem_kept
      WHERE "table" = ? AND kind = 'edit' AND base IS NULL AND number <= ?
      """, [.text(table.name), .integer(last)]
    ).compactMap { if case .integer(let number) = $0[0] { number } else { nil } }
  }

  /// True if the insertion of a record brings it back after another replica has deleted it. All others have got
  /// numbers that the space has not given.
  func revives(_ key: SyncKey, _ verb: SyncChange.Verb) -> Bool {
    guard case .insert = verb, let last = numbers[FieldName(key.table)], let number = key.number
    else { return false }
    return number <= last
  }

  /// Lets SQLite choose numbers from now on that the space has not given.
  func raiseSequences(_ schema: ReplicaSchema, above numbers: [FieldName: Int64]) throws {
    for table in schema.numbered {
      guard let number = numbers[FieldName(table.name)] else { continue }
      try connection.raiseSequence(ofTable: table.schema.name, to: number)
    }
  }
}

extension [FieldName: Int64] {
  /// Takes note that the space has given a number.
  mutating func note(_ key: SyncKey, in table: ReplicaTable) {
    guard table.declaration.isNumbered, let number = key.number else { return }
    let name = FieldName(table.name)
    self[name] = Swift.max(self[name] ?? number, number)
  }
}

extension ReplicaTable {
  /// The query for the numbers of rows that the space never had, up to a number. A row that brings a deleted record
  /// back is none of them: its entry in the shadow has a real number.
  func newRows(upTo last: Int64) -> String {
    let (key, existed) = (keyNames[0].sqlQuoted, TableShadow.existed)
    return """
      SELECT s.\(key) FROM \(shadow.name.sqlQuoted) AS s CROSS JOIN main.\(name.sqlQuoted) AS t
        ON t.\(key) = s.\(key)
      WHERE s.\(existed) = 0 AND typeof(s.\(existed)) = 'integer' AND s.\(key) <= \(last)
      """
  }
}
