internal import Synchronization

/// Notifies subscriptions of the commits to a database, by this process and by others.
///
/// The promise: when ``beginSnapshot(_:for:)`` returns, the changes that it returns lead exactly to
/// the state that the reader sees from then on. A reader that reads only the touched rows again
/// therefore never mixes two states.
///
/// A commit closes the ``CommitGate`` before it becomes visible, and opens it when its changes have
/// been published; a snapshot begins only while it holds the gate. Version numbers distinguish
/// commits of other processes from those of this one. The gate is never held while waiting for a
/// SQLite lock.
///
/// The gate guards the state of the file; the subscriptions and the watch have a lock each. The
/// writer's side is a `CommitPublisher`, which the writer's connection owns.
package final class ChangeFeed: Sendable {
  /// Guards the state of the file, and orders commits and snapshots.
  let gate: CommitGate<WatchedFile>
  let registry = Mutex(SubscriptionRegistry())
  /// The registry's version, to be read without its lock.
  private let interestsVersion = Atomic(0)
  private let watch = Mutex<FileWatch?>(nil)
  private let attachment = Atomic(false)
  /// Objects that its users share, by keys of theirs.
  private let sharedObjects = Mutex<[[UInt8]: any AnyObject & Sendable]>([:])
  private let file: DatabaseFile

  /// The feed of a file, which it does not open yet.
  init(_ file: DatabaseFile) {
    self.file = file
    gate = CommitGate(WatchedFile(file))
  }
}

// MARK: - Subscriptions

extension ChangeFeed {
  /// True if nobody is subscribed.
  package var isIdle: Bool { registry.withLock { $0.isEmpty } }

  /// A subscription to all changes, until its interests are set.
  ///
  /// - Parameter onCommit: Called after each commit of this process that concerns the subscription.
  package func subscribe(
    onCommit: ChangeSubscription.CommitAction? = nil
  ) -> ChangeSubscription {
    let subscription = ChangeSubscription(onCommit: onCommit)
    setInterests(nil, of: subscription)
    return subscription
  }

  /// Sets the changes that matter to a subscription from now on; `nil` for all.
  package func setInterests(_ interests: [TableInterest]?, of subscription: ChangeSubscription) {
    registry.withLock { registry in
      registry.set(interests, for: subscription)
      interestsVersion.store(registry.version, ordering: .releasing)
    }
  }

  /// Ends a subscription.
  package func unsubscribe(_ subscription: ChangeSubscription) {
    registry.withLock { registry in
      registry.remove(subscription)
      interestsVersion.store(registry.version, ordering: .releasing)
    }
    // Checked under the lock: a concurrent subscriber needs the watch that exists.
    watch.withLock { watch in if isIdle { watch = nil } }
  }

  /// Takes the changes of a subscription without a snapshot, if this process made all of them; `false`
  /// if others may have changed anything, which only a snapshot finds out.
  package func takeKnownChanges(of subscription: ChangeSubscription) -> Bool {
    subscription.takeKnown()
  }

  /// Begins the read transaction of `connection`, which must be open and have read nothing yet.
  ///
  /// - Returns: The changes between the subscription's last snapshot and this one.
  /// - Throws: ``DatabaseError``, with code `cannotOpen` if the file was deleted or replaced, and
  ///   at once with code `busy` if another program keeps it locked; then the next snapshot returns
  ///   the changes.
  package func beginSnapshot(
    _ connection: DatabaseConnection, for subscription: ChangeSubscription
  ) throws(DatabaseError) -> CommittedChanges {
    try gate.withClosed { file throws(DatabaseError) in
      try file.monitorOthers()
      startWatching()
      try publishOthers(file)
      try ChangeFeed.beginReading(connection)
      var changes = subscription.take()
      // A commit between the two may be in the snapshot or not, so it counts for this one and the
      // next. So does one that cannot be detected now, because another one follows and keeps the
      // file locked.
      if (try? publishOthers(file)) ?? true { changes.isUnknown = true }
      return changes
    }
  }

  /// Reads: a transaction sees the state of its first read.
  private static func beginReading(_ connection: DatabaseConnection) throws(DatabaseError) {
    try connection.interruption.withoutWaiting { () throws(DatabaseError) in
      _ = try connection.beginSnapshot()
    }
  }
}

// MARK: - Shared objects

extension ChangeFeed {
  /// Reads and changes the objects that users of the feed share, by keys of theirs. One caller at a time.
  package func withSharedObjects<Result: Sendable>(
    _ body: (inout [[UInt8]: any AnyObject & Sendable]) -> Result
  ) -> Result {
    sharedObjects.withLock { body(&$0) }
  }
}

// MARK: - Commits of others

extension ChangeFeed {
  private func startWatching() {
    guard file.isOnDisk else { return }
    watch.withLock { watch in
      guard watch == nil else { return }
      watch = FileWatch(path: file.path) { [weak self] in self?.checkForOthers() ?? false }
    }
  }

  /// Closes the file, when the database is closed. Subscriptions are notified, and find out.
  func stopWatching() {
    gate.withClosed { $0.stopMonitoring() }
    watch.withLock { $0 = nil }
    registry.withLock { $0.publishUnknown() }
  }

  /// Publishes commits of others, or the removal of the file; `false` if there was neither.
  private func checkForOthers() -> Bool {
    gate.withClosed { file in
      // While this process writes, nobody else commits; but a long transaction looks like a commit
      // when it restarts the log. The check is repeated later.
      guard !file.isGone, !file.isBeingWritten else { return false }
      guard file.detectsRemoval() else { return (try? publishOthers(file)) ?? false }
      registry.withLock { $0.publishUnknown() }
      return true
    }
  }

  /// Publishes commits of others; `false` if there was none.
  ///
  /// - Throws: ``DatabaseError`` with code `busy` while another program keeps the file locked.
  @discardableResult
  func publishOthers(_ file: WatchedFile) throws(DatabaseError) -> Bool {
    guard try file.detectsCommit() else { return false }
    registry.withLock { $0.publishUnknown() }
    return true
  }
}

// MARK: - The writer's side

extension ChangeFeed {
  /// True if a writer publishes its commits.
  var isAttached: Bool { attachment.load(ordering: .acquiring) }

  /// The observer of the writer's commits, for ``DatabaseConnection/observe(by:)``.
  package func publisher(
    for connection: DatabaseConnection
  ) throws(DatabaseError) -> any CommitObserver {
    try CommitPublisher(self, connection)
  }

  /// A writer publishes its commits from now on.
  func attach() {
    attachment.store(true, ordering: .releasing)
    registry.withLock { $0.publishUnknown() }
  }

  /// The writer has closed.
  func detach() {
    attachment.store(false, ordering: .releasing)
    stopWatching()
  }

  /// The interests, and their version, if they changed since a version.
  func interests(
    changedSince version: Int?
  ) -> (interests: [TableInterest], version: Int)? {
    guard interestsVersion.load(ordering: .acquiring) != version else { return nil }
    return registry.withLock { ($0.interests, $0.version) }
  }
}
