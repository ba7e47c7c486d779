import TandemRecords
import TandemSpace
import TandemSync
import TestRandom

/// A space on a real database, and what it has answered.
final class SimulatedSpace {
  private static let maxEventCount = 6

  /// The space as a backup has it.
  struct Backup {
    fileprivate let image: DatabaseImage
    fileprivate let acceptedCommits: Set<SyncToken>
  }

  let database: SimulatedDatabase
  private(set) var head: SpaceRevision
  /// The digests of all revisions that there have ever been.
  private(set) var digests: [SpaceRevision: RecordDigest] = [:]
  /// The last events. Replicas get them lost, repeated and in any order.
  private(set) var events: [SyncEvent] = []
  private var acceptedCommits: Set<SyncToken> = []
  private var time = 0
  private let limits: SyncLimits

  init(
    _ database: SimulatedDatabase, _ declarations: [SpaceTable], _ limits: SyncLimits,
    using random: inout SplitMix64
  ) throws {
    self.database = database
    self.limits = limits
    head = try database.write { connection in
      let tables = SpaceTables(connection)
      _ = try tables.declare(declarations)
      try tables.startNewHistory(using: &random)
      return try tables.state().head
    }
    digests[head] = .empty
  }

  var state: SpaceState {
    get throws { try database.read { try SpaceTables($0).state() } }
  }

  /// Answers a commit.
  ///
  /// - Returns: The outcome; true if the commit made a new version.
  /// - Throws: ``SimulationViolation`` if a commit is applied twice.
  func push(
    _ commit: SyncCommit, using random: inout SplitMix64
  ) throws -> (outcome: SyncOutcome, isNew: Bool) {
    time += 1
    let (outcome, state) = try database.write { connection in
      let tables = SpaceTables(connection, limits: limits)
      return (try tables.commit(commit, at: time, using: &random), try tables.state())
    }
    guard state.head != head else { return (outcome, false) }
    guard state.head.version == head.version + 1 else {
      throw SimulationViolation("the head went from \(head.version) to \(state.head.version)")
    }
    let former = head
    head = state.head
    digests[head] = state.digest
    guard acceptedCommits.insert(commit.id).inserted else {
      throw SimulationViolation("the commit \(commit.id) was applied twice")
    }
    if case .page(let page) = try pull(SyncPull(replica: nil, since: former)), page.next == nil {
      events = events.suffix(Self.maxEventCount - 1) + [.commit(from: former, page)]
    }
    return (outcome, true)
  }

  func pull(_ pull: SyncPull) throws -> SyncPullAnswer {
    try database.read { try SpaceTables($0, limits: limits).page(pull) }
  }

  /// The live records.
  func records() throws -> [SyncRecordState] {
    let all = SyncPull(replica: nil, since: nil)
    guard case .page(let page) = try database.read({ try SpaceTables($0).page(all) }) else {
      return []
    }
    return page.changes.filter { $0.fields != nil }
  }

  func forget(before version: Int) throws {
    try database.write { try SpaceTables($0).forget(before: version) }
  }

  func backup() throws -> Backup {
    Backup(image: try DatabaseImage(database), acceptedCommits: acceptedCommits)
  }

  func restore(_ backup: Backup, startsNewHistory: Bool, using random: inout SplitMix64) throws {
    try backup.image.restore(database)
    acceptedCommits = backup.acceptedCommits
    if startsNewHistory {
      try database.write { try SpaceTables($0).startNewHistory(using: &random) }
    }
    let state = try state
    head = state.head
    digests[head] = state.digest
  }
}

/// A law that does not hold.
struct SimulationViolation: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
