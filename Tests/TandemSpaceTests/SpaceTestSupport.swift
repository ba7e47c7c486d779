import TandemRecords
import TandemSQLite
import TandemSpace
import TandemSync
import TestRandom
import Testing

/// A space in memory, with random numbers of a seed.
final class TestSpace {
  let connection: DatabaseConnection
  var generator: SplitMix64
  private let limits: SyncLimits

  init(
    seed: Int = 1, limits: SyncLimits = SyncLimits(),
    tables: [SpaceTable] = [
      SpaceTable(name: "t", columns: ["a", "b"], keyColumns: ["id"], granularity: .field)
    ]
  ) throws {
    connection = try DatabaseConnection(path: ":memory:")
    generator = SplitMix64(seed: seed)
    self.limits = limits
    _ = try run { try $0.create(using: &$1) }
    _ = try run { space, _ in try space.declare(tables) }
  }

  /// Runs `body` in a transaction.
  @discardableResult
  func run<Value>(_ body: (SpaceTables, inout SplitMix64) throws -> Value) throws -> Value {
    try connection.transaction { try body(SpaceTables(connection, limits: limits), &generator) }
  }

  var state: SpaceState { get throws { try run { space, _ in try space.state() } } }

  var head: SpaceRevision { get throws { try state.head } }

  func commit(
    _ commit: SyncCommit, account: String? = nil, at time: Int = 1_000
  ) throws -> SyncOutcome {
    try run { try $0.commit(commit, account: account, at: time, using: &$1) }
  }

  func page(_ pull: SyncPull) throws -> SyncPullAnswer {
    try run { space, _ in try space.page(pull) }
  }

  /// All changes after a revision, page by page; `between` runs after each page but the last.
  func changes(
    since: SpaceRevision?, pageSize: Int = .max, between: () throws -> Void = {}
  ) throws -> (changes: [SyncRecordState], last: SyncPage) {
    var changes: [SyncRecordState] = []
    var cursor: String?
    while true {
      let pull = SyncPull(replica: nil, since: since, cursor: cursor, maxChangeCount: pageSize)
      guard case .page(let page) = try page(pull) else { throw GoneInTest() }
      changes += page.changes
      guard let next = page.next else { return (changes, page) }
      cursor = next
      try between()
    }
  }
}

struct GoneInTest: Error {}

/// Makes the commits of one replica.
struct TestReplica {
  var id: SyncToken
  var sequence = 0
  private var generator: SplitMix64

  init(seed: Int) {
    generator = SplitMix64(seed: seed &+ 1_000_000)
    id = SyncToken.random(using: &generator)
  }

  mutating func commit(_ base: SpaceRevision, _ changes: [SyncChange]) -> SyncCommit {
    sequence += 1
    return SyncCommit(
      replica: id, sequence: sequence, id: SyncToken.random(using: &generator), base: base,
      changes: changes)
  }
}

func change(_ id: FieldValue, _ verb: SyncChange.Verb) -> SyncChange {
  SyncChange(key: SyncKey(table: "t", id: [id]), verb: verb)
}

extension SyncOutcome {
  /// The revision of an accepted commit.
  func accepted() throws -> SpaceRevision {
    guard case .accepted(let revision, _) = self else { throw NotAccepted(outcome: self) }
    return revision
  }
}

struct NotAccepted: Error { let outcome: SyncOutcome }
