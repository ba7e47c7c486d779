internal import Synchronization
public import TandemSQLite
public import TandemSync

/// The file of a `Database` as a replica: some of its tables are kept in step with a space, and so
/// with all other replicas of that space.
///
/// <!-- Snippets/CodeInComments.swift replica -->
/// ```swift
/// let replica = DatabaseReplica(database)
/// try await replica.attach([AttachedTable("note", policies: ["likes": .counter])], to: space)
/// try await replica.sync(with: space)
/// ```
///
/// Attaching adds triggers and tables whose names begin with `tandem_`. From then on, any program
/// may write the file, in any language, whether or not it is connected to the space, and other
/// processes may synchronize the same file. What a synchronization receives is written in one
/// transaction, which live queries deliver like any other commit.
///
/// No edit is lost without a trace: each one is in the space, or was overwritten by an edit that had
/// seen it, or is among ``keptEdits(_:includingResolved:)``.
///
/// Use one object for a database. It may be used from any task.
public final class DatabaseReplica: SyncReplica {
  let database: Database
  private let merging: ReplicaMerging
  private let epochPolicy: EpochPolicy?
  private let limits: SyncLimits
  private let knownSchema = Mutex<ReplicaTables.KnownSchema?>(nil)
  private let watch = Mutex<ReplicaWatch?>(nil)
  /// The message of the commit that the last step made, if it has one, until it is sent for the first time.
  private let frozenMessage = Mutex<[UInt8]?>(nil)

  /// A replica in a file, which need not be attached yet.
  ///
  /// - Parameters:
  ///   - database: The file's database.
  ///   - merging: Rules for conflicts. A table with rules here does not use those that the file
  ///     keeps, see ``AttachedTable/policies``.
  ///   - epochPolicy: The decision if the history of the space was lost or replaced. Without one,
  ///     synchronizing fails with the code `undecided` until there is one.
  public convenience init(
    _ database: Database, merging: ReplicaMerging = ReplicaMerging(),
    epochPolicy: EpochPolicy? = nil
  ) {
    self.init(database, merging: merging, epochPolicy: epochPolicy, limits: SyncLimits())
  }

  /// A replica with limits for messages.
  package init(
    _ database: Database, merging: ReplicaMerging = ReplicaMerging(),
    epochPolicy: EpochPolicy? = nil, limits: SyncLimits
  ) {
    self.database = database
    self.merging = merging
    self.epochPolicy = epochPolicy
    self.limits = limits
  }
}

// MARK: - Steps of a synchronization

extension DatabaseReplica {
  /// Performs a step in one transaction.
  package func perform(_ step: SyncStep) async throws -> SyncSummary {
    try await performAndReport(step).summary
  }

  /// Performs a step in one transaction.
  ///
  /// - Parameters:
  ///   - space: The name by which the file has to know its space; any if `nil`.
  ///   - progress: Called after each page that is applied.
  /// - Returns: Also what it applied, if it did.
  /// - Throws: Also ``ReplicaError`` with code `otherSpace` if the file was attached to another space since.
  package func performAndReport(
    _ step: SyncStep, inSpaceNamed space: String? = nil,
    _ progress: @escaping @Sendable (ReplicaProgress) -> Void = { _ in }
  ) async throws -> (summary: SyncSummary, applied: ReplicaApplyReport?) {
    let decision = step == .apply ? try await decision() : nil
    do {
      return try await perform(step, decision, inSpaceNamed: space, progress)
    } catch let error as DatabaseError where error.forbidsRow && step.writesRows {
      // A trigger of the application has ended the transaction, as by `RAISE(ROLLBACK, …)`.
      return try await perform(
        step, decision, inSpaceNamed: space, progress, withoutTriggers: true)
    } catch let error as ReplicaError where error.code == .undecided {
      throw SyncUndecided()
    }
  }

  private func perform(
    _ step: SyncStep, _ decision: EpochPolicy.Decision?, inSpaceNamed space: String?,
    _ progress: @escaping @Sendable (ReplicaProgress) -> Void,
    withoutTriggers: Bool = false
  ) async throws -> (summary: SyncSummary, applied: ReplicaApplyReport?) {
    let beginsToDecide = step == .look && epochPolicy != nil
    let (result, hasAppliedFile) = try await write(rows: step.writesRows) {
      [merging, limits] tables -> (
        (summary: SyncSummary, applied: ReplicaApplyReport?), hasAppliedFile: Bool
      ) in
      tables.progress = progress
      if let space { try tables.requireSpace(named: space) }
      var generator = SystemRandomNumberGenerator()
      let merging = merging.completed(by: try tables.storedMerging())
      let perform = {
        try tables.perform(
          step, merging, decision: decision, limits: limits, using: &generator)
      }
      if beginsToDecide { try tables.discardUndecided() }
      let summary = withoutTriggers ? try tables.quietly(perform) : try perform()
      return ((summary, tables.applyReport), tables.hasAppliedFile)
    }
    // Another program may have begun to use the file again. If this fails, the next synchronization removes it.
    if hasAppliedFile { try? await write(rows: false) { try $0.removeStagedFile() } }
    return result
  }

