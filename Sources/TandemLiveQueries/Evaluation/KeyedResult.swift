internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The rows of a query by key, as they were last delivered.
struct KeyedResult {
  private var query: PlannedQuery
  private var rows: [RowKey: Record] = [:]
  private var start: [Record]
  /// The last entry of the tracking log that the rows contain.
  private var logPosition: Int64 = 0

  init(_ definition: QueryDefinition, startingFrom start: [Record]) {
    query = PlannedQuery(definition)
    self.start = start
  }

  /// Moves on to the state of the open snapshot.
  ///
  /// - Returns: What changed, each kind ascending by key.
  /// - Complexity: O(*d* log *d*) for *d* rows touched if they can be read one by one.
  mutating func advance(
    _ changes: CommittedChanges, _ reading: LiveReading
  ) throws(DatabaseError) -> SetDifference<Record> {
    let (plan, isNew) = try query.plan(reading)
    let connection = reading.connection
    if !start.isEmpty {
      for record in start { rows[plan.key(of: record)] = record }
      start = []
    }
    let touched = isNew ? nil : try touchedKeys(changes, plan, connection)
    if let log = plan.log { logPosition = try log.end(in: connection) }
    if let keys = touched?.keys, let rereading = plan.rereading {
      return try reread(keys.sorted(), rereading, plan, connection)
    }
    return try rerun(plan, connection)
  }

  /// The keys of all rows that may differ from those known; `nil` if nobody noted them.
  private func touchedKeys(
    _ changes: CommittedChanges, _ plan: QueryPlan, _ connection: DatabaseConnection
  ) throws(DatabaseError) -> TouchedKeys? {
    guard let interest = plan.interests?.first else { return nil }
    guard changes.isUnknown else { return changes.touched[interest] ?? TouchedKeys() }
    return try plan.log?.keys(after: logPosition, in: connection)
  }

  /// Reads the rows of the given keys, which ascend, and nothing else.
  private mutating func reread(
    _ keys: [RowKey], _ sql: String, _ plan: QueryPlan, _ connection: DatabaseConnection
  ) throws(DatabaseError) -> SetDifference<Record> {
    var changes = KeyedChanges()
    let statement = try connection.cachedStatement(sql)
    defer { statement.reset() }
    for (position, value) in plan.parameters.enumerated() {
      try statement.bind(value, at: position + 1)
    }
    for key in keys {
      for (position, value) in key.values.enumerated() {
        try statement.bind(value, at: plan.parameters.count + position + 1)
      }
      let record = try row(key, statement, plan)
      changes.note(key, from: rows[key], to: record)
      rows[key] = record
    }
    return changes.difference()
  }

  /// The row of one key, if the result has it.
  private func row(
    _ key: RowKey, _ statement: Statement, _ plan: QueryPlan
  ) throws(DatabaseError) -> Record? {
    var found: Record?
    while try statement.step() {
      let record = Record(uncheckedLayout: plan.layout, values: try statement.values())
      // A collation may find rows whose keys are not the same.
      guard try plan.checkedKey(of: record) == key else { continue }
      guard found == nil else { throw plan.duplicateError(key) }
      found = record
    }
    return found
  }

  /// Reads the whole result and compares it.
  private mutating func rerun(
    _ plan: QueryPlan, _ connection: DatabaseConnection
  ) throws(DatabaseError) -> SetDifference<Record> {
    var changes = KeyedChanges()
    var current: [RowKey: Record] = [:]
    current.reserveCapacity(rows.count)
    let statement = try connection.cachedStatement(plan.sql)
    defer { statement.reset() }
    try statement.bind(plan.parameters)
    while try statement.step() {
      let record = Record(uncheckedLayout: plan.layout, values: try statement.values())
      let key = try plan.checkedKey(of: record)
      guard current.updateValue(record, forKey: key) == nil else {
        throw plan.duplicateError(key)
      }
      changes.note(key, from: rows[key], to: record)
    }
    if current.count - changes.insertedCount < rows.count {
      for (key, record) in rows where current[key] == nil {
        changes.note(key, from: record, to: nil)
      }
    }
    rows = current
    return changes.difference()
  }
}
