internal import CSQLite
internal import TandemRecords

/// The places of one type's columns in the rows of one statement, found with its first row.
final class RowPlan {
  private let type: ObjectIdentifier
  let coding: RecordCoding
  private let preparationCount: Int32
  /// The number of columns that ``RowDecoder`` decodes.
  let columnCount: Int32
  /// Their places in the statement; `nil` if each is at its own place. Valid as long as this
  /// exists.
  let columns: UnsafePointer<Int32>?
  private var decoder: KeyedRowDecoder?
  private var recordLayout: RecordLayout?
  private var places: [String: Int] = [:]

  /// The plan of an earlier run of this statement, if it is still valid, or a new one.
  ///
  /// - Throws: ``DatabaseError`` with code `mismatch` for a column that the statement does not
  ///   have.
  static func find<Row: RowDecodable>(
    _ type: Row.Type, _ entry: CachedStatement
  ) throws(DatabaseError) -> RowPlan {
    let preparationCount = entry.statement.preparationCount
    if let plan = entry.plan, plan.type == ObjectIdentifier(type),
      plan.preparationCount == preparationCount
    {
      return plan
    }
    let plan = try RowPlan(type, entry.statement, preparationCount)
    entry.plan = plan
    return plan
  }

  private init<Row: RowDecodable>(
    _ type: Row.Type, _ statement: Statement, _ preparationCount: Int32
  ) throws(DatabaseError) {
    self.type = ObjectIdentifier(type)
    coding = Row.recordCoding
    self.preparationCount = preparationCount
    let names = statement.columnNames
    let wanted = Row.columnNames
    guard !wanted.isEmpty else {
      columnCount = Int32(truncatingIfNeeded: names.count)
      columns = nil
      return
    }
    var places: [Int32] = []
    for name in wanted {
      guard let place = names.firstIndex(where: name.isSameSQLName) else {
        throw statement.missingColumn(name, type)
      }
      places.append(Int32(truncatingIfNeeded: place))
    }
    columnCount = Int32(truncatingIfNeeded: places.count)
    guard !places.indices.allSatisfy({ places[$0] == $0 }) else {
      columns = nil
      return
    }
    let copy = UnsafeMutableBufferPointer<Int32>.allocate(capacity: places.count)
    _ = copy.initialize(from: places)
    columns = UnsafePointer(copy.baseAddress)
  }

  deinit { columns?.deallocate() }

  /// The layout of records that take all columns.
  ///
  /// - Throws: ``DatabaseError`` with code `mismatch` if two columns have the same name.
  func recordLayout(_ statement: Statement) throws(DatabaseError) -> RecordLayout {
    if let recordLayout { return recordLayout }
    guard let layout = RecordLayout(statement.columnNames) else {
      throw DatabaseError(
        code: .mismatch,
        message: "a record needs columns of different names, and there are: "
          + statement.columnNames.joined(separator: ", "), sql: statement.sql,
        path: statement.database.path)
    }
    recordLayout = layout
    return layout
  }

  /// The place of the column with a name, looked up once for each name.
  func place(of name: String, _ statement: Statement) -> Int? {
    if let place = places[name] { return place }
    let place = statement.columnNames.firstIndex(where: name.isSameSQLName)
    places[name] = place
    return place
  }

  func keyedDecoder(_ statement: Statement) -> KeyedRowDecoder {
    if let decoder { return decoder }
    let decoder = KeyedRowDecoder(statement, coding)
    self.decoder = decoder
    return decoder
  }
}

extension Statement {
  /// The number of times that SQLite compiled it again because the schema had changed.
  fileprivate var preparationCount: Int32 {
    sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_REPREPARE, 0)
  }

  func missingColumn(_ name: String, _ type: Any.Type) -> DatabaseError {
    DatabaseError(
      code: .mismatch,
      message: "\(type) wants a column \(name), but there are: "
        + columnNames.joined(separator: ", "), sql: sql, path: database.path)
  }
}
