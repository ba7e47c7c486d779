import Synchronization
import TandemRecords
import TandemSQLite
import TandemSpace
import TandemSync
import TestRandom
import Testing

@testable import TandemPostgreSQL

/// A space in memory or in PostgreSQL (``TestStore``), with random numbers of a seed.
final class TestSpace {
  private enum Rows {
    case sqlite(DatabaseConnection)
    case postgreSQL(PostgreSQLConnection, space: Int64)
  }

  private let rows: Rows
  var generator: SplitMix64
  var limits: SyncLimits

  init(
    seed: Int = 1, limits: SyncLimits = SyncLimits(),
    tables: [SpaceTable] = [
      SpaceTable(name: "t", columns: ["a", "b"], keyColumns: ["id"], granularity: .field)
    ]
  ) throws {
    rows =
      switch TestStore.current {
      case .sqlite: .sqlite(try DatabaseConnection(path: ":memory:"))
      case .postgreSQL:
        .postgreSQL(
          try PostgreSQLConnection(address: try TestStore.address.get()),
          space: Self.lastSpace.add(-1, ordering: .relaxed).newValue)
      }
    generator = SplitMix64(seed: seed)
    self.limits = limits
    _ = try run { try $0.create(using: &$1) }
    _ = try run { space, _ in try space.declare(tables) }
  }

  /// Runs `body` in a transaction.
  @discardableResult
  func run<Value>(_ body: (SpaceTables, inout SplitMix64) throws -> Value) throws -> Value {
    switch rows {
    case .sqlite(let connection):
      return try connection.transaction {
        try body(SpaceTables(connection, limits: limits), &generator)
      }
    case .postgreSQL(let connection, let space):
      let rows = PostgreSQLSpaceConnection(
        connection, space: space, place: "space \(space)", writes: true)
      do {
        let value = try body(SpaceTables(rows, limits: limits), &generator)
        try rows.commit()
        return value
      } catch {
        rows.rollBack()
        throw error
      }
    }
  }

  /// Spaces of this kind have no names, and numbers below those that PostgreSQL gives.
  private static let lastSpace = Atomic<Int64>(0)

  /// The file, for a test that is only on SQLite.
  var connection: DatabaseConnection {
    guard case .sqlite(let connection) = rows else {
      preconditionFailure("a test that looks into the file has the trait onlyOnSQLite")
    }
    return connection
  }

  /// The stored rows of a table.
  func rows(
    _ columns: String, of table: String, by order: String = "1"
  ) throws -> [[FieldValue]] {
    switch rows {
    case .sqlite(let connection):
      return try connection.rows("SELECT \(columns) FROM \(table) ORDER BY \(order)")
    case .postgreSQL(let connection, let space):
      let query = PostgreSQLQuery(
        "SELECT \(columns) FROM tandem.\(table) WHERE space = $1 ORDER BY \(order)",
        [.value(.integer(space))])
      return try connection.exchange([query])[0]
    }
  }

  var state: SpaceState { get throws { try run { space, _ in try space.state() } } }

  var head: SpaceRevision { get throws { try state.head } }

  func commit(
    _ commit: SyncCommit, account: String? = nil, at time: Int = 1_000
  ) throws -> SyncOutcome {
    // As in a store, the transaction is committed even if this commit fails.
    try run { space, generator in
      let entry = CommitQueue.Entry(commit: commit, account: account)
      return try space.answer([entry], at: time, using: &generator)[0]
    }.get()
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
