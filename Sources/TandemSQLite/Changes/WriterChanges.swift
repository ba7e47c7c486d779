internal import CSQLite

/// What the writer's hooks see, and its two version numbers: what it commits itself is known by row,
/// and anything else is known to have happened.
///
/// Belongs to the isolation domain of the writer.
final class WriterChanges {
  let capture: ChangeCapture
  private let handle: DatabaseHandle
  private let dataVersion: Statement
  private let schemaVersion: Statement
  private var versions: [Int64?] = []

  /// Calls `willCommit` when a commit that wrote something is about to become visible.
  init(
    _ connection: DatabaseConnection, willCommit: Unmanaged<ChangeFeed>
  ) throws(DatabaseError) {
    handle = connection.handle
    capture = ChangeCapture(connection)
    dataVersion = try connection.prepare("PRAGMA data_version")
    schemaVersion = try connection.prepare("PRAGMA schema_version")
    sqlite3_commit_hook(
      handle.pointer,
      { context in
        if let context {
          Unmanaged<ChangeFeed>.fromOpaque(context).takeUnretainedValue().willCommit()
        }
        return 0
      }, willCommit.toOpaque())
    _ = noticesChangeByOthers()
  }

  deinit { sqlite3_commit_hook(handle.pointer, nil, nil) }

  /// Whether another connection committed, or the schema changed, since the last time.
  func noticesChangeByOthers() -> Bool {
    let current = [read(dataVersion), read(schemaVersion)]
    defer { versions = current }
    return current != versions || current.contains(nil)
  }

  private func read(_ statement: Statement) -> Int64? {
    defer { statement.reset() }
    guard (try? statement.step()) == true else { return nil }
    return statement.column(0).integer
  }
}
