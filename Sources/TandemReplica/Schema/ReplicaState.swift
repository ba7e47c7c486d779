internal import TandemRecords
internal import TandemSQLite
package import TandemSync

/// The state of a replica, which the table `tandem_state` of its file holds.
package struct ReplicaState: Hashable, Sendable {
  /// The pull that has to come before the next commit, and the reason for it.
  package enum PullNeed: String, Hashable, Sendable, CaseIterable {
    /// No pull is needed.
    case none
    /// The changes since the revision.
    case changes
    /// The changes since the revision, because the space objected to a commit. If there are none, the
    /// replica's base is wrong.
    case conflict
    /// Everything: the replica has no revision yet.
    case first
    /// Everything: the space has forgotten the deletions since the revision.
    case horizon
    /// Everything: the file's tables have other columns than the base. Without former tables, a migration has renewed
    /// triggers that may have missed changes.
    case columns
    /// Everything: the space has another history, which was created separately.
    case epoch
    /// Everything: the space has lost commits that the replica knows.
    case history
    /// Everything: the digest of the replica's base is not that of the space.
    case repair

    /// True if the common base is lost, so that the application has to decide.
    package var needsDecision: Bool { self == .epoch || self == .history }

    /// True if the pull takes the rows that no trigger noted for the base, and brings less than
    /// everything, or nothing of records that were deleted.
    var trustsUntouchedRows: Bool {
      switch self {
      case .none, .changes, .conflict, .horizon: true
      case .first, .columns, .epoch, .history, .repair: false
      }
    }
  }

  /// The name of the space, as it was given when the file was attached.
  package var space: String
  /// The replica.
  package var replica: SyncToken
  /// The last sequence that has an outcome, 0 if there is none.
  package var sequence: Int
  /// The revision of the base; `nil` before the first pull.
  package var revision: SpaceRevision?
  /// The digest of the base: of the rows, with changed rows as they were.
  package var digest: RecordDigest
  /// The digest of the space at the revision.
  package var spaceDigest: RecordDigest
  /// The pull that has to come next.
  package var pullNeed: PullNeed

  /// True if the base is what the space has at the revision.
  package var hasEqualDigests: Bool { digest == spaceDigest }

  /// Demands a pull of the changes since the revision. A pull that is needed already stays: it may be
  /// one of everything.
  mutating func requirePull() {
    if pullNeed == .none { pullNeed = .changes }
  }
}

extension ReplicaTables {
  /// The statements that create Tandem's tables in a file.
  static let creations = [
    """
    CREATE TABLE tandem_state (
      one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, space TEXT NOT NULL,
      tables BLOB NOT NULL, replica TEXT NOT NULL, sequence INTEGER NOT NULL, revision TEXT,
      digest TEXT NOT NULL, space_digest TEXT NOT NULL, pull TEXT NOT NULL,
      last_kept INTEGER NOT NULL DEFAULT 0, whole TEXT NOT NULL, former_tables BLOB,
      is_paused INTEGER NOT NULL DEFAULT 0)
    """,
    """
    CREATE TABLE tandem_outbox (
      part INTEGER PRIMARY KEY, id TEXT NOT NULL, change_count INTEGER NOT NULL,
      message BLOB NOT NULL)
    """,
    """
    CREATE TABLE tandem_withdrawn (
      number INTEGER PRIMARY KEY, id TEXT NOT NULL, message BLOB NOT NULL)
    """,
    """
    CREATE TABLE tandem_staged (
      position INTEGER PRIMARY KEY, since TEXT NOT NULL, next TEXT, page BLOB NOT NULL)
    """,
    keptCreation,
    """
    CREATE TABLE tandem_parked (
      "table" TEXT NOT NULL, "key" BLOB NOT NULL, id TEXT NOT NULL, fields TEXT NOT NULL,
      is_whole INTEGER NOT NULL, reason TEXT, others TEXT,
      PRIMARY KEY ("table", "key")) WITHOUT ROWID
    """,
    """
    CREATE TABLE tandem_policies (
      "table" TEXT NOT NULL, "column" TEXT NOT NULL, policy TEXT NOT NULL,
      PRIMARY KEY ("table", "column")) WITHOUT ROWID
    """,
    rulesCreation,
    numbersCreation,
  ]

  /// The names of Tandem's tables for a replica, without those of single tables.
  static let tableNames = [
    "tandem_state", "tandem_outbox", "tandem_withdrawn", "tandem_staged", "tandem_kept",
    "tandem_parked", "tandem_policies", "tandem_rules", "tandem_numbers",
  ]

  /// The version of these tables. ``upgrade()`` takes over earlier ones.
  static let format: Int64 = 6

