internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The rows of a query by key, as they were last delivered.
struct KeyedResult: Sendable {
  private var reader: QueryReader
  private var rows: [RecordKey: Record] = [:]
  private var start: [Record]
  /// For a query with a LIMIT, the rows within it and those in reserve.
  private var window: OrderedRows?
  /// The plan of the last read.
  private var plan: QueryPlan?

  init(
    _ definition: QueryDefinition, startingFrom start: [Record],
    reserveCount: Int = RowWindow.defaultReserveCount
  ) {
    reader = QueryReader(definition, reserveCount: reserveCount)
    self.start = start
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
    if !start.isEmpty {
      for record in start { rows[plan.key(of: record)] = record }
      start = []
    }
    self.plan = plan
    if case .rows(let keys, let rereading) = need {
      let touched = try plan.rows(of: keys, rereading, in: connection)
      if plan.list.window == nil { return note(touched) }
      if let change = window?.place(touched) { return note(change) }
    }
    guard let order = plan.list.order, let limits = plan.list.window else {
      return try compare(plan, connection)
    }
    let rows = try OrderedRows(plan.listRows(in: connection), order: order, window: limits)
    window = rows
    return try compare(rows.visible, plan)
  }

  /// Replaces rows that were read again.
  private mutating func note(_ touched: [TouchedRow]) -> SetDifference<Record> {
    var changes = KeyedChanges()
    for row in touched {
      let old: Record?
      if let record = row.record {
        old = rows.updateValue(record, forKey: row.key)
      } else {
        old = rows.removeValue(forKey: row.key)
      }
      changes.note(row.key, from: old, to: row.record)
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
    var comparison = KeyedComparison(with: rows)
    try connection.withStatement(plan.sql) { statement throws(DatabaseError) in
      try statement.bind(plan.parameters)
      while try statement.step() { try comparison.add(plan.currentRow(statement), plan) }
    }
    return finish(&comparison)
  }

  private mutating func compare(
    _ current: [KeyedRow], _ plan: QueryPlan
  ) throws(DatabaseError) -> SetDifference<Record> {
    var comparison = KeyedComparison(with: rows)
    for row in current { try comparison.add(row, plan) }
    return finish(&comparison)
  }

  private mutating func finish(_ comparison: inout KeyedComparison) -> SetDifference<Record> {
    let difference = comparison.finish()
    rows = comparison.current
    return difference
  }
}

/// A comparison of all rows of a result, as they come, with those known.
private struct KeyedComparison {
  private let known: [RecordKey: Record]
  private(set) var current: [RecordKey: Record] = [:]
  private var changes = KeyedChanges()

  init(with known: [RecordKey: Record]) {
    self.known = known
    current.reserveCapacity(known.count)
  }

  mutating func add(_ row: KeyedRow, _ plan: QueryPlan) throws(DatabaseError) {
    guard current.updateValue(row.record, forKey: row.key) == nil else {
      throw plan.duplicateError(row.key)
    }
    changes.note(row.key, from: known[row.key], to: row.record)
  }

  mutating func finish() -> SetDifference<Record> {
    if current.count - changes.insertedCount < known.count {
      for (key, record) in known where current[key] == nil {
        changes.note(key, from: record, to: nil)
      }
    }
    return changes.difference()
  }
}
