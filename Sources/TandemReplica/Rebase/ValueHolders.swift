internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// Finds the rows that have unique values which versions of other rows need.
///
/// SQLite decides which rows these are: `REPLACE` removes exactly them, whatever the unique index is made
/// of. This is tried in a savepoint that is rolled back.
struct ValueHolders {
  private let tables: ReplicaTables
  private var stages: [String: ContestStage] = [:]

  init(_ tables: ReplicaTables) { self.tables = tables }

  /// The rows that prevent the version of a placement; `nil` if one of them is unknown, or if something
  /// else prevents it. Call it only while removed rows are noted (``ReplicaTables/notingRemovedRows(_:)``).
  mutating func rows(inTheWayOf placement: RowPlacement) throws -> [SyncKey]? {
    guard let record = placement.result else { return [] }
    let (table, key) = (placement.table, placement.key)
    let stage = try stage(of: table)
    let place: FieldValue? = placement.row.row.isMissing ? nil : 0
    var found: (keys: [[FieldValue]], unreadable: [Int]) = ([], [])
    do {
      try tables.connection.savepoint {
        if let place {
          try tables.run(stage.keep, key + [place])
          try tables.run(table.statements.delete, key)
        }
        try tables.run(stage.forgetRemoved, [])
        let (sql, values) = stage.insertion(of: record, key, "REPLACE", from: place, number: 0)
        try tables.run(sql, values)
        let (keys, unreadable) = try tables.readableRows(stage.removed, [])
        found = (keys, unreadable)
        throw Undone()
      }
    } catch is Undone {
    } catch let error as DatabaseError
      where error.forbidsRow && tables.connection.isInTransaction
    {
      return nil
    }
    guard found.unreadable.isEmpty, !found.keys.contains(where: { $0.contains(where: \.isNull) })
    else { return nil }
    return found.keys.map(table.syncKey)
  }

  private struct Undone: Error {}

  /// Drops the temporary tables.
  func drop() throws {
    for stage in stages.values { try stage.drop(tables.connection) }
  }

  private mutating func stage(of table: ReplicaTable) throws -> ContestStage {
    if let stage = stages[table.name] { return stage }
    let stage = try ContestStage(table, number: stages.count, tables)
    stages[table.name] = stage
    return stage
  }
}

extension ReplicaTables {
  /// Runs `body` without triggers of the application. Each ``ContestStage`` notes the rows that `REPLACE`
  /// removes meanwhile.
  func notingRemovedRows<Value>(_ body: () throws -> Value) throws -> Value {
    try quietly {
      // Only so do triggers run for rows that `REPLACE` removes. SQLite compiles all statements again when
      // the setting is written.
      guard try connection.integer("PRAGMA recursive_triggers") != 1 else { return try body() }
      try connection.execute("PRAGMA recursive_triggers = 1")
      defer { try? connection.execute("PRAGMA recursive_triggers = 0") }
      return try body()
    }
  }
}
