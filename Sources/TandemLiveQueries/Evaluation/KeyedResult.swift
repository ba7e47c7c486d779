internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The rows of a query by key, as they were last delivered.
struct KeyedResult: LiveResult {
  static let kind: UInt8 = 0

  private var reader: QueryReader
  /// The rows before a change of the columns; the next read of the whole result takes them.
  private var former: [Record] = []
  /// The rows otherwise; `nil` before the first read.
  private var rows: PackedRows?
  /// False while changes are not needed.
  private var notesChanges = true
  /// For a query with a LIMIT, the rows within it and those in reserve.
  private var window: OrderedRows?

  init(_ definition: QueryDefinition) {
    self.init(definition, reserveCount: RowWindow.defaultReserveCount)
  }

  init(_ definition: QueryDefinition, reserveCount: Int) {
    reader = QueryReader(definition, reserveCount: reserveCount)
  }

  /// True if the next changes are expected to need the whole result.
  func readsEverything(ifUnknown isUnknown: Bool) -> Bool {
    reader.readsEverything(ifUnknown: isUnknown)
  }

  /// Advances to the state of the open snapshot.
  ///
  /// - Returns: The changes, each kind ascending by key.
  /// - Complexity: O(*d* log *d*) for *d* rows touched if they can be read one by one.
  mutating func advance(
    _ changes: CommittedChanges, _ reading: LiveReading
  ) throws(DatabaseError) -> KeyedDifference {
    let (plan, need) = try reader.advance(changes, reading)
    return KeyedDifference(
      difference: try advance(plan, need, reading.connection), columns: plan.columns)
  }

  mutating func begin(
    _ changes: CommittedChanges, _ reading: LiveReading
  ) throws(DatabaseError) {
    notesChanges = false
    defer { notesChanges = true }
    _ = try advance(changes, reading)
  }

  private mutating func advance(
    _ plan: QueryPlan, _ need: QueryReader.Need, _ connection: DatabaseConnection
  ) throws(DatabaseError) -> SetDifference<Record> {
    if rows?.adopt(plan.layout, keyOffsets: plan.keyOffsets) != true {
      if let rows { former = rows.records() }
      rows = PackedRows(plan.layout, keyOffsets: plan.keyOffsets)
    }
    if case .rows(let keys, let rereading) = need {
      let touched = try plan.rows(of: keys, rereading, in: connection)
      if plan.list.window == nil { return note(touched) }
      if let change = window?.place(touched) { return note(change) }
    }
    return try compare(plan, connection)
  }

  func start() -> KeyedDifference {
    guard let rows else { preconditionFailure("There was a first read") }
    var changes = KeyedChanges()
    for record in rows.records() {
      changes.note(rows.columns.key(of: record), from: nil, to: record)
    }
    return KeyedDifference(difference: changes.difference(), columns: rows.columns)
  }

  func noChange() -> KeyedDifference {
    guard let rows else { preconditionFailure("There was a first read") }
    return KeyedDifference(difference: SetDifference(), columns: rows.columns)
  }

  /// Replaces rows that were read again.
  private mutating func note(_ touched: [TouchedRow]) -> SetDifference<Record> {
    guard var rows = rows.take() else {
      preconditionFailure("No row is touched before the first read")
    }
    defer { self.rows = rows }
    var changes = KeyedChanges()
    var packed = PackedRow()
    for row in touched {
      let slot = rows.slot(of: row.key)
      packed.removeAll()
      if let record = row.record { packed.append(contentsOf: record.values) }
      if let slot, row.record != nil, rows.hasRow(packed, at: slot) { continue }
      changes.note(row.key, from: slot.map { rows.record(at: $0) }, to: row.record)
      switch (slot, row.record) {
      case (nil, nil): break
      case (nil, .some): _ = rows.insert(packed, row.key)
      case (.some(let slot), nil): rows.remove(at: slot)
      case (.some(let slot), .some): rows.replace(at: slot, by: packed)
      }
    }
    return changes.difference()
  }

  /// Applies the changes of the window.
  private mutating func note(_ change: ListDifference<KeyedRow>) -> SetDifference<Record> {
    note(
      change.deletions.map { TouchedRow(key: $0.element.key, record: nil) }
        + change.insertions.map { TouchedRow(key: $0.element.key, record: $0.element.record) }
        + change.updates.map { TouchedRow(key: $0.new.key, record: $0.new.record) })
  }

  /// Reads the whole result and compares it.
  private mutating func compare(
    _ plan: QueryPlan, _ connection: DatabaseConnection
  ) throws(DatabaseError) -> SetDifference<Record> {
    window = nil
    guard let rows = rows.take() else { preconditionFailure("The plan makes the rows") }
    var comparison = KeyedComparison(
      plan, with: rows, former: former, notesChanges: notesChanges)
    former = []
    if let order = plan.list.order, let limits = plan.list.window {
      let rows = try OrderedRows(
        plan.listRows(in: connection), plan.columns, order: order, window: limits)
      for row in rows.visible { try comparison.add(row) }
      window = rows
    } else {
      try connection.withStatement(plan.sql) { statement throws(DatabaseError) in
        try statement.bind(plan.parameters)
        while try statement.step() { try comparison.add(statement) }
      }
    }
    let difference = comparison.finish()
    self.rows = comparison.rows
    try reader.didReadEverything(rowCount: comparison.rows.count, in: connection)
    return difference
  }
}
