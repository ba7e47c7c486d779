internal import CSQLite
package import TandemRecords

/// A table read once, ascending by key as field values are: SQLite's BINARY collation of UTF-8.
///
/// The current row stays where SQLite keeps it, and only its key is copied, except by ``record()``.
/// Memory does not grow with the table, unless no index has the key's order and
/// SQLite must sort.
package final class TableScan {
  /// The columns read, in order; ``record()`` has them as fields.
  package let layout: RecordLayout
  let statement: Statement
  private let table: String
  private let keyOffsets: [Int]
  /// True if SQLite itself keeps the key unique, so that it need not be checked row by row.
  private let isKeyUnique: Bool
  /// True if an integer and a real of the same value count as different.
  private let comparesTypes: Bool
  private var lastKey: [FieldValue] = []
  private var isAtStart = true

  private let structured: Set<Int>
  private let cells: Set<Int>
  /// True if keys may be null and occur more than once.
  private let allowsAnyKey: Bool

  /// Prepares to read the given columns of a table, by the key columns among them; columns that the
  /// table does not have, which are `missing`, read as null. Texts of `structured` columns that are
  /// JSON arrays or objects are compared with those of records by structure. In columns of `cells`, a number
  /// and a text are equal if the same cell of CSV is either.
  package init(
    _ connection: DatabaseConnection, table schema: TableSchema, columns: RecordLayout,
    key keyOffsets: [Int], missing: Set<Int> = [], structured: Set<Int> = [],
    cells: Set<Int> = [], comparesTypes: Bool = false, allowsAnyKey: Bool = false
  ) throws(DatabaseError) {
    self.structured = structured
    self.cells = cells
    self.allowsAnyKey = allowsAnyKey
    let table = schema.name
    let keyNames = keyOffsets.map { columns.names[$0] }
    isKeyUnique =
      !schema.primaryKey.isEmpty
      && schema.primaryKey.allSatisfy { keyNames.contains(where: $0.isSameSQLName) }
    let list = columns.names.enumerated()
      .map { offset, name in missing.contains(offset) ? "NULL" : name.sqlQuoted }
      .joined(separator: ", ")
    let collation = try connection.utf8Collation()
    let order = keyOffsets.map { "\(columns.names[$0].sqlQuoted) COLLATE \(collation)" }
      .joined(separator: ", ")
    statement = try connection.prepare("SELECT \(list) FROM \(table.sqlQuoted) ORDER BY \(order)")
    layout = columns
    self.comparesTypes = comparesTypes
    self.table = table
    self.keyOffsets = keyOffsets
  }

  /// Moves to the next row; `false` at the end.
  ///
  /// - Throws: ``DatabaseError`` with code `constraint` for a key that is null or occurs twice, unless
  ///   any key is allowed.
  package func advance() throws(DatabaseError) -> Bool {
    guard try statement.step() else { return false }
    if allowsAnyKey { return true }
    try checkKeyIsWhole()
    if !isKeyUnique { try checkKeyIsNew() }
    return true
  }

  /// Nulls come first, so for the first column of the key it suffices to check the first row.
  private func checkKeyIsWhole() throws(DatabaseError) {
    let unchecked = isAtStart ? keyOffsets[...] : keyOffsets.dropFirst()
    isAtStart = false
    for offset in unchecked where statement.column(offset).isNull {
      throw keyError("a row of \(table) has no value in the key column \(layout.names[offset])")
    }
  }

  private func checkKeyIsNew() throws(DatabaseError) {
    if !lastKey.isEmpty, compareKey(to: lastKey) == 0 {
      throw keyError("two rows of \(table) have the same key \(try keyDescription())")
    }
    lastKey.removeAll(keepingCapacity: true)
    for offset in keyOffsets { lastKey.append(try statement.value(at: offset)) }
  }

  /// A copy of the current row.
  package func record() throws(DatabaseError) -> Record {
    Record(uncheckedLayout: layout, values: try statement.values())
  }

  /// Negative, zero or positive as the current row's key is less than, equal to or greater than the
  /// given one.
  package func compareKey(to key: [FieldValue]) -> Int {
    for (offset, value) in zip(keyOffsets, key) {
      let order = statement.column(offset).compare(to: value)
      if order != 0 { return order }
    }
    return 0
  }

  /// The same against the current row of another scan.
  package func compareKey(to other: TableScan) -> Int {
    for (offset, otherOffset) in zip(keyOffsets, other.keyOffsets) {
      let order = statement.column(offset).compare(to: other.statement.column(otherOffset))
      if order != 0 { return order }
    }
    return 0
  }

  /// True if the current row has the values of `record`, whose fields are the columns read.
  package func isEqual(to record: Record) -> Bool {
    record.values.withUnsafeBufferPointer { values in
      for offset in values.indices {
        let column = statement.column(offset)
        if column.compare(to: values[offset]) != 0 {
          guard
            structured.contains(offset) && isSameStructure(offset, values[offset])
              || cells.contains(offset) && isSameCell(offset, values[offset])
          else { return false }
        } else if comparesTypes, !column.hasSameStorage(as: values[offset]) {
          return false
        }
      }
      return true
    }
  }

  private func isSameStructure(_ offset: Int, _ value: FieldValue) -> Bool {
    guard case .text(let new) = value, case .text(let old)? = try? statement.value(at: offset)
    else {
      return false
    }
    return JSONStructure.areEqual(old, new)
  }

  private func isSameCell(_ offset: Int, _ value: FieldValue) -> Bool {
    guard let stored = try? statement.value(at: offset) else { return false }
    return value.isSameCell(inTable: stored)
  }

  /// Calls `body` with each change that leads from the table to a list, which is ascending by key; returns how
  /// many rows the table has.
  ///
  /// - Parameters:
  ///   - recordCount: The number of records in the list.
  ///   - record: Returns the record at a position in the list, with the columns read as its fields. Called once
  ///     for each position at the most, in ascending order.
  ///   - hasValues: Returns true if the record at a position certainly has the values of a row, which spares
  ///     making the record. `nil` if all are to be made.
  package func forEachChange(
    toRecords recordCount: Int, _ record: (_ position: Int) -> Record,
    hasValues: ((_ row: PackedRow, _ position: Int) -> Bool)? = nil, _ body: (TableChange) -> Void
  ) throws(DatabaseError) -> Int {
    var rowCount = 0
    var position = 0
    /// The record at the position, once it has been made.
    var next: Record?
    var row = PackedRow()
    func skip() {
      position += 1
      next = nil
    }
    rows: while try advance() {
      rowCount += 1
      if hasValues != nil {
        row.removeAll()
        statement.appendRow(to: &row)
      }
      while position < recordCount {
        if let hasValues, hasValues(row, position) {
          skip()
          continue rows
        }
        let candidate = next ?? record(position)
        let order = compareKey(toKeyOf: candidate)
        if order < 0 {
          next = candidate
          break
        }
        if order == 0 {
          if !isEqual(to: candidate) { body(.updated(old: try self.record(), new: position)) }
          skip()
          continue rows
        }
        body(.inserted(position))
        skip()
      }
      body(.deleted(try self.record()))
    }
    while position < recordCount {
      body(.inserted(position))
      position += 1
    }
    return rowCount
  }

  private func compareKey(toKeyOf record: Record) -> Int {
    for offset in keyOffsets {
      let order = statement.column(offset).compare(to: record.values[offset])
      if order != 0 { return order }
    }
    return 0
  }

  private func keyDescription() throws(DatabaseError) -> String {
    var parts: [String] = []
    for offset in keyOffsets { parts.append("\(try statement.value(at: offset))") }
    return parts.joined(separator: ", ")
  }

  private func keyError(_ message: String) -> DatabaseError {
    DatabaseError(
      code: .constraint, message: message + "; choose a key that is unique and never null",
      path: statement.database.path)
  }
}

extension ColumnValue {
  /// True unless one of two equal numbers is an integer and the other one a real.
  fileprivate func hasSameStorage(as value: FieldValue) -> Bool {
    if case .real = value { type == SQLITE_FLOAT } else { type != SQLITE_FLOAT }
  }
}

/// A change that leads from a table to a list of records, which are named by the number of records before them.
package enum TableChange {
  /// A record without a row.
  case inserted(Int)
  /// A row that differs from its record.
  case updated(old: Record, new: Int)
  /// A row without a record.
  case deleted(Record)
}
