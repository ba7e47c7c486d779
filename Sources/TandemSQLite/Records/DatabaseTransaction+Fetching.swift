extension DatabaseTransaction {
  /// The rows of a query, in its order.
  ///
  /// <!-- Snippets/DatabaseCodeInComments.swift counts -->
  /// ```swift
  /// let names: [NameCount] = try transaction.fetchAll(
  ///   "SELECT name, count(*) AS count FROM place GROUP BY name")
  /// ```
  ///
  /// - Throws: ``DatabaseError``; the error that the type's `init(row:)` throws.
  @inlinable
  public func fetchAll<Row: RowDecodable>(
    _ sql: SQL, as type: Row.Type = Row.self
  ) throws -> [Row] {
    try withCursor(sql, as: type) { cursor in
      var rows: [Row] = []
      while let row = try cursor.next() { rows.append(row) }
      return rows
    }
  }

  /// The first row of a query, or `nil`.
  ///
  /// - Throws: ``DatabaseError``; the error that the type's `init(row:)` throws.
  @inlinable
  public func fetchOne<Row: RowDecodable>(
    _ sql: SQL, as type: Row.Type = Row.self
  ) throws -> Row? {
    try withCursor(sql, as: type) { cursor in try cursor.next() }
  }

  /// Calls `body` with a cursor over the rows of a query.
  ///
  /// <!-- Snippets/DatabaseCodeInComments.swift cursor -->
  /// ```swift
  /// try transaction.withCursor("SELECT * FROM place", as: Place.self) { cursor in
  ///   while let place = try cursor.next() { print(place.name) }
  /// }
  /// ```
  ///
  /// - Throws: The error that `body` throws; ``DatabaseError``.
  @inlinable
  public func withCursor<Row: RowDecodable, Value>(
    _ sql: SQL, as type: Row.Type = Row.self,
    _ body: (inout RecordCursor<Row>) throws -> Value
  ) throws -> Value {
    let entry = try connection.checkOut(sql)
    defer { connection.checkIn(entry) }
    var cursor = RecordCursor<Row>(entry)
    return try body(&cursor)
  }
}

// MARK: - Records

extension DatabaseTransaction {
  /// The records of a table: all of them, or those that the clauses select.
  ///
  /// <!-- Snippets/DatabaseCodeInComments.swift where -->
  /// ```swift
  /// try transaction.fetchAll(Place.self, "WHERE latitude > \(limit) ORDER BY name")
  /// ```
  ///
  /// Without an ORDER BY, the order is arbitrary.
  ///
  /// - Throws: ``DatabaseError``; the error that the type's `init(row:)` throws.
  @inlinable
  public func fetchAll<Record: DatabaseRecord>(
    _ type: Record.Type, _ clauses: SQL = ""
  ) throws -> [Record] {
    try fetchAll(SQL(text: connection.selection(of: type)) + clauses)
  }

  /// The first record of a table that the clauses select, or `nil`.
  ///
  /// - Throws: ``DatabaseError``; the error that the type's `init(row:)` throws.
  @inlinable
  public func fetchOne<Record: DatabaseRecord>(
    _ type: Record.Type, _ clauses: SQL
  ) throws -> Record? {
    try fetchOne(SQL(text: connection.selection(of: type)) + clauses)
  }

  /// The record with this key, or `nil`: one value for each of the type's key columns.
  ///
  /// - Throws: ``DatabaseError``; the error that the type's `init(row:)` throws.
  @inlinable
  public func fetchOne<Record: DatabaseRecord, each Key: DatabaseValue>(
    _ type: Record.Type, key: repeat each Key
  ) throws -> Record? {
    var values: [SQL] = []
    repeat values.append(SQL.parameter(each key))
    return try fetchOne(
      SQL(text: connection.selection(of: type)) + SQL.whereKey(of: type, is: values))
  }

  /// Calls `body` with a cursor over the records of a table.
  ///
  /// - Throws: The error that `body` throws; ``DatabaseError``.
  @inlinable
  public func withCursor<Record: DatabaseRecord, Value>(
    _ type: Record.Type, _ clauses: SQL = "",
    _ body: (inout RecordCursor<Record>) throws -> Value
  ) throws -> Value {
    try withCursor(SQL(text: connection.selection(of: type)) + clauses, as: type, body)
  }
}
