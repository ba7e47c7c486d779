internal import CSQLite
internal import Synchronization
package import TandemRecords

/// Decodes records that are no longer rows of a statement as the type decodes such rows: SQLite
/// gets the values as parameters and returns them as a row.
package final class DetachedRecordDecoder<Row: RowDecodable & Sendable>: Sendable {
  fileprivate struct Cache {
    let connection: DatabaseConnection
    var layout: RecordLayout?
    var entry: CachedStatement?
  }

  private let cache = Mutex<Cache?>(nil)

  /// A decoder that opens its database, in memory, with the first row.
  package init(_ type: Row.Type) {}

  /// The value of a row.
  ///
  /// - Throws: ``DatabaseError``; the error that the type's `init(row:)` throws.
  package func decode(_ record: Record) throws -> Row {
    try cache.withLock { cache in
      if cache == nil { cache = Cache(connection: try DatabaseConnection(path: ":memory:")) }
      guard let entry = try cache?.statement(for: record.layout) else {
        preconditionFailure("The cache has just been filled")
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

extension DetachedRecordDecoder.Cache {
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

/// Encodes values of a type of records without writing them to a table.
package final class DetachedRecordEncoder<Row: DatabaseRecord & Sendable>: Sendable {
  private struct Cache {
    let connection: DatabaseConnection
    let statement: RecordStatement
    var layout: RecordLayout?
  }

  private let cache = Mutex<Cache?>(nil)

  /// An encoder that opens its database, in memory, with the first record.
  package init(_ type: Row.Type) {}

  /// The columns of a record and their values.
  ///
  /// - Throws: ``DatabaseError``; the error that the record's `encode(to:)` throws.
  package func record(of row: Row) throws -> Record {
    try cache.withLock { cache in
      if cache == nil {
        let connection = try DatabaseConnection(path: ":memory:")
        cache = Cache(
          connection: connection,
          statement: try RecordStatement(connection.handle, Row.self, .show))
      }
      guard let statement = cache?.statement else {
        preconditionFailure("The cache has just been filled")
      }
      var encoder = RowEncoder(statement)
      try row.encode(to: &encoder)
      let (names, values) = try statement.values(boundCount: encoder.position)
      if cache?.layout?.names != names { cache?.layout = RecordLayout(names) }
      guard let layout = cache?.layout, let record = Record(layout: layout, values: values) else {
        throw DatabaseError(
          code: .mismatch, message: "\(Row.self) names a column twice", path: ":memory:")
      }
      return record
    }
  }
}
