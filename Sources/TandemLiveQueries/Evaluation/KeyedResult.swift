internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The rows of a query by key, as they were last delivered.
struct KeyedResult: Sendable {
  private var reader: QueryReader
  /// The rows that the consumer has, from before the first read or before a change of the columns;
  /// the next read of the whole result takes them.
  private var former: [Record]
  /// The rows otherwise; `nil` before the first read.
  private var rows: PackedRows?
  /// For a query with a LIMIT, the rows within it and those in reserve.
  private var window: OrderedRows?
  /// The plan of the last read.
  private var plan: QueryPlan?

  init(
    _ definition: QueryDefinition, startingFrom start: [Record],
    reserveCount: Int = RowWindow.defaultReserveCount
  ) {
    reader = QueryReader(definition, reserveCount: reserveCount)
    former = start
  }

  /// The key of a row that was read.
  func key(of record: Record) -> RecordKey {
    guard let plan else { preconditionFailure("No row is read without a plan") }
    return plan.key(of: record)
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
  ) throws(DatabaseError) -> SetDifference<Record> {
    let (plan, need) = try reader.advance(changes, reading)
    let connection = reading.connection
    self.plan = plan
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

  /// Replaces rows that were read again.
  private mutating func note(_ touched: [TouchedRow]) -> SetDifference<Record> {
    guard var rows = rows.take() else {
      preconditionFailure("No row is touched before the first read")
    }
    defer { self.rows = rows }
    var changes = KeyedChanges()
    var packed: [UInt8] = []
    for row in touched {
      let slot = rows.slot(of: row.key)
      packed.removeAll(keepingCapacity: true)
      if let record = row.record { PackedRow.append(record.values, to: &packed) }
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
    var comparison = KeyedComparison(plan, with: rows, former: former)
    former = []
    if let order = plan.list.order, let limits = plan.list.window {
      let rows = try OrderedRows(plan.listRows(in: connection), order: order, window: limits)
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
    return difference
  }
}

/// A comparison of all rows of a result, as they come, with those known.
///
/// Rows mostly come in the same order each time. So each is first compared, packed, with the row
/// after the last one found, and only others are looked up by their keys. An error ends the sequence,
/// and leaves the rows in part old and in part new.
private struct KeyedComparison {
  private let plan: QueryPlan
  private(set) var rows: PackedRows
  /// Rows that have other columns, or that the consumer started from.
  private var former: [RecordKey: Record] = [:]
  /// True for each slot whose row was found in the result or added to it.
  private var isFound: [Bool]
  private var foundCount = 0
  /// The slot whose row is expected next.
  private var next = 0
  private var packed: [UInt8] = []
  private var changes = KeyedChanges()

  init(_ plan: QueryPlan, with rows: PackedRows, former records: [Record]) {
    self.plan = plan
    self.rows = rows
    isFound = Array(repeating: false, count: rows.slotCount)
    for record in records { former[plan.key(of: record)] = record }
  }

  /// Adds the row at which a statement stands.
  mutating func add(_ statement: Statement) throws(DatabaseError) {
    packed.removeAll(keepingCapacity: true)
    statement.appendRow(to: &packed)
    while next < isFound.count, rows.isFree(next) { next += 1 }
    if next < isFound.count, !isFound[next], rows.hasRow(packed, at: next) { return find(next) }
    let key = try plan.currentKey(statement)
    let slot = rows.slot(of: key)
    if let slot, !isFound[slot], rows.hasRow(packed, at: slot) { return find(slot) }
    try add(plan.currentRow(statement).record, key, slot)
  }

  /// Adds a row.
  mutating func add(_ row: KeyedRow) throws(DatabaseError) {
    packed.removeAll(keepingCapacity: true)
    PackedRow.append(row.record.values, to: &packed)
    try add(row.record, row.key, rows.slot(of: row.key))
  }

  private mutating func add(
    _ record: Record, _ key: RecordKey, _ slot: Int?
  ) throws(DatabaseError) {
    if let slot {
      guard !isFound[slot] else { throw plan.duplicateError(key) }
      changes.note(key, from: rows.record(at: slot), to: record)
      rows.replace(at: slot, by: packed)
      find(slot)
    } else {
      changes.note(key, from: former.removeValue(forKey: key), to: record)
      let slot = rows.insert(packed, key)
      if slot == isFound.count { isFound.append(false) }
      find(slot)
    }
  }

  private mutating func find(_ slot: Int) {
    isFound[slot] = true
    foundCount += 1
    next = slot + 1
  }

  /// Removes the rows that were not found, and returns all changes.
  mutating func finish() -> SetDifference<Record> {
    if foundCount < rows.count {
      for slot in isFound.indices where !isFound[slot] && !rows.isFree(slot) {
        changes.note(rows.key(at: slot), from: rows.record(at: slot), to: nil)
        rows.remove(at: slot)
      }
    }
    for (key, record) in former { changes.note(key, from: record, to: nil) }
    return changes.difference()
  }
}
