import TandemSQLite

/// One random transaction, for any program to run.
struct FuzzTransaction {
  /// The statements, each of which may violate a constraint and then does nothing.
  var statements: [String] = []
  var rollsBack: Bool

  init(_ world: inout FuzzWorld) {
    let kind = Int.random(in: 0..<100, using: &world.random)
    rollsBack = kind > 95
    if kind < 2 { statements.append(world.schemaChange()) }
    statements.append(world.statement())
    let others = (0..<Int.random(in: 0...3, using: &world.random)).map { _ in world.statement() }
    switch kind {
    case 80..<85: statements += ["SAVEPOINT s"] + others + ["RELEASE s"]
    case 85...: statements += ["SAVEPOINT s"] + others + ["ROLLBACK TO s", "RELEASE s"]
    default: statements += others
    }
  }

  /// Runs it in a transaction that is open.
  ///
  /// - Throws: `CancellationError` if it is to be rolled back.
  func run(in connection: DatabaseConnection, noting census: inout FuzzCensus) throws {
    let before = try connection.integer("SELECT total_changes()") ?? 0
    var changeCount = 0
    for sql in statements {
      do throws(DatabaseError) {
        try connection.execute(sql)
      } catch {
        // Another process may have yet to add the column.
        let isExpected =
          [.constraint, .mismatch].contains(error.code.primary)
          || error.message == "no such column: c1"
        if error.message == "stopped" { census.stoppedCount += 1 }
        guard isExpected else { throw error }
        continue
      }
      if ["INSERT", "UPDATE", "DELETE"].contains(where: sql.hasPrefix) {
        changeCount += connection.changeCount
        if connection.changeCount > 0 { census.note(sql) }
      } else {
        census.note(sql)
      }
    }
    census.transactionCount += 1
    let after = try connection.integer("SELECT total_changes()") ?? 0
    // What was changed by no statement itself.
    if after - before > changeCount { census.followedCount += 1 }
    if rollsBack {
      census.rolledBackCount += 1
      throw CancellationError()
    }
  }

  /// The same for SQLite's shell, with more statements at its end.
  func script(_ more: String...) -> String {
    (["BEGIN IMMEDIATE"] + statements + more + [rollsBack ? "ROLLBACK" : "COMMIT"])
      .map { $0 + ";\n" }.joined()
  }
}

/// How often what happened, so that a fuzzer that does nothing is noticed.
struct FuzzCensus: Equatable {
  var transactionCount = 0
  var rolledBackCount = 0
  /// How many had cascades or triggers that changed rows.
  var followedCount = 0
  var keyUpdateCount = 0
  var replacementCount = 0
  var schemaChangeCount = 0
  var savepointCount = 0
  var undoneSavepointCount = 0
  /// How many statements a trigger stopped after they had written a row.
  var stoppedCount = 0

  /// Counts a statement that succeeded.
  mutating func note(_ sql: String) {
    if sql.contains("SET k =") || sql.contains("id = id + 1") { keyUpdateCount += 1 }
    if sql.contains("OR REPLACE") { replacementCount += 1 }
    if sql.hasPrefix("ALTER") || sql.contains("INDEX") || sql.contains("TRIGGER") {
      schemaChangeCount += 1
    }
    if sql.hasPrefix("SAVEPOINT") { savepointCount += 1 }
    if sql.hasPrefix("ROLLBACK TO") { undoneSavepointCount += 1 }
  }

  static func + (first: FuzzCensus, second: FuzzCensus) -> FuzzCensus {
    var sum = first
    sum.transactionCount += second.transactionCount
    sum.rolledBackCount += second.rolledBackCount
    sum.followedCount += second.followedCount
    sum.keyUpdateCount += second.keyUpdateCount
    sum.replacementCount += second.replacementCount
    sum.schemaChangeCount += second.schemaChangeCount
    sum.savepointCount += second.savepointCount
    sum.undoneSavepointCount += second.undoneSavepointCount
    sum.stoppedCount += second.stoppedCount
    return sum
  }

  /// What must have happened at least five times in a thousand transactions and did not; empty if all did.
  var missing: [String] {
    let counts = [
      ("rollbacks", rolledBackCount), ("cascades and triggers", followedCount),
      ("key updates", keyUpdateCount), ("replacements", replacementCount),
      ("schema changes", schemaChangeCount),
      ("savepoints kept", savepointCount - undoneSavepointCount),
      ("savepoints undone", undoneSavepointCount), ("statements stopped", stoppedCount),
    ]
    return counts.filter { $0.1 * 200 < transactionCount }.map { "\($0.0): \($0.1)" }
  }
}
