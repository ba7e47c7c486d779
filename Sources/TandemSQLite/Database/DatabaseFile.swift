internal import CSQLite
internal import SystemLibrary

/// The file that the first connection of a database opened. All further connections open the same
/// file, even after the working directory has changed, and never another file at its place.
package struct DatabaseFile: Sendable {
  /// The path as given, for errors.
  let givenPath: String
  /// The file's absolute path without symbolic links; the path as given if there is no file, or if
  /// that is not UTF-8.
  let path: String
  /// The identity of the file; `nil` for a database in memory.
  private let identity: FileIdentity?
  /// The identity of the file's write-ahead log; `nil` if it had none when it was opened.
  fileprivate let log: FileIdentity?

  /// The file of the first connection, which has read it.
  ///
  /// - Throws: ``DatabaseError`` with code `cannotOpen` if the file was removed since.
  init(_ connection: DatabaseConnection) throws(DatabaseError) {
    givenPath = connection.path
    guard let path = connection.filePath else {
      path = connection.path
      (identity, log) = (nil, nil)
      return
    }
    // In another mode, the pointer is to the rollback journal, which only a transaction opens.
    log = connection.logPointer == nil ? nil : FileIdentity(at: path + "-wal")
    // After the log: it is that of this file if the file is still there.
    guard let identity = FileIdentity(at: path), !connection.isFileGone else {
      throw DatabaseError.fileIsGone(path: givenPath)
    }
    self.path = path
    self.identity = identity
  }

  /// A path, and those of the files that SQLite may put beside the file there.
  package static func paths(_ path: String) -> [String] {
    ["", "-wal", "-shm", "-journal"].map { path + $0 }
  }

  /// Removes the file at a path, and those that SQLite may have put beside it.
  package static func remove(_ path: String) { for path in paths(path) { unlink(path) } }

  /// True if a device, a pipe or a socket is at a path: SQLite would write its journal beside it.
  static func isSpecial(_ path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    return ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
  }

  /// False for a database in memory.
  var isOnDisk: Bool { identity != nil }

  /// A further connection to the file, which only reads.
  ///
  /// - Throws: ``DatabaseError``, with code `cannotOpen` if the file is no longer where it was.
  func open(_ configuration: DatabaseConfiguration) throws(DatabaseError) -> DatabaseConnection {
    var configuration = configuration
    configuration.access = .readOnly
    // Before it is opened: SQLite might recover the log of another file.
    try checkIsAtItsPlace()
    let connection = try DatabaseConnection(path: givenPath, at: path, configuration)
    // The file at the place is the right one, and the file that was opened is at the place.
    try checkIsAtItsPlace()
    try connection.checkIsFileThere()
    return connection
  }

  private func checkIsAtItsPlace() throws(DatabaseError) {
    guard isAtItsPlace else { throw DatabaseError.fileIsGone(path: givenPath) }
  }

  private var isAtItsPlace: Bool { identity == nil || FileIdentity(at: path) == identity }

  /// See ``Database/errorOfReopening``.
  fileprivate var errorOfReopening: DatabaseError? {
    var status = stat()
    guard !isAtItsPlace, stat(path + "-wal", &status) == 0,
      log == nil ? status.st_size > 0 : FileIdentity(status) == log
    else { return nil }
    let remedy =
      log == nil
      ? "end all programs that have either file open, and begin again"
      : "before any program opens \(path), end those that have the former file open, and move \(path)-wal and "
        + "\(path)-shm away (to the former file, under its new name, if its last commits matter)"
    return DatabaseError(
      code: .cannotOpen,
      message:
        "\(path)-wal \(log == nil ? "may be" : "is") the write-ahead log of the file that was here before, and would "
        + "destroy a new one; \(remedy)", path: givenPath)
  }
}

extension Database {
  /// The error of opening the path again, if the file is gone and its write-ahead log is still there: SQLite would
  /// apply the log to the file that is there next, because it finds a log by the name of the file.
  ///
  /// A file that had no log when it was opened may have got one since. Then any log counts, unless it is empty.
  package var errorOfReopening: DatabaseError? { file.errorOfReopening }

  /// True if the file had a write-ahead log when it was opened.
  package var knowsLog: Bool { file.log != nil }
}

extension DatabaseConnection {
  /// The file's absolute path without symbolic links, or the path as given if that is not UTF-8;
  /// `nil` for a database in memory.
  var filePath: String? {
    guard let name = sqlite3_db_filename(handle.pointer, "main"), name.pointee != 0 else {
      return nil
    }
    return String(validatingCString: name) ?? path
  }

  /// True if the file was deleted, or another one is at its place: nobody else sees a commit to it
  /// from then on. Asks the file system, which takes about a microsecond.
  var isFileGone: Bool {
    var hasMoved: Int32 = 0
    let result = sqlite3_file_control(
      handle.pointer, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
    return result == SQLITE_OK && hasMoved != 0
  }

  /// Throws ``DatabaseError`` with code `cannotOpen` if the open transaction writes to a file that
  /// is no longer where it was opened. Called at the end of the transaction, which may have waited
  /// for long.
  func checkMayCommit() throws(DatabaseError) {
    if sqlite3_txn_state(handle.pointer, "main") == SQLITE_TXN_WRITE { try checkIsFileThere() }
  }

  /// Throws ``DatabaseError`` with code `cannotOpen` if the file is no longer where it was opened.
  package func checkIsFileThere() throws(DatabaseError) {
    if isFileGone { throw DatabaseError.fileIsGone(path: path) }
  }
}

extension DatabaseError {
  private static let goneMessage =
    "the file was deleted, moved or replaced after it had been opened; open it again"

  /// The file is no longer where it was opened.
  static func fileIsGone(path: String) -> DatabaseError {
    DatabaseError(code: .cannotOpen, message: goneMessage, path: path)
  }

  /// True if the file is no longer where it was opened.
  package var isFileGone: Bool { code == .cannotOpen && message == DatabaseError.goneMessage }
}
