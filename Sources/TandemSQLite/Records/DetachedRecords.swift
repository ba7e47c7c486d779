internal import CSQLite
internal import Synchronization
package import TandemRecords

/// Makes values of a type of rows that are no longer in a statement, as the type makes them of rows
/// that are: they are handed back to SQLite as parameters, and read from there.
package final class DetachedRecordDecoder<Row: RowDecodable & Sendable>: Sendable {
  fileprivate struct Course {
    let connection: DatabaseConnection
    var layout: RecordLayout?
    var entry: CachedStatement?
  }

  private let course = Mutex<Course?>(nil)

  /// A decoder that opens its database, in memory, with the first row.
  package init(_ type: Row.Type) {}

  /// The value of a row.
  ///
  /// - Throws: ``DatabaseError``; what the type's `init(row:)` throws.
  package func decode(_ record: Record) throws -> Row {
    try course.withLock { course in
      if course == nil { course = Course(connection: try DatabaseConnection(path: ":memory:")) }
      guard let entry = try course?.statement(for: record.layout) else {
        preconditionFailure("There is a course by now")
      }
      let statement = entry.statement
      statement.reset()
      try statement.bind(record.values)
      defer { statement.reset() }
      var cursor = RecordCursor<Row>(entry)
      guard let row = try cursor.next() else {
        preconditionFailure("A SELECT without FROM has one row")
      }
      return row
    }
  }
}

extension DetachedRecordDecoder.Course {
  /// The statement that returns its parameters as columns with the names of the layout.
  fileprivate mutating func statement(
    for layout: RecordLayout
  ) throws(DatabaseError) -> CachedStatement {
    if let entry, self.layout === layout { return entry }
    let sql = RecordOperation.show.sql(table: "", columns: layout.names, key: [])
    let entry = CachedStatement(try connection.prepare(sql))
    self.layout = layout
    self.entry = entry
    return entry
  }
}

/// Makes rows of records without writing them to a table.
package final class DetachedRecordEncoder<Row: DatabaseRecord & Sendable>: Sendable {
  private struct Course {
    let connection: DatabaseConnection
    let statement: RecordStatement
    var layout: RecordLayout?
  }

  private let course = Mutex<Course?>(nil)

  /// An encoder that opens its database, in memory, with the first record.
  package init(_ type: Row.Type) {}

  /// The columns of a record and their values.
  ///
  /// - Throws: ``DatabaseError``; what the record's `encode(to:)` throws.
  package func record(of row: Row) throws -> Record {
    try course.withLock { course in
      if course == nil {
        let connection = try DatabaseConnection(path: ":memory:")
        course = Course(
          connection: connection,
          statement: try RecordStatement(connection, Row.self, .show))
      }
      guard let statement = course?.statement else {
        preconditionFailure("There is a course by now")
      }
      var encoder = RowEncoder(statement)
      try row.encode(to: &encoder)
      let (names, values) = try statement.values(boundCount: encoder.position)
      if course?.layout?.names != names { course?.layout = RecordLayout(names) }
      guard let layout = course?.layout, let record = Record(layout: layout, values: values) else {
        throw DatabaseError(
          code: .mismatch, message: "\(Row.self) names a column twice", path: ":memory:")
      }
      return record
    }
  }
}
