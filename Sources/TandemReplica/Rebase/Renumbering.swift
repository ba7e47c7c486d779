internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

// Keys that SQLite chooses. Two copies give the same number to different rows. The space gives each number once. So
// before a pull is merged, each row of this file that the space never had, and whose number the space has given by
// now, gets a new one: one more than any that the table, the edits and the space have. References of this file to the
// row follow, those of rows that came from the space never do. No commit is frozen while there is such a row.
extension PageApplication {
  /// Gives new numbers to rows whose numbers the space has given to other records.
  ///
  /// - Parameter last: The last page, which is not staged.
  mutating func renumber(before last: SyncPage) throws -> [RenumberedRow] {
    guard !schema.numbered.isEmpty else { return [] }
    // Another history may have given less.
    let numbers = try givenNumbers(
      last, known: state.pullNeed.needsDecision ? [:] : tables.storedNumbers(schema))
    let former = try tables.storedNumbers(schema)
    try tables.store(numbers)
    try tables.raiseSequences(schema, above: numbers)
    guard decision != .adoptRemote else { return [] }
    // In a file that is new to the space, such a reference may be to a record of it.
    var renumbering = try Renumbering(
      tables, schema, numbers, former: state.pullNeed.trustsUntouchedRows ? former : numbers)
    guard try renumbering.isNeeded() else { return [] }
    // A file that was restored may have sent some of its rows before.
    let isRestored = (last.replica?.sequence ?? 0) > state.sequence
    if state.pullNeed == .first || state.pullNeed.needsDecision || isRestored {
      try tables.forEachStagedPage { try renumbering.recognize($0) }
      try renumbering.recognize(last)
    }
    return try renumbering.run(movesNotes: state.pullNeed.needsDecision)
  }

  /// The highest numbers that the space has given.
  private func givenNumbers(
    _ last: SyncPage, known: [FieldName: Int64]
  ) throws -> [FieldName: Int64] {
    var numbers = known
    for table in schema.numbered {
      guard let number = last.numbers?[FieldName(table.name)] else { continue }
      numbers.note(table.syncKey([.integer(number)]), in: table)
    }
    // An event has no numbers, but all records that were made since the revision.
    guard last.numbers == nil else { return numbers }
    for change in last.changes {
      if let table = schema.table(named: change.key.table) { numbers.note(change.key, in: table) }
    }
    return numbers
  }
}

/// Gives new numbers to rows that the space never had.
struct Renumbering {
  /// A column that has the numbers of a table: by a foreign key, or by one to such a column.
  private struct Carrier: Hashable {
    let table: String
    let column: String
  }

  private let tables: ReplicaTables
  private let schema: ReplicaSchema
  private let numbers: [FieldName: Int64]
  /// The highest numbers that the file knew before.
  private let former: [FieldName: Int64]
  private let numbered: [ReplicaTable]
  /// For each of the tables, the columns that have its numbers.
  private var carriers: [[Carrier]] = []
  /// For each of the tables, the rows that are equal to the space's records of their numbers: they are these.
  private var recognized: [Set<Int64>]
  private let columnsWithDefaults: [Set<FieldName>]

  init(
    _ tables: ReplicaTables, _ schema: ReplicaSchema, _ numbers: [FieldName: Int64],
    former: [FieldName: Int64]
  ) throws {
    self.tables = tables
    self.schema = schema
    self.numbers = numbers
    self.former = former
    numbered = schema.numbered
    recognized = numbered.map { _ in [] }
    columnsWithDefaults = try numbered.map { table in
      let names = try tables.rows(
        "SELECT name FROM pragma_table_info(?) WHERE dflt_value NOT NULL", [.text(table.name)])
      return Set(names.compactMap { $0[0].textValue.map { FieldName($0) } })
    }
  }

  /// True if a row, a kept edit, or a reference to a row of this file that is gone has a number that the space has
  /// given.
  mutating func isNeeded() throws -> Bool {
    if numbers != former {
      carriers = try foundCarriers()
      if try numbered.indices.contains(where: { try !orphanNumbers($0).isEmpty }) { return true }
    }
    return try tables.hasTakenNumbers(schema, numbers)
      || numbered.contains { try !tables.keptNumbers($0, numbers).isEmpty }
  }

  /// The numbers of rows of this file that are gone, to which rows still refer. They must not refer to the records of
  /// the space that have these numbers now.
  private func orphanNumbers(_ place: Int) throws -> Set<Int64> {
    let table = numbered[place]
    guard let last = numbers[FieldName(table.name)] else { return [] }
    var orphans: Set<Int64> = []
    for carrier in carriers[place] {
      let column = carrier.column.sqlQuoted
      let found = try tables.rows(
        """
        SELECT DISTINCT c.\(column) FROM main.\(carrier.table.sqlQuoted) AS c
        WHERE typeof(c.\(column)) = 'integer' AND c.\(column) > ? AND c.\(column) <= ?
          AND NOT EXISTS (SELECT 1 FROM main.\(table.name.sqlQuoted) AS p
            WHERE p.\(table.keyNames[0].sqlQuoted) = c.\(column))
        """, [.integer(former[FieldName(table.name)] ?? 0), .integer(last)])
      orphans.formUnion(found.compactMap { $0[0].integer })
    }
    return orphans
  }

