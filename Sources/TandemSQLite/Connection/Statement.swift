internal import CSQLite
package import TandemRecords

/// A compiled statement of one connection.
///
/// Parameters are bound, never spliced into the text. ``step()`` moves to the next row, whose
/// columns are read until the next step. A statement keeps its database open.
package final class Statement {
  /// The text it was compiled from.
  package let sql: String
  let handle: OpaquePointer
  let database: DatabaseHandle

  init(_ sql: String, database: DatabaseHandle) throws(DatabaseError) {
    var sql = sql
    var handle: OpaquePointer?
    var hasMore = false
    let result = sql.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { text in
        var tail: UnsafePointer<CChar>?
        let result = sqlite3_prepare_v3(
          database.pointer, text.baseAddress, Int32(clamping: text.count), 0, &handle, &tail)
        if let base = text.baseAddress, let tail {
          hasMore = Statement.holdsStatement(bytes[(tail - base)...])
        }
        return result
      }
    }
    guard result == SQLITE_OK else { throw database.error(result, sql: sql) }
    guard let handle, !hasMore else {
      sqlite3_finalize(handle)
      let message = handle == nil ? "the statement is empty" : "more than one statement"
      throw DatabaseError(code: .error, message: message, sql: sql, path: database.path)
    }
    self.sql = sql
    self.handle = handle
    self.database = database
    database.statementCount += 1
  }

  deinit { sqlite3_finalize(handle) }

  /// True if a text holds more than white space, semicolons and comments.
  private static func holdsStatement(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    !skippingComments(text).isEmpty
  }

  /// A text from its first statement on: without the white space and comments that SQLite skips.
  static func skippingComments<Text: Collection<UInt8>>(_ text: Text) -> Text.SubSequence {
    var rest = text[...]
    while let byte = rest.first {
      switch byte {
      case UInt8(ascii: ";"), UInt8(ascii: " "), 9...13: rest = rest.dropFirst()
      case UInt8(ascii: "-") where rest.starts(with: "--".utf8):
        rest = rest.drop { $0 != UInt8(ascii: "\n") }
      case UInt8(ascii: "/") where rest.starts(with: "/*".utf8):
        rest = rest.dropFirst(2)
        while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest = rest.dropFirst() }
        rest = rest.dropFirst(2)
      case 0xEF where rest.starts(with: "\u{FEFF}".utf8): rest = rest.dropFirst(3)
      default: return rest
      }
    }
    return rest
  }
}

// MARK: - Parameters

extension Statement {
  /// Binds values to the parameters 1, 2, … in order, those of the second array after those of the
  /// first; the statement must have as many.
  ///
  /// - Throws: ``DatabaseError`` with code `range` if the counts differ.
  package func bind(_ values: [FieldValue], _ others: [FieldValue] = []) throws(DatabaseError) {
    let count = values.count + others.count
    guard count == Int(sqlite3_bind_parameter_count(handle)) else {
      throw DatabaseError(
        code: .range,
        message: "\(count) values for \(sqlite3_bind_parameter_count(handle)) parameters",
        sql: sql, path: database.path)
    }
    for offset in values.indices { try bind(values[offset], at: offset + 1) }
    for offset in others.indices { try bind(others[offset], at: values.count + offset + 1) }
  }

  /// Binds one value to the parameter at `position`, counted from 1.
  package func bind(_ value: FieldValue, at position: Int) throws(DatabaseError) {
    let position = Int32(clamping: position)
    let result: Int32
    switch value {
    case .null: result = sqlite3_bind_null(handle, position)
    case .integer(let number): result = sqlite3_bind_int64(handle, position, number)
    case .real(let number): result = sqlite3_bind_double(handle, position, number)
    case .text(let text): result = Statement.bind(text, to: handle, at: position)
    case .blob(let bytes): result = Statement.bind(bytes, to: handle, at: position)
    }
    guard result == SQLITE_OK else { throw database.error(result, sql: sql) }
  }

