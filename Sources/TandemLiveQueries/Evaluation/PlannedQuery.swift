internal import TandemRecords
internal import TandemSQLite

/// A definition with its plan for the schema there is.
struct PlannedQuery {
  private let definition: QueryDefinition
  private var current: (plan: QueryPlan, schemaVersion: Int64)?

  init(_ definition: QueryDefinition) { self.definition = definition }

  /// The plan in the open snapshot, and whether it is another than last time.
  mutating func plan(
    _ reading: LiveReading
  ) throws(DatabaseError) -> (plan: QueryPlan, isNew: Bool) {
    let statement = try reading.connection.cachedStatement("PRAGMA schema_version")
    defer { statement.reset() }
    guard try statement.step(), case .integer(let version) = try statement.value(at: 0) else {
      preconditionFailure("SQLite always tells the version of the schema")
    }
    if let current, current.schemaVersion == version { return (current.plan, false) }
    let plan = try QueryPlan(definition, in: reading.connection)
    current = (plan, version)
    reading.setInterests(plan.interests)
    return (plan, true)
  }
}
