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
    var difference = SetDifference<Record>()
    let statement = try connection.cachedStatement(sql)
    defer { statement.reset() }
    for (position, value) in plan.parameters.enumerated() {
      try statement.bind(value, at: position + 1)
    }
    for key in keys {
      for (position, value) in key.values.enumerated() {
        try statement.bind(value, at: plan.parameters.count + position + 1)
      }
      replace(key, try row(key, statement, plan), &difference)
    }
    return difference
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

  private mutating func replace(
    _ key: RowKey, _ new: Record?, _ difference: inout SetDifference<Record>
  ) {
    let old = rows[key]
    switch (old, new) {
    case (nil, nil): return
    case (nil, .some(let new)): difference.inserted.append(new)
    case (.some(let old), nil): difference.deleted.append(old)
    case (.some(let old), .some(let new)):
      guard old != new else { return }
      difference.updated.append(.init(old: old, new: new))
    }
    rows[key] = new
  }

  /// Reads the whole result and compares it.
  private mutating func rerun(
    _ plan: QueryPlan, _ connection: DatabaseConnection
  ) throws(DatabaseError) -> SetDifference<Record> {
    let statement = try connection.cachedStatement(plan.sql)
    defer { statement.reset() }
    try statement.bind(plan.parameters)
    var current: [RowKey: Record] = [:]
    current.reserveCapacity(rows.count)
    while try statement.step() {
      let record = Record(uncheckedLayout: plan.layout, values: try statement.values())
      let key = try plan.checkedKey(of: record)
      guard current.updateValue(record, forKey: key) == nil else {
        throw plan.duplicateError(key)
      }
    }
    defer { rows = current }
    return KeyedResult.difference(from: rows, to: current)
  }

  private static func difference(
    from old: [RowKey: Record], to new: [RowKey: Record]
  ) -> SetDifference<Record> {
    var inserted: [(key: RowKey, record: Record)] = []
    var updated: [(key: RowKey, update: SetDifference<Record>.Update)] = []
    var deleted: [(key: RowKey, record: Record)] = []
    for (key, record) in new {
      guard let before = old[key] else {
        inserted.append((key, record))
        continue
      }
      if before != record { updated.append((key, .init(old: before, new: record))) }
    }
    if new.count - inserted.count < old.count {
      for (key, record) in old where new[key] == nil { deleted.append((key, record)) }
    }
    return SetDifference(
      inserted: inserted.sorted { $0.key < $1.key }.map(\.record),
      updated: updated.sorted { $0.key < $1.key }.map(\.update),
      deleted: deleted.sorted { $0.key < $1.key }.map(\.record))
  }
}
