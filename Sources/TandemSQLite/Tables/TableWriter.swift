package import TandemDifferences
package import TandemRecords

/// Writes changed records into a table. Each of them must change exactly one row; a row to be
/// deleted may be gone already.
package struct TableWriter {
  private let connection: DatabaseConnection
  private let table: String
  private let layout: RecordLayout
  private let keyOffsets: [Int]
  private let insertion: String
  private let condition: KeyCondition
  private let comparesTypes: Bool

  /// A writer for records of the given layout, whose fields are columns of the table.
  ///
  /// - Parameter comparesTypes: True if an update writes a number that changes its type alone.
  package init(
    _ connection: DatabaseConnection, table: String, columns: RecordLayout, key keyOffsets: [Int],
    comparesTypes: Bool = false
  ) {
    self.connection = connection
    self.comparesTypes = comparesTypes
    self.table = table.sqlQuoted
    self.keyOffsets = keyOffsets
    layout = columns
    let names = columns.names.map(\.sqlQuoted).joined(separator: ", ")
    let marks = columns.names.map { _ in "?" }.joined(separator: ", ")
    insertion = "INSERT INTO \(self.table) (\(names)) VALUES (\(marks))"
    condition = KeyCondition(columns: keyOffsets.map { columns.names[$0] })
  }

  /// Writes changes: deletions first and insertions last, so that values which must be unique are free
  /// again.
  ///
  /// - Parameters:
  ///   - schema: The table; `nil` if it was created in this transaction.
  ///   - progress: Called after every 1,000 changes and after the last one.
  package func write(
    deleted: some Collection<Record>, updated: some Collection<SetDifference<Record>.Update>,
    inserted: some Collection<Record>, schema: TableSchema?,
    progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
  ) throws(DatabaseError) {
    let count = deleted.count + updated.count + inserted.count
    var done = 0
    func advance() {
      done += 1
      if done % 1_000 == 0 || done == count { progress(done, count) }
    }
    for record in deleted {
      try delete(record)
      advance()
    }
    try update(updated, schema: schema, advance)
    guard !inserted.isEmpty else { return }
    try connection.withStatement(insertion) { statement throws(DatabaseError) in
      for record in inserted {
        try changeOne(statement, record.values, record)
        advance()
      }
    }
  }

  /// Writes updates. Those come last that want a unique value which another row still has.
  private func update(
    _ updates: some Collection<SetDifference<Record>.Update>, schema: TableSchema?,
    _ advance: () -> Void
  ) throws(DatabaseError) {
    var (blocked, error) = try attempt(updates, advance)
    if !blocked.isEmpty, blocked.count < updates.count {
      // Rows that all move by one place are free of each other in one direction.
      (blocked, error) = try attempt(blocked.reversed(), advance)
    }
    guard let error, let schema else { return }
    let key = keyOffsets.map { layout.names[$0] }
    let exchange = RowExchange(connection, table: schema, key: key, writer: self)
    try exchange.write(blocked, after: error)
    for _ in blocked { advance() }
  }

  /// Writes updates; returns those that want a unique value which another row has, and the first error.
  private func attempt(
    _ updates: some Collection<SetDifference<Record>.Update>, _ advance: () -> Void
  ) throws(DatabaseError) -> (blocked: [SetDifference<Record>.Update], DatabaseError?) {
    var blocked: [SetDifference<Record>.Update] = []
    var firstError: DatabaseError?
    for update in updates {
      do throws(DatabaseError) {
        try self.update(from: update.old, to: update.new)
        advance()
      } catch {
        guard error.isAboutUniqueness else { throw error }
        firstError = firstError ?? error
        blocked.append(update)
      }
    }
    return (blocked, firstError)
  }

  /// Inserts a row.
  package func insert(_ record: Record) throws(DatabaseError) {
    try connection.withStatement(insertion) { statement throws(DatabaseError) in
      try changeOne(statement, record.values, record)
    }
  }

  /// Writes those values of `new` that differ from `old`, whose key is the same.
  package func update(from old: Record, to new: Record) throws(DatabaseError) {
    let changed = layout.names.indices.filter { offset in
      isChanged(old.values[offset], new.values[offset]) && !keyOffsets.contains(offset)
    }
    guard !changed.isEmpty else { return }
    let list = changed.map { "\(layout.names[$0].sqlQuoted) = ?" }.joined(separator: ", ")
    let values = changed.map { new.values[$0] } + condition.parameters(key(of: old))
    try connection.withStatement("UPDATE \(table) SET \(list) WHERE \(condition.sql)") {
      statement throws(DatabaseError) in
      try changeOne(statement, values, old)
    }
  }

  private func isChanged(_ old: FieldValue, _ new: FieldValue) -> Bool {
    comparesTypes ? !old.hasSameStorage(as: new) : old != new
  }

  /// Deletes a row, unless a foreign key that cascades has deleted it along with another one.
  package func delete(_ record: Record) throws(DatabaseError) {
    let key = condition.parameters(key(of: record))
    try connection.withStatement("DELETE FROM \(table) WHERE \(condition.sql)") {
      statement throws(DatabaseError) in
      let count = try run(statement, key, record)
      if count == 0, try !hasRow(key) { return }
      guard count == 1 else { throw error(changing: count, statement, record) }
    }
  }

  private func key(of record: Record) -> [FieldValue] { keyOffsets.map { record.values[$0] } }

  private func hasRow(_ key: [FieldValue]) throws(DatabaseError) -> Bool {
    try connection.withStatement("SELECT 1 FROM \(table) WHERE \(condition.sql)") {
      statement throws(DatabaseError) in
      try statement.bind(key)
      return try statement.step()
    }
  }

  private func changeOne(
    _ statement: Statement, _ values: [FieldValue], _ record: Record
  ) throws(DatabaseError) {
    let count = try run(statement, values, record)
    guard count == 1 else { throw error(changing: count, statement, record) }
  }

  /// Runs a statement; returns how many rows it changed.
  private func run(
    _ statement: Statement, _ values: [FieldValue], _ record: Record
  ) throws(DatabaseError) -> Int {
    do throws(DatabaseError) {
      try statement.run(values)
      return connection.changeCount
    } catch {
      throw named(error, record)
    }
  }

  private func error(
    changing count: Int, _ statement: Statement, _ record: Record
  ) -> DatabaseError {
    let message =
      "\(count) rows of \(table) changed where one should, perhaps because of a trigger or of ON CONFLICT IGNORE"
    return named(
      DatabaseError(
        code: .constraint, message: message, sql: statement.sql, path: connection.path), record)
  }

  /// The error with the row's key in it.
  private func named(_ error: DatabaseError, _ record: Record) -> DatabaseError {
    var error = error
    error.message += ", for the row with key \(keyDescription(record))"
    return error
  }

  private func keyDescription(_ record: Record) -> String {
    keyOffsets.map { "\(layout.names[$0]) = \(record.values[$0])" }.joined(separator: ", ")
  }
}

extension DatabaseError {
  /// True if another row has a value that must be unique: SQLITE_CONSTRAINT_UNIQUE, _PRIMARYKEY or _ROWID.
  fileprivate var isAboutUniqueness: Bool { [2_067, 1_555, 2_579].contains(code.rawValue) }
}