  /// Follows the foreign keys of all tables, those that are not synchronized included.
  private func foundCarriers() throws -> [[Carrier]] {
    let keys = try tables.rows(
      """
      SELECT t.name, f."from", f."table", coalesce(f."to", (
          SELECT p.name FROM pragma_table_info(f."table") AS p WHERE p.pk = f.seq + 1))
      FROM main.sqlite_schema AS t, pragma_foreign_key_list(t.name) AS f WHERE t.type = 'table'
      """
    ).map { row in row.map { $0.textValue ?? "" } }
    return try numbered.map { table in
      var found: [Carrier] = []
      var queue = [Carrier(table: table.name, column: table.keyNames[0])]
      while let parent = queue.popLast() {
        for key in keys
        where key[2].isSameSQLName(as: parent.table) && key[3].isSameSQLName(as: parent.column) {
          let carrier = Carrier(table: key[0], column: key[1])
          guard !found.contains(carrier), try isWritable(carrier) else { continue }
          found.append(carrier)
          queue.append(carrier)
        }
      }
      return found
    }
  }

  /// False for a computed column, and for a key that SQLite chooses itself.
  private func isWritable(_ carrier: Carrier) throws -> Bool {
    guard
      let column = try tables.connection.schema(ofTable: carrier.table)?.column(
        named: carrier.column)
    else { return false }
    return !column.isGenerated
      && !numbered.contains {
        $0.name.isSameSQLName(as: carrier.table) && $0.keyNames[0].isSameSQLName(as: column.name)
      }
  }
}

// MARK: - Recognizing

extension Renumbering {
  /// Takes note of the rows that are equal to records of a page of all records. A later page may have a record again.
  mutating func recognize(_ page: SyncPage) throws {
    for change in page.changes {
      guard let number = change.key.number,
        let place = numbered.firstIndex(where: { UTF8Order.areEqual($0.name, change.key.table) })
      else { continue }
      let row = try tables.row(numbered[place], change.key.id)
      if let fields = change.fields, !row.row.isMissing, let local = row.local,
        isSame(local, fields, in: numbered[place], columnsWithDefaults[place])
      {
        recognized[place].insert(number)
      } else {
        recognized[place].remove(number)
      }
    }
  }

  /// True if a row has what a record of the space has, as far as both have the columns. A field that the record lacks
  /// may be the default of a column that only this table has.
  private func isSame(
    _ local: Record, _ fields: Record, in table: ReplicaTable,
    _ columnsWithDefaults: Set<FieldName>
  ) -> Bool {
    table.columnNames.allSatisfy { name in
      local[name].hasSameStorage(as: fields[name])
        || fields[name].isNull && columnsWithDefaults.contains(FieldName(name))
    }
  }

  /// The rows that get new numbers, for each table.
  ///
  /// A row that refers to one of them has a reference that differs from that of the space's record from now on. So it
  /// is not that record either.
  private func moving() throws -> [Set<Int64>] {
    var moving: [Set<Int64>] = []
    var queue: [(place: Int, number: Int64)] = []
    for (place, table) in numbered.enumerated() {
      guard let last = numbers[FieldName(table.name)] else {
        moving.append([])
        continue
      }
      let new = try tables.rows(table.newRows(upTo: last)).compactMap { $0[0].integer }
      moving.append(Set(new).subtracting(recognized[place]))
      queue += moving[place].map { (place, $0) }
    }
    guard !queue.isEmpty, recognized.contains(where: { !$0.isEmpty }) else { return moving }
    let children = try numbered.indices.map(children)
    while let (place, number) = queue.popLast() {
      for child in children[place][number] ?? []
      where recognized[child.place].contains(child.number) {
        if moving[child.place].insert(child.number).inserted { queue.append(child) }
      }
    }
    return moving
  }

  /// The recognized rows that refer to each row of a table.
  private func children(
    of place: Int
  ) throws -> [Int64: [(place: Int, number: Int64)]] {
    var children: [Int64: [(place: Int, number: Int64)]] = [:]
    let parent = numbered[place]
    for carrier in carriers[place] {
      guard let child = numbered.firstIndex(where: { $0.name.isSameSQLName(as: carrier.table) })
      else { continue }
      let sql = """
        SELECT p.\(parent.keyNames[0].sqlQuoted), c.\(numbered[child].keyNames[0].sqlQuoted)
        FROM main.\(carrier.table.sqlQuoted) AS c CROSS JOIN main.\(parent.name.sqlQuoted) AS p
          ON p.\(parent.keyNames[0].sqlQuoted) = c.\(carrier.column.sqlQuoted)
        """
      try tables.connection.forEachRow(sql, []) { row in
        if let number = try row.value(at: 0).integer, let other = try row.value(at: 1).integer,
          recognized[child].contains(other)
        {
          children[number, default: []].append((child, other))
        }
        return true
      }
    }
    return children
  }
}

