internal import CSQLite
public import TandemRecords

/// One connection to a SQLite file.
///
/// Opening sets what a careful application sets: write-ahead logging where the file system allows it
/// (so that readers never wait for the writer), a busy timeout, foreign keys enforced, and commits that
/// are on disk when they return (`synchronous=FULL`).
///
/// A connection and its statements belong to one isolation domain at a time; they are not `Sendable`.
public final class DatabaseConnection {
  /// What a connection may do with its file.
  public enum Access: Hashable, Sendable {
    /// Read and write; the file is created if it is missing.
    case readWriteCreate
    /// Read and write a file that exists.
    case readWrite
    /// Read a file that exists. Nothing is written through the connection; SQLite itself may still
    /// move what others committed from the write-ahead log into the file, as it always does.
    case readOnly
  }

  let handle: DatabaseHandle
  private var cache: [String: Statement] = [:]

  /// The most statements ``cachedStatement(_:)`` keeps; beyond, all are forgotten.
  public static let maxCachedStatementCount = 128

  /// How long a statement waits for another connection's lock, unless told otherwise.
  public static let defaultBusyTimeout: Duration = .seconds(5)

  /// Opens a file.
  ///
  /// - Parameters:
  ///   - path: A path, or `:memory:`; never interpreted as a URI.
  ///   - access: What the connection may do.
  ///   - busyTimeout: How long to wait for another connection's lock.
  /// - Throws: ``DatabaseError``: `cannotOpen`, `notADatabase`, `busy`, `readOnly`, `corrupt`.
  public convenience init(
    path: String, access: Access = .readWriteCreate, busyTimeout: Duration = defaultBusyTimeout
  ) throws(DatabaseError) {
    try self.init(fileAt: path, givenAs: path, access: access, busyTimeout: busyTimeout)
  }

  /// Opens a file that errors call by another path.
  init(
    fileAt path: String, givenAs givenPath: String, access: Access, busyTimeout: Duration
  ) throws(DatabaseError) {
    let flags: Int32
    switch access {
    case .readWriteCreate: flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    // SQLite reads a file that may not be written. Opened for reading alone, a file in write-ahead
    // mode would be left with its log and index beside it.
    case .readWrite, .readOnly: flags = SQLITE_OPEN_READWRITE
    }
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw DatabaseError(
        code: .cannotOpen, message: "a database path may not be empty or contain a NUL",
        path: givenPath)
    }
    var pointer: OpaquePointer?
    let result = sqlite3_open_v2(
      DatabaseConnection.literal(path), &pointer, flags | SQLITE_OPEN_NOMUTEX, nil)
    guard let pointer else {
      throw DatabaseError(code: .cannotOpen, message: "out of memory", path: givenPath)
    }
    sqlite3_extended_result_codes(pointer, 1)
    handle = DatabaseHandle(pointer, path: givenPath)
    guard result == SQLITE_OK else { throw openError(result, access: access) }
    sqlite3_busy_timeout(pointer, Int32(clamping: busyTimeout.wholeMilliseconds))
    try addUTF8Collation()
    try execute("PRAGMA foreign_keys=ON")
    // The first read: a file that is no database is found out here, before anything is written.
    _ = try integer("PRAGMA schema_version")
    if access == .readOnly {
      try execute("PRAGMA query_only=ON")
    } else {
      try execute("PRAGMA journal_mode=WAL")
      try execute("PRAGMA synchronous=FULL")
    }
  }

  /// The path in a form that SQLite cannot take for a URI, as it may be built to do.
  private static func literal(_ path: String) -> String {
    path.utf8.starts(with: "file:".utf8) ? "./" + path : path
  }

  /// The file's path, as given.
  public var path: String { handle.path }

  private func openError(_ result: Int32, access: Access) -> DatabaseError {
    var error = handle.error(result)
    if result & 0xFF == SQLITE_CANTOPEN {
      error.message =
        access == .readWriteCreate
        ? "cannot open or create it: it is a folder, its folder does not exist, or may not be written"
        : "cannot open it: it does not exist, is a folder, or may not be read"
    }
    return error
  }
}

// MARK: - Statements

extension DatabaseConnection {
  /// Compiles one statement.
  ///
  /// - Throws: ``DatabaseError`` for a mistake in the statement, for an empty one, and for more than
  ///   one.
  public func prepare(_ sql: String) throws(DatabaseError) -> Statement {
    try Statement(sql, database: handle)
  }

  /// A compiled statement, kept for the next time it is asked for.
  ///
  /// It comes reset and without parameters. The same statement is handed out each time, so use it to
  /// the end before asking again.
  public func cachedStatement(_ sql: String) throws(DatabaseError) -> Statement {
    if let statement = cache[sql] {
      statement.reset()
      statement.clearBindings()
      return statement
    }
    if cache.count >= DatabaseConnection.maxCachedStatementCount { cache.removeAll() }
    let statement = try Statement(sql, database: handle)
    cache[sql] = statement
    return statement
  }

  /// Runs a statement to its end, with the given parameters in order.
  public func execute(_ sql: String, _ parameters: FieldValue...) throws(DatabaseError) {
    let statement = try prepare(sql)
    try statement.bind(parameters)
    while try statement.step() {}
  }

  /// The first column of the first row as an integer, or `nil` if there is no row or it is null.
  ///
  /// - Throws: ``DatabaseError``; with code `mismatch` if it is a value of another type.
  public func integer(_ sql: String, _ parameters: FieldValue...) throws(DatabaseError) -> Int64? {
    let statement = try prepare(sql)
    try statement.bind(parameters)
    guard try statement.step() else { return nil }
    switch try statement.value(at: 0) {
    case .null: return nil
    case .integer(let value): return value
    case .real, .text, .blob:
      throw DatabaseError(
        code: .mismatch, message: "the value is no integer", sql: sql, path: path)
    }
  }

  /// The statements that have begun and not ended, also those that somebody keeps.
  var unfinishedStatements: [OpaquePointer] {
    var unfinished: [OpaquePointer] = []
    var statement = sqlite3_next_stmt(handle.pointer, nil)
    while let current = statement {
      if sqlite3_stmt_busy(current) != 0 { unfinished.append(current) }
      statement = sqlite3_next_stmt(handle.pointer, current)
    }
    return unfinished
  }

  /// How many rows the last insert, update or delete statement changed itself.
  public var changeCount: Int { Int(sqlite3_changes64(handle.pointer)) }
}

extension Duration {
  /// Milliseconds, rounded down; never negative.
  fileprivate var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
    return overflow
      ? (seconds < 0 ? 0 : .max) : max(0, product &+ attoseconds / 1_000_000_000_000_000)
  }
}
