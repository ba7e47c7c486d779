internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// A row of a list, with its key.
struct KeyedRecord: Equatable, Sendable {
  var key: RowKey
  var record: Record
}

/// The state of a run that delivers lists, or what changed between them.
struct ListState<Output: Sendable>: LiveState {
  private var query: PlannedQuery
  private var list: [KeyedRecord] = []
  private var isFirst = true
  private let present: @Sendable (_ old: [KeyedRecord], _ new: [KeyedRecord]) throws -> Output

  init(
    _ definition: QueryDefinition,
    present: @escaping @Sendable (_ old: [KeyedRecord], _ new: [KeyedRecord]) throws -> Output
  ) {
    query = PlannedQuery(definition)
    self.present = present
  }

  mutating func advance(_ changes: CommittedChanges, _ reading: LiveReading) throws -> Output? {
    let plan = try query.plan(reading).plan
    let new = try ListState.read(plan, reading.connection)
    let old = list
    guard isFirst || new != old else { return nil }
    isFirst = false
    list = new
    return try present(old, new)
  }

  private static func read(
    _ plan: QueryPlan, _ connection: DatabaseConnection
  ) throws(DatabaseError) -> [KeyedRecord] {
    let statement = try connection.cachedStatement(plan.sql)
    defer { statement.reset() }
    try statement.bind(plan.parameters)
    var rows: [KeyedRecord] = []
    while try statement.step() {
      let record = Record(uncheckedLayout: plan.layout, values: try statement.values())
      rows.append(
        KeyedRecord(key: try plan.checkedKey(of: record), record: record))
    }
    return rows
  }
}
