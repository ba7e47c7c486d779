internal import Synchronization

/// Tells subscriptions what is committed to a database, by this process and by others.
///
/// What it promises: when ``beginSnapshot(_:for:)`` returns, the changes that it returns lead exactly
/// to the state that the reader sees from then on. So a reader that reads only the rows touched never
/// mixes two states.
///
/// How: a commit closes the ``CommitGate`` before it becomes visible and opens it when its changes
/// have been handed out; snapshots begin only while the gate is theirs. Commits of others are told from
/// those of this process by version numbers.
///
/// What others keep locked is waited for by nobody who has closed the gate.
///
/// Unchecked: `writer`, `notedVersion`, `isWriting` and `isCommitting` belong to whoever has the writer
/// for itself, `monitor`, `isFileGone` and `isLocked` to whoever has closed the gate.
package final class ChangeFeed: @unchecked Sendable {
  private let gate = CommitGate()
  private let registry = Mutex(SubscriptionRegistry())
  private let currentVersion = Atomic(0)
  private let watch = Mutex<FileWatch?>(nil)
  private let file: DatabaseFile
  private let attachment = Atomic(false)

  /// Opened by the first snapshot; a database in memory has nobody else to watch.
  private var monitor: ChangeMonitor?
  /// Whether the file is no longer where it was when it was opened.
  private var isFileGone = false
  /// Whether a transaction of this process has begun and not been seen to end.
  private var isLocked = false
  private var writer: WriterChanges?
  private var notedVersion = 0
  private var isWriting = false
  private var isCommitting = false

  /// The feed of a file, which it does not open yet.
  init(_ file: DatabaseFile) { self.file = file }
}

// MARK: - Subscriptions

extension ChangeFeed {
  /// Whether it has a writer to observe.
  var isAttached: Bool { attachment.load(ordering: .acquiring) }

  /// Whether nobody is subscribed.
  package var isIdle: Bool { registry.withLock { $0.isEmpty } }

  /// A subscription to all changes, until its interests are set.
  package func subscribe() -> ChangeSubscription {
    let subscription = ChangeSubscription()
    setInterests(nil, of: subscription)
    return subscription
  }

  /// Says which changes matter to a subscription from now on; `nil` for all.
  package func setInterests(_ interests: [TableInterest]?, of subscription: ChangeSubscription) {
    registry.withLock { registry in
      registry.set(interests, for: subscription)
      currentVersion.store(registry.version, ordering: .releasing)
    }
  }

  /// Ends a subscription.
  package func unsubscribe(_ subscription: ChangeSubscription) {
    registry.withLock { registry in
      registry.remove(subscription)
      currentVersion.store(registry.version, ordering: .releasing)
    }
    // Asked under the lock: whoever subscribes meanwhile needs the watch that is there.
    watch.withLock { watch in if isIdle { watch = nil } }
  }

  /// Begins the read transaction of `connection`, which must be open and have read nothing yet.
  ///
  /// - Returns: What changed for the subscription between its last snapshot and this one.
  /// - Throws: ``DatabaseError``, with code `cannotOpen` if the file was deleted or replaced, and at once
  ///   with code `busy` if another program keeps it locked; then the next one tells what changed.
  package func beginSnapshot(
    _ connection: DatabaseConnection, for subscription: ChangeSubscription
  ) throws(DatabaseError) -> CommittedChanges {
    gate.close()
    defer { gate.open() }
    try checkIsFileThere()
    try startWatching()
    try noticeOthers()
    try ChangeFeed.beginReading(connection)
    var changes = subscription.take()
    // A commit between the two may be in the snapshot or not: it counts for this one and the next. So
    // does one that is noticed later, since another is about to follow and keeps the file locked.
    if (try? noticeOthers()) ?? true { changes.isUnknown = true }
    return changes
  }

