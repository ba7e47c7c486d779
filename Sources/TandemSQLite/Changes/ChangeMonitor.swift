/// A connection that only watches whether the file changes.
///
/// SQLite's `data_version` differs after any commit of another connection, of this process or not.
/// Whoever acknowledges each commit of this process right away is left with those of others.
///
/// It never waits for a lock: whoever asks does so with a gate closed.
final class ChangeMonitor {
  private let connection: DatabaseConnection
  private let statement: Statement
  private var acknowledged: Int64?

  /// Watches a file.
  ///
  /// - Throws: ``DatabaseError``, with code `cannotOpen` if it is gone, with code `busy` while another program keeps the file locked.
  init(_ file: DatabaseFile) throws(DatabaseError) {
    connection = try file.open(access: .readOnly, busyTimeout: .zero)
    statement = try connection.prepare("PRAGMA data_version")
    acknowledged = try version()
  }

  /// Whether the file was deleted, or another one stands in its place: nobody commits to it any more.
  var isFileGone: Bool { connection.isFileGone }

  /// Takes all that was committed so far as known.
  func acknowledge() { acknowledged = try? version() }

  /// Whether something was committed since it was last acknowledged; acknowledges it.
  ///
  /// - Throws: ``DatabaseError`` with code `busy` while another program keeps the file locked: ask again.
  func noticesChange() throws(DatabaseError) -> Bool {
    let known = acknowledged
    do throws(DatabaseError) {
      acknowledged = try version()
    } catch  where error.code.primary == .busy {
      throw error
    } catch {
      // What cannot be read may have changed. Whoever reads it finds out what is wrong with it.
      acknowledged = nil
    }
    return acknowledged == nil || acknowledged != known
  }

  private func version() throws(DatabaseError) -> Int64? {
    defer { statement.reset() }
    return try statement.step() ? statement.column(0).integer : nil
  }
}
