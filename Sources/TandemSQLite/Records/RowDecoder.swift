internal import CSQLite
internal import TandemDifferences
public import TandemRecords

/// Decodes the columns of the current row, one after the other.
public struct RowDecoder: ~Copyable {
  private let statement: Statement
  /// The statement's handle, without an indirection for each row.
  @usableFromInline let handle: OpaquePointer
  private(set) var plan: RowPlan?
  /// The plan's columns.
  @usableFromInline private(set) var columns: UnsafePointer<Int32>?
  @usableFromInline private(set) var columnCount: Int32 = 0
  @usableFromInline var position: Int32 = 0

  init(_ statement: Statement) {
    self.statement = statement
    handle = statement.handle
  }

  /// Finds the columns by a plan, from the first row on.
  mutating func follow(_ plan: RowPlan) {
    self.plan = plan
    columns = plan.columns
    columnCount = plan.columnCount
  }

  /// Moves to the next row.
  mutating func advance() throws(DatabaseError) -> Bool {
    position = 0
    return sqlite3_step(handle) == SQLITE_ROW ? true : try statement.endSteps()
  }

  /// The value of the next column.
  ///
  /// - Throws: ``DatabaseError``: `mismatch` if the column holds none of this type, `range` if
  ///   there is no further column.
  @inlinable
  public mutating func next<Value: DatabaseValue>(
    _ type: Value.Type = Value.self
  ) throws(DatabaseError) -> Value {
    let reader = try nextColumn()
    guard let value = Value(column: reader) else { throw mismatch(reader, type) }
    return value
  }

  /// The value of the next column as any `Decodable` type, of the form that the row's
  /// ``RowDecodable/recordCoding`` states.
  ///
  /// - Throws: ``DatabaseError`` as ``next(_:)``; the error that the type's `init(from:)` throws.
  public mutating func next<Value: Decodable>(
    decoding type: Value.Type
  ) throws -> Value {
    _ = try nextColumn()
    return try statement.decode(type, at: lastColumn, coding)
  }

  /// The value of the column with this name, wherever it is in the query.
  ///
  /// <!-- Snippets/DatabaseCodeInComments.swift column -->
  /// ```swift
  /// let name: String = try row["name"]
  /// ```
  ///
  /// - Throws: ``DatabaseError`` with code `mismatch` if there is no such column, or if it holds no
  ///   value of this type.
  public subscript<Value: DatabaseValue>(name: String) -> Value {
    get throws(DatabaseError) {
      try statement.decode(Value.self, at: try place(of: name, Value.self))
    }
  }

  /// The value of the column with this name as any `Decodable` type, of the form that the row's
  /// ``RowDecodable/recordCoding`` states.
  ///
  /// <!-- Snippets/DatabaseCodeInComments.swift decoding -->
  /// ```swift
  /// let tags: [String] = try row[decoding: "tags"]
  /// ```
  ///
  /// - Throws: ``DatabaseError`` as for ``subscript(_:)``; the error that `init(from:)` throws.
  public subscript<Value: Decodable>(decoding name: String) -> Value {
    get throws { try statement.decode(Value.self, at: try place(of: name, Value.self), coding) }
  }

  private func place(of name: String, _ type: Any.Type) throws(DatabaseError) -> Int {
    let place =
      plan.map { $0.place(of: name, statement) }
      ?? statement.columnNames.firstIndex(where: name.isSameSQLName)
    guard let place else { throw statement.missingColumn(name, type) }
    return place
  }

  private var coding: RecordCoding { plan?.coding ?? RecordCoding() }

  /// A value of a `Decodable` type, whose keys are the names of the columns.
  ///
  /// - Throws: The error that the type's `init(from:)` throws; ``DatabaseError`` as ``next(_:)``.
  @inlinable
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    try Value(from: keyedDecoder())
  }

  /// All columns of the current row.
  fileprivate func record() throws(DatabaseError) -> Record {
    guard let plan else { preconditionFailure("The cursor finds the columns with the first row") }
    return Record(
      uncheckedLayout: try plan.recordLayout(statement), values: try statement.values())
  }

  @usableFromInline
  func keyedDecoder() -> any Decoder {
    plan?.keyedDecoder(statement) ?? KeyedRowDecoder(statement, coding)
  }

  @inlinable
  @inline(__always)
  mutating func nextColumn() throws(DatabaseError) -> ColumnReader {
    guard position < columnCount else { throw missingColumn() }
    let column = columns?[Int(position)] ?? position
    position &+= 1
    return ColumnReader(handle, column)
  }

  @usableFromInline
  func missingColumn() -> DatabaseError {
    DatabaseError(
      code: .range, message: "the row has only \(columnCount) columns to decode",
      sql: statement.sql, path: statement.database.path)
  }

  @usableFromInline
  func mismatch(_ reader: ColumnReader, _ type: Any.Type) -> DatabaseError {
    statement.mismatch(reader, type, at: lastColumn)
  }

  /// The place of the column that was decoded last.
  private var lastColumn: Int {
    let offset = Int(position) - 1
    return columns.map { Int($0[offset]) } ?? offset
  }

  /// An error of the current row, with the key of the row if its type has one.
  @usableFromInline
  func located(_ error: any Error, _ type: Any.Type) -> any Error {
    guard var located = error as? DatabaseError, located.code == .mismatch,
      let record = type as? any DatabaseRecord.Type
    else { return error }
    let names = statement.columnNames
    let key = record.keyColumnNames.compactMap { name -> String? in
      guard let place = names.firstIndex(where: name.isSameSQLName),
        let value = try? statement.value(at: place)
      else { return nil }
      return "\(name) \(DescriptionLimit.text(value))"
    }
    if !key.isEmpty { located.message += ", in the row with \(key.joined(separator: ", "))" }
    return located
  }
}

/// A row of any query as a record, whose fields are the columns, with the exact values stored:
///
/// <!-- Snippets/DatabaseCodeInComments.swift records -->
/// ```swift
/// let records: [Record] = try transaction.fetchAll("SELECT * FROM place")
/// ```
extension Record: RowDecodable {
  /// None: a record takes the columns of the query as they come.
  public static var columnNames: [String] { [] }

  /// All columns of the current row.
  ///
  /// - Throws: ``DatabaseError`` with code `mismatch` if two columns have the same name, or a text
  ///   is not valid UTF-8.
  public init(row: inout RowDecoder) throws { self = try row.record() }
}

/// The rows of a query, one at a time; memory does not grow with their number.
///
/// It cannot leave its closure.
public struct RecordCursor<Row: RowDecodable>: ~Copyable {
  private let entry: CachedStatement
  @usableFromInline var decoder: RowDecoder

  @usableFromInline
  init(_ entry: CachedStatement) {
    self.entry = entry
    decoder = RowDecoder(entry.statement)
  }

  /// The next row, or `nil` at the end.
  ///
  /// - Throws: ``DatabaseError``; the error that the type's `init(row:)` throws.
  @inlinable
  public mutating func next() throws -> Row? {
    guard try advance() else { return nil }
    do {
      return try Row(row: &decoder)
    } catch {
      throw decoder.located(error, Row.self)
    }
  }

  @usableFromInline
  mutating func advance() throws(DatabaseError) -> Bool {
    guard try decoder.advance() else { return false }
    if decoder.plan == nil { decoder.follow(try RowPlan.find(Row.self, entry)) }
    return true
  }
}
