internal import CSQLite
internal import Synchronization

/// The writer's side of a ``ChangeFeed``: hooks and version numbers. Commits of the connection
/// itself are published by row, and anything else that happened as unknown.
///
/// Owned by the writer's connection, and used only by whoever has that for itself.
final class CommitPublisher: CommitObserver {
  private enum Phase {
    case idle
    /// In a transaction that has committed nothing.
    case writing
    /// From the moment that a commit is certain to be attempted; the gate is closed.
    case committing
  }

  /// SQLite's counters of changes by others and of changes of the schema; `nil` if unreadable.
  private struct Versions: Equatable {
    var data: Int64?
    var schema: Int64?
  }

  private let feed: ChangeFeed
  private let handle: DatabaseHandle
  private let capture: ChangeCapture
  private let dataVersion: Statement
  private let schemaVersion: Statement
  private var versions = Versions()
  private var interestsVersion: Int?
  private var phase = Phase.idle

  init(_ feed: ChangeFeed, _ connection: DatabaseConnection) throws(DatabaseError) {
    self.feed = feed
    handle = connection.handle
    capture = ChangeCapture(connection)
    dataVersion = try connection.prepare("PRAGMA data_version")
    schemaVersion = try connection.prepare("PRAGMA schema_version")
    sqlite3_commit_hook(
      handle.pointer,
      { context in
        guard let context else { return 0 }
        Unmanaged<CommitPublisher>.fromOpaque(context).takeUnretainedValue().willCommit()
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
    _ = detectsChangeByOthers()
    updateInterests()
    feed.attach()
  }

  deinit {
    sqlite3_commit_hook(handle.pointer, nil, nil)
    feed.detach()
  }

  func didBegin(_ connection: DatabaseConnection) {
    phase = .writing
    updateInterests()
    feed.gate.withClosed { file in
      // The writer's own version numbers reveal a commit that cannot be detected now.
      if !feed.isIdle { _ = try? feed.publishOthers(file) }
      file.isBeingWritten = true
    }
  }

  /// Called by SQLite when a commit is certain to be attempted and is not visible yet.
  ///
  /// A commit outside the observed transactions, as of `VACUUM`, counts as another connection's.
  private func willCommit() {
    guard phase == .writing else { return }
    phase = .committing
    feed.gate.close()
  }

  func didCommit(_ connection: DatabaseConnection) {
    endTransaction { file in
      guard !feed.isIdle else { return }
      let touched = capture.take()
      file.acknowledge()
      // After the acknowledgement: a commit of others between the two is detected by either.
      let isUnknown = detectsChangeByOthers()
      feed.registry.withLock { registry in
        registry.publish(touched, recordedFor: interestsVersion)
        if isUnknown { registry.publishUnknown() }
      }
    }
    // The gate is open again: the actions begin snapshots.
    for subscription in feed.registry.withLock({ $0.withAction }) where subscription.hasChanges {
      subscription.onCommit?(connection)
    }
  }

  func didRollback(_ connection: DatabaseConnection) {
    _ = capture.take()
    endTransaction { _ in }
  }

  /// Opens the gate if a commit closed it, after `publish`.
  private func endTransaction(publish: (WatchedFile) -> Void) {
    defer { phase = .idle }
    guard phase == .committing else { return feed.gate.withClosed { $0.isBeingWritten = false } }
    feed.gate.open { file in
      file.isBeingWritten = false
      publish(file)
    }
  }

  private func updateInterests() {
    guard let (interests, version) = feed.interests(changedSince: interestsVersion) else { return }
    capture.setInterests(interests)
    interestsVersion = version
  }

  /// True if another connection committed, or the schema changed, since the last call.
  private func detectsChangeByOthers() -> Bool {
    let current = Versions(data: read(dataVersion), schema: read(schemaVersion))
    defer { versions = current }
    return current != versions || current.data == nil || current.schema == nil
  }

  private func read(_ statement: Statement) -> Int64? {
    defer { statement.reset() }
    guard (try? statement.step()) == true else { return nil }
    return statement.column(0).integer
  }
}
