internal import Synchronization
package import TandemSQLite
package import TandemSync

/// The file of a `Database` as a replica, for a driver.
///
/// Any program may write the file meanwhile, and other processes may synchronize it: each step looks
/// at the file anew.
package final class DatabaseReplica: SyncReplica {
  private let database: Database
  private let merging: ReplicaMerging
  private let epochPolicy: EpochPolicy?
  private let limits: SyncLimits
  private let knownSchema = Mutex<ReplicaTables.KnownSchema?>(nil)
  private let watch = Mutex<Watch?>(nil)

  /// The subscription to changes of the shadows.
  private struct Watch {
    let feed: ChangeFeed
    let subscription: ChangeSubscription
  }

  /// The replica in a file that is attached to a space.
  ///
  /// - Parameters:
  ///   - merging: The rules for conflicts.
  ///   - epochPolicy: The decision if the space's history was lost; without one, the
  ///     synchronization waits.
  package init(
    _ database: Database, merging: ReplicaMerging = ReplicaMerging(),
    epochPolicy: EpochPolicy? = nil, limits: SyncLimits = SyncLimits()
  ) {
    self.database = database
    self.merging = merging
    self.epochPolicy = epochPolicy
    self.limits = limits
  }

  deinit {
    watch.withLock { watch in
      if let watch { watch.feed.unsubscribe(watch.subscription) }
    }
  }

  /// Performs a step in one transaction.
  package func perform(_ step: SyncStep) async throws -> SyncSummary {
    let decision = step == .apply ? try await decision() : nil
    do {
      return try await write { [merging, limits] tables in
        var generator = SystemRandomNumberGenerator()
        return try tables.perform(
          step, merging, decision: decision, limits: limits, using: &generator)
      }
    } catch let error as ReplicaError where error.code == .undecided {
      throw SyncUndecided()
    }
  }

  /// The commit that waits for its outcome; `nil` if none does.
  package func outbox() async throws -> SyncCommit? {
    try await database.read { try ReplicaTables($0.connection).pendingCommit() }
  }

  /// The condition of the file.
  package func summary() async throws -> ReplicaSummary {
    try await database.read { try ReplicaTables($0.connection).summary() }
  }

  /// Runs `body` in one transaction without foreign keys.
  private func write<Value: Sendable>(
    _ body: @escaping @Sendable (ReplicaTables) throws -> Value
  ) async throws -> Value {
    let known = knownSchema.withLock { $0 }
    let (value, schema) = try await database.writeWithoutForeignKeys { transaction in
      let tables = ReplicaTables(transaction.connection, knownSchema: known)
      return (try body(tables), tables.knownSchema)
    }
    knownSchema.withLock { $0 = schema }
    return value
  }

  /// The decision of the application, if the staged pages need one.
  private func decision() async throws -> EpochPolicy.Decision? {
    guard let epochPolicy else { return nil }
    let change = try await database.read { transaction -> EpochPolicy.Change? in
      let tables = ReplicaTables(transaction.connection)
      let state = try tables.state()
      guard state.pullNeed.needsDecision, let known = state.revision else { return nil }
      return EpochPolicy.Change(
        knownEpoch: known.epoch.description,
        foundEpoch: try tables.lastStagedPage()?.revision.epoch.description)
    }
    guard let change else { return nil }
    return try await epochPolicy.decision(about: change)
  }
}

// MARK: - Waiting for changes

extension DatabaseReplica {
  /// Returns when rows may have changed since the last call, by whichever program.
  package func waitForChange() async throws {
    let watch = try await currentWatch()
    await watch.subscription.wait()
    do {
      try Task.checkCancellation()
      _ = try await database.read {
        try watch.feed.beginSnapshot($0.connection, for: watch.subscription)
      }
    } catch {
      // A subscription whose wait was cancelled waits no more.
      watch.feed.unsubscribe(watch.subscription)
      self.watch.withLock { $0 = nil }
      throw error
    }
  }

  private func currentWatch() async throws -> Watch {
    if let watch = watch.withLock({ $0 }) { return watch }
    let tables = try await database.read { try ReplicaTables($0.connection).declarations() }
    let feed = try await database.changeFeed()
    let subscription = feed.subscribe()
    feed.setInterests(
      tables.map { TableInterest(table: TableShadow.name($0.name), key: .none) }, of: subscription)
    let watch = Watch(feed: feed, subscription: subscription)
    self.watch.withLock { $0 = watch }
    return watch
  }
}
