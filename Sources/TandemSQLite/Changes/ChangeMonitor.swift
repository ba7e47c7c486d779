/// The state of the file on disk, as far as other connections determine it; a value that a
/// ``CommitGate`` guards.
struct WatchedFile {
  private let file: DatabaseFile
  /// Opened by the first snapshot; `nil` for a database in memory, which has no other connections.
  private var monitor: ChangeMonitor?
  /// True once the file was found to be deleted, moved or replaced.
  private(set) var isGone = false
  /// True while a transaction of this process writes.
  var isBeingWritten = false

  /// A file that is not monitored yet.
  init(_ file: DatabaseFile) { self.file = file }

  /// Opens the monitor, unless it is open.
  ///
  /// - Throws: ``DatabaseError``, with code `cannotOpen` if the file is gone, with code `busy`
  ///   while another program keeps it locked.
  mutating func monitorOthers() throws(DatabaseError) {
    if isGone { throw DatabaseError.fileIsGone(path: file.givenPath) }
    if file.isOnDisk, monitor == nil { monitor = try ChangeMonitor(file) }
  }

  /// Closes the monitor.
  mutating func stopMonitoring() { monitor = nil }

  /// True if another connection committed since the last call or acknowledgement.
  ///
  /// - Throws: ``DatabaseError`` with code `busy` while another program keeps the file locked.
  func detectsCommit() throws(DatabaseError) -> Bool { try monitor?.detectsCommit() ?? false }

  /// Acknowledges all commits so far.
  func acknowledge() { monitor?.acknowledge() }

  /// True if the file is gone, which is recorded; asks the file system.
  mutating func detectsRemoval() -> Bool {
    if monitor?.isFileGone == true { isGone = true }
    return isGone
  }
}

/// A connection that only watches for commits of other connections.
///
/// SQLite's `data_version` changes with every commit of another connection, of this process or not.
/// If each commit of this process is acknowledged at once, the others remain.
///
/// It never waits for a lock, because it is used while a gate is closed.
final class ChangeMonitor {
  private let connection: DatabaseConnection
  private let statement: Statement
  private var acknowledged: Int64?

  /// Watches a file.
  ///
  /// - Throws: ``DatabaseError``, with code `cannotOpen` if the file is gone, with code `busy`
  ///   while another program keeps it locked.
  init(_ file: DatabaseFile) throws(DatabaseError) {
    connection = try file.open(DatabaseConfiguration(busyTimeout: .zero))
    statement = try connection.prepare("PRAGMA data_version")
    acknowledged = try version()
  }

  /// True if the file was deleted, or another one is at its place.
  var isFileGone: Bool { connection.isFileGone }

  /// Acknowledges all commits so far.
  func acknowledge() { acknowledged = try? version() }

  /// True if there was a commit since the last acknowledgement; acknowledges it.
  ///
  /// - Throws: ``DatabaseError`` with code `busy` while another program keeps the file locked.
  func detectsCommit() throws(DatabaseError) -> Bool {
    let known = acknowledged
    do throws(DatabaseError) {
      acknowledged = try version()
    } catch  where error.code.primary == .busy {
      throw error
    } catch {
      // A file that cannot be read may have changed. Whoever reads it gets the error.
      acknowledged = nil
    }
    return acknowledged == nil || acknowledged != known
  }

  private func version() throws(DatabaseError) -> Int64? {
    defer { statement.reset() }
    return try statement.step() ? statement.column(0).integer : nil
  }
}
