internal import CSQLite
internal import TandemRecords

/// The reads of a statement, as SQLite's authorizer reports them while it compiles.
package struct StatementReads: Sendable {
  /// The columns read of each table or view of the main database; the name of a column may be
  /// `ROWID`, or empty where only rows are counted.
  package var columns: [String: Set<String>] = [:]
  /// The functions called, in lower case.
  package var functions: Set<String> = []
  /// The number of `SELECT`s, including subqueries and common table expressions.
  package var selectCount = 0
  /// True if it does anything but read the main database: another database, a pragma, a change.
  package var reachesFurther = false
}

/// The column of a table that a result column is.
package struct ColumnOrigin: Hashable, Sendable {
  /// The table, as declared.
  package var table: String
  /// The column, as declared.
  package var column: String

  /// A column of a table of the main database.
  package init(table: String, column: String) {
    self.table = table
    self.column = column
  }
}

extension DatabaseConnection {
  /// Compiles a statement, and returns it with its reads.
  package func compile(
    _ sql: String
  ) throws(DatabaseError) -> (statement: Statement, reads: StatementReads) {
    let log = ReadLog()
    let context = Unmanaged.passUnretained(log).toOpaque()
    sqlite3_set_authorizer(
      handle.pointer,
      { context, action, first, second, database, _ in
        guard let context else { return SQLITE_OK }
        let log = Unmanaged<ReadLog>.fromOpaque(context).takeUnretainedValue()
        log.note(action, first, second, database: database)
        return SQLITE_OK
      }, context)
    defer { sqlite3_set_authorizer(handle.pointer, nil, nil) }
    return (try prepare(sql), withExtendedLifetime(log) { log.reads })
  }

  /// The tables of the main database that a statement opens, or of which it opens an index,
  /// including those of which no column is reported as read.
  package func openedTables(by sql: String) throws(DatabaseError) -> Set<String> {
    let listing = try prepare("EXPLAIN \(sql)")
    let name = try prepare("SELECT tbl_name FROM sqlite_schema WHERE rootpage = ?")
    var tables: Set<String> = []
    while try listing.step() {
      guard case .text(let operation) = try listing.value(at: 1),
        ["OpenRead", "ReopenIdx"].contains(operation), listing.column(4).integer == 0
      else { continue }
      name.reset()
      try name.bind([.integer(listing.column(3).integer)])
      if try name.step(), case .text(let table) = try name.value(at: 0) { tables.insert(table) }
    }
    return tables
  }
}

extension Statement {
  /// The origin of a result column that is a column of a table, unchanged.
  package func origin(ofColumn column: Int) -> ColumnOrigin? {
    let column = Int32(truncatingIfNeeded: column)
    guard let database = sqlite3_column_database_name(handle, column),
      String(cString: database) == "main",
      let table = sqlite3_column_table_name(handle, column),
      let name = sqlite3_column_origin_name(handle, column)
    else { return nil }
    return ColumnOrigin(table: String(cString: table), column: String(cString: name))
  }

  /// True if running it changes nothing.
  package var isReadOnly: Bool { sqlite3_stmt_readonly(handle) != 0 }

  /// The number of its parameters.
  package var parameterCount: Int { Int(sqlite3_bind_parameter_count(handle)) }
}

/// Collects the authorizer's questions.
private final class ReadLog {
  var reads = StatementReads()

  func note(
    _ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?,
    database: UnsafePointer<CChar>?
  ) {
    switch action {
    case SQLITE_SELECT: reads.selectCount += 1
    case SQLITE_FUNCTION:
      if let second { reads.functions.insert(String(cString: second).lowercased()) }
    case SQLITE_READ:
      guard let first, let second else { return }
      if let database, sqlite3_stricmp(database, "main") != 0 { reads.reachesFurther = true }
      reads.columns[String(cString: first), default: []].insert(String(cString: second))
    case SQLITE_RECURSIVE: break
    default: reads.reachesFurther = true
    }
  }
}
