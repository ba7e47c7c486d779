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
  /// - Parameter last: The last page, which may be one of those that are staged.
  mutating func renumber(before last: SyncPage) throws -> [RenumberedRow] {
    guard !schema.numbered.isEmpty else { return [] }
    let former = try tables.storedNumbers(schema)
    // Another history may have given less.
    let numbers = givenNumbers(last, known: state.pullNeed.needsDecision ? [:] : former)
    try tables.store(numbers)
    try tables.raiseSequences(schema, above: numbers)
    // New columns do not make records of the space unknown.
    let isKnown = state.pullNeed.trustsUntouchedRows || state.pullNeed == .columns
    var renumbering = try Renumbering(
      tables, schema, numbers, former: isKnown ? former : [:],
      formerOfEdits: state.pullNeed.needsDecision ? [:] : former,
      adoptsRows: decision == .adoptRemote)
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
  ) -> [FieldName: Int64] {
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
  struct Carrier: Hashable {
    let table: String
    let column: String
  }

  let tables: ReplicaTables
  let schema: ReplicaSchema
  private let numbers: [FieldName: Int64]
  /// The highest numbers that the file knew before; none if it does not know the space's records.
  private let former: [FieldName: Int64]
  /// Those that it knew before, also if it does not know which of its rows are the space's.
  private let formerOfEdits: [FieldName: Int64]
  /// True if all rows become those of the space: only kept edits get numbers, and refer to each other.
  private let adoptsRows: Bool
  let numbered: [ReplicaTable]
  /// For each of the tables, the columns that have its numbers. None until they are needed.
  private var carriers: [[Carrier]] = []
  /// For each of them, the columns that this file has dropped, of which the space knows the references.
  private var droppedCarriers: [[Carrier]] = []
  /// The columns of each table that the space's records were received without.
  private(set) var newColumns: [String: [NewColumn]] = [:]
  /// For each of the tables, the rows that are equal to the space's records of their numbers: they are these.
  private var recognized: [Set<Int64>]
  /// For each of the tables, the numbers to which records of the space refer that are equal to rows of this file.
  private var referred: [Set<Int64>]
  private let columnsWithDefaults: [Set<FieldName>]

  init(
    _ tables: ReplicaTables, _ schema: ReplicaSchema, _ numbers: [FieldName: Int64],
    former: [FieldName: Int64], formerOfEdits: [FieldName: Int64], adoptsRows: Bool
  ) throws {
    self.formerOfEdits = formerOfEdits
    self.adoptsRows = adoptsRows
    self.tables = tables
    self.schema = schema
    self.numbers = numbers
    self.former = former
    numbered = schema.numbered
    recognized = numbered.map { _ in [] }
    referred = recognized
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
      try findCarriers()
      if try numbered.indices.contains(where: { try !orphanNumbers($0).isEmpty }) { return true }
    }
    return try tables.hasTakenNumbers(schema, numbers)
      || numbered.contains { try !tables.keptNumbers($0, numbers).isEmpty }
  }

  /// The numbers of rows of this file that are gone, to which rows or kept edits still refer. They must not refer to the
  /// records of the space that have these numbers now, unless records of the space do so as well.
  private func orphanNumbers(_ place: Int) throws -> Set<Int64> {
    let table = numbered[place]
    let name = FieldName(table.name)
    guard let last = numbers[name] else { return [] }
    let (key, existed) = (table.keyNames[0].sqlQuoted, TableShadow.existed)
    var orphans: Set<Int64> = []
    let queries =
      rowReferences(to: place).map { ($0, former[name] ?? 0) }
      + editReferences(to: place).map { ($0, formerOfEdits[name] ?? 0) }
    for (query, first) in queries {
      // A record of the space that this file has deleted, or has beside the table, may come back.
      let found = try tables.rows(
        """
        SELECT DISTINCT number FROM (\(query))
        WHERE typeof(number) = 'integer' AND number > ? AND number <= ?
          AND NOT EXISTS (SELECT 1 FROM main.\(table.name.sqlQuoted) AS p WHERE p.\(key) = number)
          AND NOT EXISTS (
            SELECT 1 FROM \(table.shadow.name.sqlQuoted) AS s WHERE s.\(key) = number AND s.\(existed) <> 0)
          AND NOT EXISTS (
            SELECT 1 FROM tandem_parked
            WHERE "table" = \(table.name.sqlLiteral) AND is_whole = 1 AND id = json_array(number))
        """, [.integer(first), .integer(last)])
      orphans.formUnion(found.compactMap { $0[0].integer })
    }
    return orphans.subtracting(referred[place])
  }

  /// Queries for the values `number` by which rows of this file refer to a table; of its own columns alone if all others
  /// become those of the space.
  private func rowReferences(to place: Int) -> [String] {
    carriers[place].compactMap { carrier in
      let child = schema.tables.first { $0.name.isSameSQLName(as: carrier.table) }
      let isPrivate = child?.otherColumns.contains(where: carrier.column.isSameSQLName) ?? true
      guard !adoptsRows || isPrivate else { return nil }
      return "SELECT \(carrier.column.sqlQuoted) AS number FROM main.\(carrier.table.sqlQuoted)"
    }
  }

  /// The same for edits that are not in their rows.
  private func editReferences(to place: Int) -> [String] {
    (carriers[place] + droppedCarriers[place]).flatMap { carrier in
      schema.tables.first { $0.name.isSameSQLName(as: carrier.table) }?
        .editedReferences(carrier.column) ?? []
    }
  }

  /// Follows the foreign keys of all tables, those that are not synchronized included.
  private mutating func findCarriers() throws {
    guard carriers.isEmpty else { return }
    carriers = try numbered.map { table in
      var found: [Carrier] = []
      var queue = [Carrier(table: table.name, column: table.keyNames[0])]
      while let parent = queue.popLast() {
        for key in schema.listedKeys where key.parent.isSameSQLName(as: parent.table) {
          for column in key.columns where column.parent.isSameSQLName(as: parent.column) {
            let carrier = Carrier(table: key.child, column: column.child)
            guard !found.contains(carrier), try isWritable(carrier) else { continue }
            found.append(carrier)
            queue.append(carrier)
          }
        }
      }
      return found
    }
    newColumns = try tables.columnChanges(schema).mapValues(\.added)
    let dropped = try tables.spaceReferences(schema).filter {
      $0.table.schema.column(named: $0.column) == nil
    }
    droppedCarriers = zip(numbered, carriers).map { table, carriers in
      let parents = [Carrier(table: table.name, column: table.keyNames[0])] + carriers
      return dropped.filter { reference in
        parents.contains {
          $0.table.isSameSQLName(as: reference.parent.text)
            && $0.column.isSameSQLName(as: reference.parentColumn.text)
        }
      }.map { Carrier(table: $0.table.name, column: $0.column) }
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
      try noteReferences(of: change)
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

  /// Takes note of what a record refers to that is equal to a row of this file.
  private mutating func noteReferences(of change: SyncRecordState) throws {
    guard let fields = change.fields, let table = schema.table(named: change.key.table) else {
      return
    }
    var isKnown: Bool?
    for place in carriers.indices {
      for carrier in carriers[place] where carrier.table.isSameSQLName(as: table.name) {
        let offset = table.keyNames.firstIndex(where: carrier.column.isSameSQLName)
        let name = table.columnNames.first(where: carrier.column.isSameSQLName)
        let value = offset.map { change.key.id[$0] } ?? name.flatMap { fields[$0] }
        guard let number = value?.integer, !referred[place].contains(number) else { continue }
        if isKnown == nil {
          let row = try tables.row(table, change.key.id)
          isKnown =
            !row.row.isMissing && row.local.map { isSame($0, fields, in: table, []) } ?? false
        }
        if isKnown == true { referred[place].insert(number) }
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

  /// The rows that get new numbers, for each table. None is new if all become those of the space,
  /// because the base is forgotten by then.
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
  static let list = "temp.tandem_renumbered"

  /// - Parameter movesNotes: True if what is kept about a row concerns it also under its new number.
  /// - Returns: The rows with new numbers, in the order of tables and former numbers.
  /// - Complexity: O(*n*) statements in the number of these rows. Rows that refer to them are found by their shadows,
  ///   in tables that are not synchronized by reading all.
  mutating func run(movesNotes: Bool) throws -> [RenumberedRow] {
    try findCarriers()
    let moving = try moving()
    let kept = try numbered.map { Set(try tables.keptNumbers($0, numbers)) }
    try tables.run(
      """
      CREATE TEMP TABLE IF NOT EXISTS tandem_renumbered (
        tab INTEGER, old INTEGER, new INTEGER, is_own INTEGER, is_taken INTEGER,
        PRIMARY KEY (tab, old)) WITHOUT ROWID
      """, [])
    var renumbered: [RenumberedRow] = []
    var last: [FieldName: Int64] = [:]
    let orphans = try numbered.indices.map(orphanNumbers)
    let all = numbered.indices.map { moving[$0].union(kept[$0]).union(orphans[$0]) }
    for (place, table) in numbered.enumerated() where !all[place].isEmpty {
      var number = try highestNumber(place)
      for former in all[place].sorted() {
        let (next, isTooGreat) = number.addingReportingOverflow(1)
        guard !isTooGreat else {
          throw ReplicaError(
            .constraint,
            "the table \(table.name) has no number left for the row \(former), because a row has the "
              + "last one, \(number). Give that row a lower number, and lower the number of the table in "
              + "sqlite_sequence; if the space has it already, attach the files to a new space")
        }
        number = next
        try tables.run(
          "INSERT INTO \(Self.list) VALUES (?, ?, ?, ?, ?)",
          [
            .integer(Int64(place)), .integer(former), .integer(number),
            .integer(moving[place].contains(former) || kept[place].contains(former) ? 1 : 0),
            .integer(try taking(former, of: table, isMoving: moving[place].contains(former))),
          ])
        guard moving[place].contains(former) else { continue }
        renumbered.append(RenumberedRow(table: table.name, former: former, present: number))
      }
      last[FieldName(table.name)] = number
    }
    for place in numbered.indices where !all[place].isEmpty {
      for carrier in carriers[place] { try follow(place, carrier) }
      for carrier in droppedCarriers[place] { try followDropped(place, carrier) }
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

  /// Which references of rows to a number lead to the record of the space that has it by now: 0 for none, 1 for those that
  /// are synchronized, which become those of the space, 2 for all.
  private func taking(_ number: Int64, of table: ReplicaTable, isMoving: Bool) throws -> Int64 {
    if try !isMoving && !tables.row(table, [.integer(number)]).row.isMissing { return 2 }
    return adoptsRows ? 1 : 0
  }

  /// The highest number that the table, references to it, its edits and the space have.
  private func highestNumber(_ place: Int) throws -> Int64 {
    let table = numbered[place]
    let key = table.keyNames[0].sqlQuoted
    var queries = [
      "SELECT max(\(key)) FROM main.\(table.name.sqlQuoted)",
      // A new row that was deleted leaves its number, to which edits may refer. The last one would leave no other.
      "SELECT max(\(key)) FROM \(table.shadow.name.sqlQuoted) WHERE \(TableShadow.existed) OR \(key) < \(Int64.max)",
    ]
    // What refers to nothing must not refer to a new row by chance.
    queries += (rowReferences(to: place) + editReferences(to: place)).map {
      "SELECT max(number) FROM (\($0)) WHERE typeof(number) = 'integer' AND number < \(Int64.max)"
    }
    var highest = numbers[FieldName(table.name)] ?? 0
    for query in queries {
      if let number = try tables.rows(query).first?[0].integer { highest = max(highest, number) }
    }
    return max(highest, try tables.connection.sequence(ofTable: table.schema.name) ?? highest)
  }
}

extension FieldValue {
  var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
}
