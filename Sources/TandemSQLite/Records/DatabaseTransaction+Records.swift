extension DatabaseTransaction where Access == WriteAccess {
  /// Inserts a record.
  ///
  /// - Throws: ``DatabaseError``: `constraint` if its key is there already; the error that
  ///   the record's `encode(to:)` throws.
  @inlinable
  public func insert(_ record: some DatabaseRecord) throws {
    try insert(contentsOf: CollectionOfOne(record))
  }

  /// Inserts records, in order.
  ///
  /// If one fails, this throws, and the records before it stay in the transaction: rethrow the
  /// error, or use a ``savepoint(_:)``, to insert all or none.
  ///
  /// - Throws: As ``insert(_:)``.
  @inlinable
  public func insert<Records: Sequence>(
    contentsOf records: Records
  ) throws where Records.Element: DatabaseRecord {
    try connection.insert(records)
  }

  /// Inserts a record, or overwrites the one with its key. Other uniqueness constraints still hold.
  ///
  /// - Throws: ``DatabaseError``: `constraint`, or `error` if the key columns are not unique by
  ///   declaration; the error that the record's `encode(to:)` throws.
  @inlinable
  public func upsert(_ record: some DatabaseRecord) throws {
    try upsert(contentsOf: CollectionOfOne(record))
  }

  /// Inserts records, or overwrites those with their keys, in order.
  ///
  /// - Throws: As ``upsert(_:)``.
  @inlinable
  public func upsert(contentsOf records: some Sequence<some DatabaseRecord>) throws {
    try connection.write(records, .upsert) { _ in }
  }

  /// Overwrites the record with the same key.
  ///
  /// - Returns: True if there is one.
  /// - Throws: ``DatabaseError``: `constraint`; the error that the record's `encode(to:)` throws.
  @inlinable
  public func update(_ record: some DatabaseRecord) throws -> Bool {
    var isFound = false
    try connection.write(CollectionOfOne(record), .update) { count in isFound = count > 0 }
    return isFound
  }

  /// Deletes the record with the same key, whatever its other values are.
  ///
  /// - Returns: True if there was one.
  /// - Throws: ``DatabaseError``: `constraint`; the error that the record's `encode(to:)` throws.
  @inlinable
  public func delete(_ record: some DatabaseRecord) throws -> Bool {
    var isFound = false
    try connection.write(CollectionOfOne(record), .delete) { count in isFound = count > 0 }
    return isFound
  }

  /// Deletes the record with this key: one value for each of the type's key columns.
  ///
  /// - Returns: True if there was one.
  /// - Throws: ``DatabaseError``: `constraint`.
  @inlinable
  public func delete<Record: DatabaseRecord, each Key: DatabaseValue>(
    _ type: Record.Type, key: repeat each Key
  ) throws(DatabaseError) -> Bool {
    var values: [SQL] = []
    repeat values.append(SQL.parameter(each key))
    return try execute(
      "DELETE FROM \(identifier: type.tableName)" + SQL.whereKey(of: type, is: values)) > 0
  }
}

extension SQL {
  /// One parameter.
  @usableFromInline
  static func parameter(_ value: some DatabaseValue) -> SQL { "\(value)" }

  /// The clause that finds a record by its key: ` WHERE "a" = ? AND "b" = ?`. A null finds nothing.
  ///
  /// - Precondition: There are as many values as key columns: with fewer, more rows would be found.
  @usableFromInline
  static func whereKey<Record: DatabaseRecord>(
    of type: Record.Type, is values: [SQL]
  ) -> SQL {
    let names = Record.keyColumnNames
    precondition(
      values.count == names.count, "\(type) has the key columns \(names), not \(values.count)")
    var clause = SQL(text: "")
    for (name, value) in zip(names, values) {
      clause =
        clause + (clause.text.isEmpty ? " WHERE " : " AND ") + "\(identifier: name) = \(value)"
    }
    return clause
  }
}

extension DatabaseConnection {
  /// Inserts each record.
  @inlinable
  func insert<Records: Sequence>(
    _ records: Records
  ) throws where Records.Element: DatabaseRecord {
    switch try insertion(into: Records.Element.tableName, count: records.underestimatedCount) {
    case .plain: try write(records, .insert) { _ in }
    case .withoutUndo: try write(records, .insertWithoutUndo) { _ in }
    case .noted(let notes):
      try withoutTriggers(notes) { try write(records, .insert) { _ in try notes.didInsert() } }
    }
  }

  /// Runs an operation for each record, and calls `didWrite` with the number of rows that it
  /// changed.
  @inlinable
  func write<Records: Sequence>(
    _ records: Records, _ operation: RecordOperation,
    _ didWrite: (_ changedCount: Int) throws -> Void
  ) throws where Records.Element: DatabaseRecord {
    let statement = try statement(for: Records.Element.self, operation)
    var encoder = RowEncoder(statement)
    for record in records {
      try checkIsInTransaction()
      encoder.position = 0
      try record.encode(to: &encoder)
      try didWrite(try statement.run(boundCount: encoder.position))
    }
  }
}
