public import TandemRecords
public import TandemSQLite

extension DatabaseMirror {
  /// Makes the table equal to values in one transaction; blocks this thread.
  ///
  /// Each value becomes a record with a field for each of its keys. See ``run(_:into:progress:)``.
  ///
  /// - Parameters:
  ///   - values: The list, in any order.
  ///   - database: The database.
  ///   - coding: The forms of dates, and of values that are no plain fields.
  /// - Throws: As for records; ``/TandemRecords/RecordError`` for a value that is no record, with its
  ///   position in the list. Nothing is changed then.
  @discardableResult
  public func run(
    _ values: [some Encodable], into database: Database, coding: RecordCoding = RecordCoding()
  ) throws -> Outcome {
    try run(Self.records(values, coding), into: database)
  }

  /// The same without blocking this thread. Cancelling the task rolls the transaction back.
  @discardableResult
  public func run(
    _ values: [some Encodable & Sendable], into database: Database,
    coding: RecordCoding = RecordCoding()
  ) async throws -> Outcome {
    try await run(Self.records(values, coding), into: database)
  }

  /// Makes the table equal to values as a part of a transaction, in a savepoint. See
  /// ``run(_:in:progress:)``.
  @discardableResult
  public func run(
    _ values: [some Encodable], in transaction: borrowing WriteTransaction,
    coding: RecordCoding = RecordCoding()
  ) throws -> Outcome {
    try run(Self.records(values, coding), in: transaction)
  }

  private static func records(
    _ values: [some Encodable], _ coding: RecordCoding
  ) throws -> [Record] {
    try values.enumerated().map { position, value in
      do {
        return try Record(encoding: value, coding: coding)
      } catch var error as RecordError {
        error.message = "element \(position): \(error.message)"
        throw error
      }
    }
  }
}