  /// True if the file is attached to a space.
  package func isAttached() throws -> Bool {
    try connection.integer(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'tandem_state'") != 0
  }

  /// Throws if the file is not attached to a space.
  func checkIsAttached() throws {
    guard try isAttached() else {
      throw ReplicaError(
        .notAttached, "\(connection.path) is not attached to a space; attach it first")
    }
  }

  /// The state.
  ///
  /// - Throws: ``ReplicaError`` with code `notAttached`, or `damaged`.
  package func state() throws -> ReplicaState {
    try stored(
      "SELECT format, space, replica, sequence, revision, digest, space_digest, pull FROM tandem_state"
    ).decodedState(path: connection.path)
  }

  /// Replaces the state.
  func save(_ state: ReplicaState) throws {
    try run(
      """
      UPDATE tandem_state SET space = ?, replica = ?, sequence = ?, revision = ?, digest = ?,
        space_digest = ?, pull = ?
      """,
      [
        .text(state.space), .text(state.replica.description), .integer(Int64(state.sequence)),
        state.revision.map { .text($0.description) } ?? .null, .text(state.digest.description),
        .text(state.spaceDigest.description), .text(state.pullNeed.rawValue),
      ])
  }

  /// Writes the first state of a file that is being attached.
  ///
  /// - Parameter whole: The names of the tables that are attached with all their columns.
  func insert(_ state: ReplicaState, tables: [SpaceTable], whole: [String]) throws {
    let names = SyncMessageWriter.bytes(id: whole.map { .text($0) })
    try connection.execute(
      """
      INSERT INTO tandem_state (one, format, space, tables, replica, sequence, digest,
        space_digest, pull, whole)
      VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, .integer(ReplicaTables.format), .text(state.space),
      .blob(SyncMessageWriter.bytes(tables)), .text(state.replica.description),
      .integer(Int64(state.sequence)), .text(state.digest.description),
      .text(state.spaceDigest.description), .text(state.pullNeed.rawValue),
      .text(String(decoding: names, as: UTF8.self)))
  }

  /// The values of a query of `tandem_state`; none if another program has emptied the table.
  ///
  /// - Throws: ``ReplicaError`` with code `notAttached` if there is no such table.
  private func stored(_ sql: String) throws -> [FieldValue] {
    do {
      return try connection.withStatement(sql) { statement throws(DatabaseError) in
        try statement.step() ? try statement.values() : []
      }
    } catch  where error.code.primary == .error {
      try checkIsAttached()
      throw error
    }
  }

  /// The synchronized tables, as the file declares them to the space.
  package func declarations() throws -> [SpaceTable] {
    guard case .blob(let bytes)? = try stored("SELECT tables FROM tandem_state").first,
      let tables = try? SyncMessageReader().tables(bytes)
    else { throw ReplicaError.damaged("tandem_state", connection.path) }
    return tables
  }
}

extension ReplicaError {
  /// The error of a table with content that Tandem did not write.
  static func damaged(_ table: String, _ path: String) -> ReplicaError {
    ReplicaError(
      .damaged,
      "the table \(table) of \(path) has been changed by another program; detach the file, "
        + "and attach it again")
  }
}

extension [FieldValue] {
  /// The state in a row of `tandem_state`.
  fileprivate func decodedState(path: String) throws(ReplicaError) -> ReplicaState {
    guard count == 8, case .integer(let format) = self[0] else {
      throw .damaged("tandem_state", path)
    }
    guard format == ReplicaTables.format || ReplicaTables.formerFormats.contains(format) else {
      throw ReplicaError(
        .schema,
        "\(path) was attached by another version of Tandem (format \(format)); use that version")
    }
    guard case .text(let space) = self[1], case .text(let replica) = self[2],
      case .integer(let sequence) = self[3], case .text(let digest) = self[5],
      case .text(let spaceDigest) = self[6], case .text(let pull) = self[7],
      let replica = SyncToken(replica), let digest = RecordDigest(digest),
      let spaceDigest = RecordDigest(spaceDigest), let pull = ReplicaState.PullNeed(rawValue: pull),
      (0..<Int64(SpaceRevision.maxVersion)).contains(sequence)
    else { throw .damaged("tandem_state", path) }
    var revision: SpaceRevision?
    if case .text(let text) = self[4] {
      guard let value = SpaceRevision(text) else { throw .damaged("tandem_state", path) }
      revision = value
    }
    return ReplicaState(
      space: space, replica: replica, sequence: Int(sequence), revision: revision,
      digest: digest, spaceDigest: spaceDigest, pullNeed: pull)
  }
}
