import TandemRecords
import TandemSpace
import TandemSync
import TestRandom

/// A space on a real database, and what it has answered.
final class SimulatedSpace {
  private static let maxEventCount = 6
  /// The time from one push to the next, in milliseconds: soon, parts of one commit may replace those of another one.
  private static let pushDuration = SpaceTables.minPartAge / 3

  /// The space as a backup has it.
  struct Backup {
    fileprivate let image: DatabaseImage?
    fileprivate let rows: SimulatedPostgreSQL.Rows?
    fileprivate let acceptedCommits: Set<SyncToken>
  }

  /// The file of the space, which has no rows if they are in PostgreSQL.
  let database: SimulatedDatabase
  private let postgreSQL: SimulatedPostgreSQL?
  private(set) var head: SpaceRevision
  /// The digests of all revisions that there have ever been.
  private(set) var digests: [SpaceRevision: RecordDigest] = [:]
  /// The last events. Replicas get them lost, repeated and in any order.
  private(set) var events: [SyncEvent] = []
  private var acceptedCommits: Set<SyncToken> = []
  private var time = 0
  var limits: SyncLimits
  /// Called when the head has changed.
  var onChange: () -> Void = {}

  init(
    _ pool: DatabasePool, _ declarations: [SpaceTable], _ limits: SyncLimits,
    using random: inout SplitMix64
  ) throws {
    database = try pool.space()
    postgreSQL = pool.postgreSQL
    self.limits = limits
    try postgreSQL?.startEmpty()
    head = try Self.write(database, postgreSQL) { tables in
      _ = try tables.declare(declarations)
      try tables.startNewHistory(using: &random)
      return try tables.state().head
    }
    digests[head] = .empty
  }

  var state: SpaceState {
    get throws { try read { try $0.state() } }
  }

  func read<Value>(
    _ limits: SyncLimits = SyncLimits(), _ body: (SpaceTables) throws -> Value
  ) throws -> Value {
    if let postgreSQL { return try postgreSQL.transaction(writes: false, limits, body) }
    return try database.read { try body(SpaceTables($0, limits: limits)) }
  }

  func write<Value>(
    _ limits: SyncLimits = SyncLimits(), _ body: (SpaceTables) throws -> Value
  ) throws -> Value {
    try Self.write(database, postgreSQL, limits, body)
  }

  private static func write<Value>(
    _ database: SimulatedDatabase, _ postgreSQL: SimulatedPostgreSQL?,
    _ limits: SyncLimits = SyncLimits(), _ body: (SpaceTables) throws -> Value
  ) throws -> Value {
    if let postgreSQL { return try postgreSQL.transaction(writes: true, limits, body) }
    return try database.write { try body(SpaceTables($0, limits: limits)) }
  }

  /// The answer to a commit.
  struct Answer {
    let result: Result<SyncOutcome, any Error>
    /// The revision that the commit itself made; `nil` if it made none now. Amendments may have made another one after
    /// it.
    let made: SpaceRevision?
    var isNew: Bool { made != nil }
  }

  /// Answers commits in one transaction.
  ///
  /// - Throws: ``SimulationViolation`` if a commit is applied twice; ``ProgramKilled``.
  func push(
    _ entries: [CommitQueue.Entry], using random: inout SplitMix64
  ) throws -> [Answer] {
    time += Self.pushDuration
    let answers = try write(limits) { tables in
      try entries.map { entry in
        let result = try tables.answer(entry, at: time, using: &random)
        let state = try tables.state()
        return (result, state, try tables.fate(of: entry.commit.id, state))
      }
    }
    return try zip(entries, answers).map { entry, answer in
      let isNew = try note(answer.1, answer.2, after: entry.commit)
      return Answer(result: answer.0, made: isNew ? answer.2 : nil)
    }
  }

  /// Takes note of the state after a commit; returns true if it is a new one.
  ///
  /// - Parameter made: The revision that the commit itself made.
  private func note(
    _ state: SpaceState, _ made: SpaceRevision?, after commit: SyncCommit
  ) throws -> Bool {
    guard state.head != head else { return false }
    guard made?.version == head.version + 1,
      state.head == made || state.head.version == head.version + 2
    else {
      throw SimulationViolation("the head went from \(head.version) to \(state.head.version)")
    }
    let former = head
    head = state.head
    digests[head] = state.digest
    onChange()
    guard acceptedCommits.insert(commit.id).inserted else {
      throw SimulationViolation("the commit \(commit.id) was applied twice")
    }
    if case .page(let page) = try pull(SyncPull(replica: nil, since: former)), page.next == nil {
      events = events.suffix(Self.maxEventCount - 1) + [.commit(from: former, page)]
    }
    return true
  }

  func pull(_ pull: SyncPull, account: String? = nil) throws -> SyncPullAnswer {
    try read(limits) { try $0.page(pull, account: account) }
  }

  /// The live records.
  func records() throws -> [SyncRecordState] {
    let all = SyncPull(replica: nil, since: nil)
    let answer = try read { try $0.page(all) }
    guard case .page(let page) = answer else { return [] }
    return page.changes.filter { $0.fields != nil }
  }

  /// Declares the tables of a replica. No kill meets it.
  ///
  /// - Returns: The tables of the space, with the rules of all replicas.
  func declare(_ tables: [SpaceTable]) throws -> [SpaceTable] {
    let kill = database.nextKill
    database.nextKill = nil
    defer { database.nextKill = kill }
    return try write { try $0.declare(tables) }
  }

  func forget(before version: Int) throws {
    try write { try $0.forget(before: version) }
  }

  func backup() throws -> Backup {
    Backup(
      image: postgreSQL == nil ? try DatabaseImage(database) : nil, rows: try postgreSQL?.rows(),
      acceptedCommits: acceptedCommits)
  }

  func restore(_ backup: Backup, startsNewHistory: Bool, using random: inout SplitMix64) throws {
    try backup.image?.restore(database)
    if let rows = backup.rows { try postgreSQL?.restore(rows) }
    acceptedCommits = backup.acceptedCommits
    if startsNewHistory {
      try write { try $0.startNewHistory(using: &random) }
    }
    let state = try state
    head = state.head
    digests[head] = state.digest
    onChange()
  }
}

/// A law that does not hold.
struct SimulationViolation: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