  /// A transaction sees the state of its first read.
  private static func beginReading(_ connection: DatabaseConnection) throws(DatabaseError) {
    connection.handle.waitsForLocks = false
    defer { connection.handle.waitsForLocks = true }
    let reading = try connection.cachedStatement("PRAGMA schema_version")
    defer { reading.reset() }
    _ = try reading.step()
  }

  /// Opens what tells of the commits of others.
  private func startWatching() throws(DatabaseError) {
    guard file.isOnDisk else { return }
    if monitor == nil { monitor = try ChangeMonitor(file) }
    watch.withLock { watch in
      guard watch == nil else { return }
      watch = FileWatch(path: file.path) { [weak self] in self?.checkForOthers() ?? false }
    }
  }

  /// Lets go of the file when the database is closed. Who waits finds out.
  func stopWatching() {
    gate.withClosed { monitor = nil }
    watch.withLock { $0 = nil }
    registry.withLock { $0.publishUnknown() }
  }

  private func checkIsFileThere() throws(DatabaseError) {
    if isFileGone { throw DatabaseError.fileIsGone(path: file.givenPath) }
  }

  /// Whether others committed since somebody last looked, or took the file away; if so, everyone is
  /// told.
  private func checkForOthers() -> Bool {
    gate.withClosed {
      // Meanwhile nobody else commits, but a long transaction of this process looks like a commit when it
      // begins the log anew. Whatever is put off by that is asked again.
      guard !isFileGone, !isLocked else { return false }
      guard monitor?.isFileGone == true else { return (try? noticeOthers()) ?? false }
      isFileGone = true
      registry.withLock { $0.publishUnknown() }
      return true
    }
  }

  /// - Throws: ``DatabaseError`` with code `busy` while another program keeps the file locked.
  @discardableResult
  private func noticeOthers() throws(DatabaseError) -> Bool {
    guard let monitor, try monitor.noticesChange() else { return false }
    registry.withLock { $0.publishUnknown() }
    return true
  }
}

// MARK: - The writer

extension ChangeFeed: CommitObserver {
  package func didAttach(_ connection: DatabaseConnection) {
    writer = try? WriterChanges(connection, willCommit: .passUnretained(self))
    noteInterests()
    attachment.store(true, ordering: .releasing)
    registry.withLock { $0.publishUnknown() }
  }

  package func willDetach(_ connection: DatabaseConnection) {
    attachment.store(false, ordering: .releasing)
    writer = nil
    stopWatching()
  }

  package func didBegin(_ connection: DatabaseConnection) {
    isWriting = true
    if currentVersion.load(ordering: .acquiring) != notedVersion { noteInterests() }
    gate.withClosed {
      // What is locked now is noticed by the writer's own version numbers.
      if !isIdle { _ = try? noticeOthers() }
      isLocked = true
    }
  }

  private func noteInterests() {
    let (interests, version) = registry.withLock { ($0.interests, $0.version) }
    writer?.capture.setInterests(interests)
    notedVersion = version
  }

  /// Called by SQLite when a commit is certain to be tried and not yet visible.
  ///
  /// One outside the transactions that the observer is told of, as of `VACUUM`, passes for another
  /// connection's.
  func willCommit() {
    guard isWriting, !isCommitting else { return }
    isCommitting = true
    gate.close()
  }

  package func didCommit(_ connection: DatabaseConnection) {
    isWriting = false
    guard isCommitting else { return gate.withClosed { isLocked = false } }
    defer { endCommit() }
    guard let writer, !isIdle else { return }
    let touched = writer.capture.take()
    monitor?.acknowledge()
    let isUnknown = writer.noticesChangeByOthers()
    registry.withLock { registry in
      registry.publish(touched, noted: notedVersion)
      if isUnknown { registry.publishUnknown() }
    }
  }

  package func didRollback(_ connection: DatabaseConnection) {
    isWriting = false
    _ = writer?.capture.take()
    if isCommitting { endCommit() } else { gate.withClosed { isLocked = false } }
  }

  private func endCommit() {
    isCommitting = false
    isLocked = false
    gate.open()
  }
}