// MARK: - Numbers

extension Renumbering {
  private static let list = "temp.tandem_renumbered"

  /// - Parameter movesNotes: True if what is kept about a row concerns it also under its new number.
  /// - Returns: The rows with new numbers, in the order of tables and former numbers.
  /// - Complexity: O(*n*) statements in the number of these rows. Rows that refer to them are found by their shadows,
  ///   in tables that are not synchronized by reading all.
  mutating func run(movesNotes: Bool) throws -> [RenumberedRow] {
    carriers = try foundCarriers()
    let moving = try moving()
    let kept = try numbered.map { Set(try tables.keptNumbers($0, numbers)) }
    try tables.run(
      """
      CREATE TEMP TABLE IF NOT EXISTS tandem_renumbered (
        tab INTEGER, old INTEGER, new INTEGER, PRIMARY KEY (tab, old)) WITHOUT ROWID
      """, [])
    var renumbered: [RenumberedRow] = []
    var last: [FieldName: Int64] = [:]
    let orphans = try numbered.indices.map { try orphanNumbers($0).subtracting(recognized[$0]) }
    let all = zip(zip(moving, kept), orphans).map { $0.0.union($0.1).union($1) }
    for (place, table) in numbered.enumerated() where !all[place].isEmpty {
      var number = try highestNumber(place)
      for former in all[place].sorted() {
        let (next, isTooGreat) = number.addingReportingOverflow(1)
        guard !isTooGreat else {
          throw ReplicaError(
            .constraint,
            "the table \(table.name) has no number left for the row \(former), because a row has the "
              + "last one, \(number); give that row a lower number in a new space")
        }
        number = next
        try tables.run(
          "INSERT INTO \(Self.list) VALUES (?, ?, ?)",
          [.integer(Int64(place)), .integer(former), .integer(number)])
        guard moving[place].contains(former) else { continue }
        renumbered.append(RenumberedRow(table: table.name, former: former, present: number))
      }
      last[FieldName(table.name)] = number
    }
    for place in numbered.indices where !all[place].isEmpty {
      for carrier in carriers[place] { try follow(place, carrier) }
      try renumberKept(place)
    }
    for place in numbered.indices where !moving[place].isEmpty {
      let rows = renumbered.filter { UTF8Order.areEqual($0.table, numbered[place].name) }
      try move(rows, in: numbered[place], movesNotes: movesNotes)
    }
    try tables.run("DELETE FROM \(Self.list)", [])
    try tables.raiseSequences(schema, above: last)
    return renumbered
  }

  /// The highest number that the table, references to it, its edits and the space have.
  private func highestNumber(_ place: Int) throws -> Int64 {
    let table = numbered[place]
    let key = table.keyNames[0].sqlQuoted
    var queries = [
      "SELECT max(\(key)) FROM main.\(table.name.sqlQuoted)",
      "SELECT max(\(key)) FROM \(table.shadow.name.sqlQuoted)",
    ]
    // A row that refers to nothing must not refer to a new row by chance.
    queries += carriers[place].map {
      "SELECT max(\($0.column.sqlQuoted)) FROM main.\($0.table.sqlQuoted) "
        + "WHERE typeof(\($0.column.sqlQuoted)) = 'integer'"
    }
    var highest = numbers[FieldName(table.name)] ?? 0
    for query in queries {
      if let number = try tables.rows(query).first?[0].integer { highest = max(highest, number) }
    }
    let sequence = try tables.rows(
      "SELECT seq FROM main.sqlite_sequence WHERE name = ?", [.text(table.schema.name)])
    return max(highest, sequence.first?[0].integer ?? highest)
  }
}

// MARK: - Rows