  /// A part of the commit that waits for its outcome; `nil` if none does, or it has fewer parts.
  ///
  /// The first call after a commit was frozen reads nothing. Another process may have settled that
  /// commit meanwhile: the space then repeats the outcome, and settling it again has no effect.
  package func outbox(part number: Int) async throws -> SyncCommit? {
    if let message = frozenMessage.withLock({ $0.take() }) {
      return try ReplicaTables.frozenPart(message, path: database.path)
    }
    return try await read { try $0.outbox(part: number) }
  }

  /// The condition of the file.
  package func summary() async throws -> ReplicaSummary {
    try await read { try $0.summary() }
  }

  /// Compares all rows with the space at the revision of the file. If they differ, the next pull repairs
  /// them.
  ///
  /// - Returns: True if they are equal; false also if another process has begun a synchronization.
  func verifyRows() async throws -> Bool {
    // Only a difference needs the writer.
    let isVerified = try await read { tables in
      let state = try tables.state()
      return try state.hasEqualDigests && state.pullNeed == .none
        && tables.computedDigest() == state.digest
    }
    if isVerified { return true }
    return try await write(rows: false) { try $0.verify() }
  }

  /// Returns when rows may have changed since the last call, by whichever program.
  package func waitForChange() async throws {
    let watch = try await currentWatch()
    do {
      try await watch.wait()
      try await watch.acknowledge(database)
    } catch {
      self.watch.withLock { $0 = nil }
      throw error
    }
  }

  /// The synchronized tables.
  package func declarations() async throws -> [SpaceTable] {
    try await read { try $0.declarations() }
  }

  /// The synchronized tables as the last step found them.
  func sentDeclarations() async throws -> [SpaceTable] {
    if let known = knownSchema.withLock({ $0 }) { return known.declarations }
    return try await declarations()
  }

  /// Takes note of the rules of the space, if they are news.
  func note(spaceTables tables: [SpaceTable]) async throws {
    let isNews = try await read { try $0.news(in: tables) != nil }
    if isNews { try await write(rows: false) { try $0.noteSpaceTables(tables) } }
  }

  private func currentWatch() async throws -> ReplicaWatch {
    if let watch = watch.withLock({ $0 }) { return watch }
    let tables = try await declarations()
    let watch = try await ReplicaWatch(database) { _ in tables.map { TableShadow.name($0.name) } }
    self.watch.withLock { $0 = watch }
    return watch
  }

  private func read<Value: Sendable>(
    _ body: @escaping @Sendable (ReplicaTables) throws -> Value
  ) async throws -> Value {
    let known = knownSchema.withLock { $0 }
    return try await database.read { try body(ReplicaTables($0.connection, knownSchema: known)) }
  }

  /// Runs `body` in one transaction, without foreign keys if it writes rows of the application.
  ///
  /// SQLite compiles all statements of a connection again when foreign keys are enforced or ignored from
  /// then on. So nothing is changed for a file without foreign keys.
  private func write<Value: Sendable>(
    rows: Bool, _ body: @escaping @Sendable (ReplicaTables) throws -> Value
  ) async throws -> Value {
    let mayHaveForeignKeys = knownSchema.withLock { $0?.hasForeignKeys } ?? true
    do {
      return try await write(rows && mayHaveForeignKeys ? .ignored : .unconcerned) { tables in
        if rows, !mayHaveForeignKeys, try !tables.schema().listedKeys.isEmpty {
          throw ForeignKeysAppeared()
        }
        return try body(tables)
      }
    } catch is ForeignKeysAppeared {
      return try await write(.ignored, body)
    }
  }

  /// A table has got the first foreign key of the file.
  private struct ForeignKeysAppeared: Error {}

  private func write<Value: Sendable>(
    _ foreignKeys: ForeignKeyTreatment, _ body: @escaping @Sendable (ReplicaTables) throws -> Value
  ) async throws -> Value {
    let known = knownSchema.withLock { $0 }
    let perform = { @Sendable (transaction: borrowing WriteTransaction) in
      let tables = ReplicaTables(transaction.connection, knownSchema: known)
      return (try body(tables), tables.knownSchema, tables.frozenMessage)
    }
    let (value, schema, message) = try await database.write(foreignKeys: foreignKeys, perform)
    knownSchema.withLock { $0 = schema }
    frozenMessage.withLock { $0 = message }
    return value
  }

  /// Forgets the tables as they were.
  func forgetTables() {
    knownSchema.withLock { $0 = nil }
    forgetWatch()
  }

  /// Forgets the tables that were watched. The version of the schema shows whether the other facts about
  /// them still hold.
  func forgetWatch() { watch.withLock { $0 = nil } }

  /// The decision of the application, if the staged pages need one.
  private func decision() async throws -> EpochPolicy.Decision? {
    guard let epochPolicy else { return nil }
    let change = try await database.read { transaction -> (known: String, found: String?)? in
      let tables = ReplicaTables(transaction.connection)
      let state = try tables.state()
      guard state.pullNeed.needsDecision, let known = state.revision else { return nil }
      let last = try? tables.lastStagedPage(in: try tables.openedStagedFile())
      return (known.epoch.description, last?.revision.epoch.description)
    }
    guard let change else { return nil }
    return try await epochPolicy.decide(change.known, change.found)
  }
}