  /// Binds a copy of a text; returns SQLite's result code.
  @discardableResult
  static func bind(_ text: String, to handle: OpaquePointer, at position: Int32) -> Int32 {
    var text = text
    return text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { text in
        text.isEmpty
          ? sqlite3_bind_text(handle, position, "", 0, csqlite_transient())
          : sqlite3_bind_text64(
            handle, position, text.baseAddress, UInt64(text.count), csqlite_transient(),
            UInt8(SQLITE_UTF8))
      }
    }
  }

  /// Binds a copy of a blob; returns SQLite's result code.
  @discardableResult
  static func bind(_ blob: [UInt8], to handle: OpaquePointer, at position: Int32) -> Int32 {
    blob.withUnsafeBytes { bytes in
      // A null pointer would bind null; an empty blob needs another address.
      bytes.count == 0
        ? sqlite3_bind_zeroblob(handle, position, 0)
        : sqlite3_bind_blob64(
          handle, position, bytes.baseAddress, UInt64(bytes.count), csqlite_transient())
    }
  }

  /// Makes all parameters null.
  package func clearBindings() { sqlite3_clear_bindings(handle) }
}

// MARK: - Rows

extension Statement {
  /// Moves to the next row; `false` when there is none, and the statement is reset.
  package func step() throws(DatabaseError) -> Bool {
    sqlite3_step(handle) == SQLITE_ROW ? true : try endSteps()
  }

  /// Resets the statement after a step that returned no row: `false` if there are no more rows;
  /// otherwise throws the error of that step.
  func endSteps() throws(DatabaseError) -> Bool {
    // Resetting returns the last step's result again.
    let result = sqlite3_reset(handle)
    guard result == SQLITE_OK else { throw database.error(result, sql: sql) }
    return false
  }

  /// Runs the statement to its end with the given parameters in order.
  package func run(_ values: [FieldValue]) throws(DatabaseError) {
    reset()
    try bind(values)
    while try step() {}
  }

  /// Makes the next step start from the beginning; parameters stay.
  package func reset() { sqlite3_reset(handle) }

  /// The number of columns of a row.
  package var columnCount: Int { Int(sqlite3_column_count(handle)) }

  /// The names of the columns, in order.
  package var columnNames: [String] {
    (0..<sqlite3_column_count(handle)).map { String(cString: sqlite3_column_name(handle, $0)) }
  }

  /// The value of a column of the current row.
  ///
  /// - Throws: ``DatabaseError`` with code `mismatch` if a text is not valid UTF-8; with code
  ///   `range` if there is no such column, or no current row.
  package func value(at column: Int) throws(DatabaseError) -> FieldValue {
    let count = Int(sqlite3_data_count(handle))
    guard (0..<count).contains(column) else {
      throw DatabaseError(
        code: .range,
        message: count == 0
          ? "there is no current row to read from" : "no column \(column) among \(count)",
        sql: sql, path: database.path)
    }
    return try uncheckedValue(at: column)
  }

  private func uncheckedValue(at column: Int) throws(DatabaseError) -> FieldValue {
    guard let value = self.column(column).fieldValue else {
      throw DatabaseError(
        code: .mismatch,
        message: "the text in column \(columnNames[column]) is not valid UTF-8; "
          + "store it as a blob, or repair it", sql: sql, path: database.path)
    }
    return value
  }

  /// All values of the current row; none if there is no current row.
  ///
  /// - Throws: ``DatabaseError`` with code `mismatch` if a text is not valid UTF-8.
  package func values() throws(DatabaseError) -> [FieldValue] {
    try values(in: 0..<Int(sqlite3_data_count(handle)))
  }

  /// The values of some columns of the current row.
  ///
  /// - Throws: As ``value(at:)``.
  package func values(in columns: Range<Int>) throws(DatabaseError) -> [FieldValue] {
    if columns.upperBound > Int(sqlite3_data_count(handle)) {
      _ = try value(at: columns.upperBound - 1)
    }
    var values: [FieldValue] = []
    values.reserveCapacity(columns.count)
    for column in columns { values.append(try uncheckedValue(at: column)) }
    return values
  }

  /// A column of the current row, where it stands.
  func column(_ column: Int) -> ColumnValue {
    ColumnValue(sqlite3_column_value(handle, Int32(truncatingIfNeeded: column)))
  }
}