extension Renumbering {
  /// Lets the references of this file in a column follow: those of rows that are new, or whose reference is an edit.
  /// Tables that are not synchronized have nothing from the space.
  private func follow(_ place: Int, _ carrier: Carrier) throws {
    let column = carrier.column.sqlQuoted
    let child = schema.tables.first { $0.name.isSameSQLName(as: carrier.table) }
    let isRenumbered = "SELECT new FROM \(Self.list) WHERE tab = \(place) AND old = c.\(column)"
    var conditions = ["EXISTS (\(isRenumbered))"]
    let isKey = child?.keyNames.contains(where: carrier.column.isSameSQLName) ?? false
    if let child, let edited = child.editedRows(carrier.column, isKey: isKey) {
      conditions += edited
    }
    let condition = conditions.joined(separator: " AND ")
    let table = "main.\(carrier.table.sqlQuoted) AS c"
    try writing {
      try tables.run(
        "UPDATE OR ABORT \(table) SET \(column) = (\(isRenumbered)) WHERE \(condition)", [])
      return try tables.rows("SELECT 1 FROM \(table) WHERE \(condition) LIMIT 1").isEmpty
    }
    guard let child else { return }
    try followKept(place, child, carrier.column)
    guard isKey else { return }
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
          WHERE \(child.declaration.sameKey("t", "c")))
      """, [])
  }

  private func move(_ rows: [RenumberedRow], in table: ReplicaTable, movesNotes: Bool) throws {
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
      try moveRest(from: table.syncKey(old), to: table.syncKey(new), of: table, movesNotes)
    }
  }

  /// Moves what the file keeps beside a row.
  private func moveRest(
    from old: SyncKey, to new: SyncKey, of table: ReplicaTable, _ movesNotes: Bool
  ) throws {
    // A whole record is that of the space, which has the former number.
    if let parked = try tables.parked(old), parked.extent == .fields {
      try tables.park(nil, old)
      try tables.park(parked, new)
    }
    if table.mayHaveDroppedEdits {
      let key = table.keyNames[0].sqlQuoted
      try tables.run(
        "UPDATE \(TableShadow.droppedName(table.name).sqlQuoted) SET \(key) = ? WHERE \(key) = ?",
        new.id + old.id)
    }
    guard movesNotes else { return }
    try tables.run(
      "UPDATE tandem_kept SET \"key\" = ? WHERE \"table\" = ? AND \"key\" = ?",
      [.text(new.idText), .text(new.table), .text(old.idText)])
  }

  // MARK: Kept edits

  /// Gives insertions that were taken out of their rows the new numbers.
  private func renumberKept(_ place: Int) throws {
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
    func number(_ value: String) -> String {
      "SELECT new FROM \(Self.list) WHERE tab = \(place) AND old = json_extract(\(value), ?2)"
    }
    let table = FieldValue.text(child.name)
    if let offset = child.keyNames.firstIndex(where: column.isSameSQLName) {
      try tables.run(
        """
        UPDATE tandem_kept SET "key" = json_set("key", ?2, (\(number("\"key\""))))
        WHERE "table" = ?1 AND kind = 'edit' AND base IS NULL AND EXISTS (\(number("\"key\"")))
        """, [table, .text("$[\(offset)]")])
    }
    guard let name = child.columnNames.first(where: column.isSameSQLName) else { return }
    let version = "\"local\""
    try tables.run(
      """
      UPDATE tandem_kept SET \(version) = json_set(\(version), ?2, (\(number(version))))
      WHERE "table" = ?1 AND EXISTS (\(number(version)))
        AND json_extract(\(version), ?2) IS NOT json_extract(base, ?2)
      """, [table, .text("$.\"\(name)\"")])
  }

  /// Writes rows. Search indexes of the application follow, by its triggers; those that prevent it do not run.
  ///
  /// - Parameter body: Returns true if the rows are as they should be.
  private func writing(_ body: () throws -> Bool) throws {
    struct Prevented: Error {}
    do {
      return try tables.connection.savepoint {
        guard try body() else { throw Prevented() }
      }
    } catch is Prevented {
    } catch let error as DatabaseError
      where error.forbidsRow && tables.connection.isInTransaction
    {}
    guard try tables.quietly(body) else {
      throw ReplicaError(
        .schema,
        "the rows of a table cannot get new numbers: a trigger or a constraint prevents it")
    }
  }
}

extension ReplicaTable {
  /// The conditions that a row `c` of this table refers to another one by a column because of an edit of this file;
  /// `nil` if the column is not synchronized.
  fileprivate func editedRows(_ column: String, isKey: Bool) -> [String]? {
    guard isKey || columnNames.contains(where: column.isSameSQLName) else { return nil }
    let (name, existed) = (column.sqlQuoted, "s.\(TableShadow.existed)")
    let keys = keyNames.map { "c.\($0.sqlQuoted)" }.joined(separator: ", ")
    let isEdited =
      isKey
      ? "\(existed) = 0 AND typeof(\(existed)) = 'integer'"
      : "(\(existed) <> 1 OR s.\(name) IS NOT c.\(name))"
    return [
      "(\(keys)) IN (SELECT \(keyNames.sqlList) FROM \(shadow.name.sqlQuoted))",
      """
      EXISTS (SELECT 1 FROM \(shadow.name.sqlQuoted) AS s
        WHERE \(declaration.sameKey("c", "s")) AND \(isEdited))
      """,
    ]
  }
}

extension FieldValue {
  fileprivate var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
}
