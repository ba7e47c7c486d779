import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestRandom

/// Visits all states that two replicas of one record with two fields can reach: each action, crash
/// and delivery of a message at each moment, in every order.
///
/// A message that was sent may arrive at any later moment, any number of times or never. Each state is
/// also continued without accidents until all is synchronized, and the laws of the end are checked.
///
/// Of several orders of independent steps, one is visited (partial-order reduction).
///
/// The databases are real. A step depends on the rows of one of them only, so each is performed once and
/// its result reused.
final class Exhaustion {
  /// The state of everything, as numbers of interned parts.
  struct State: Hashable {
    var files: [Int32]
    var space: Int32
    var drivers: [Driver]
    /// The commits on their way that the space has not processed.
    var commits: [Int32] = []
    var ledger: Int32
    /// The program whose synchronization is under way, if interruptions are counted.
    var running: Int?
  }

  /// A program that synchronizes a file.
  struct Driver: Hashable {
    var session: Int32
    var action: Int32?
    var request: Int32?
    /// The answers to the request that are on their way.
    var answers: [Int32] = []

    /// True if a synchronization is under way.
    var isActive: Bool { action != nil || request != nil }
  }

  enum Request: Hashable {
    case push(SyncCommit)
    case pull(SyncPull)
  }

  /// An edit, as a program makes it.
  enum Operation: String, CaseIterable {
    case insert, set, add, delete, resolve
  }

  /// The number of edits that are made after the start.
  let operationCount: Int
  /// The number of interruptions at most: crashes, lost and repeated messages, and steps between those
  /// of a synchronization that is under way. Most mistakes need few of them (Musuvathi and Qadeer,
  /// "Iterative Context Bounding for Systematic Testing of Multithreaded Programs", 2007).
  let maxInterruptionCount: Int
  /// True if all orders of steps that commute are visited, and all states within a synchronization, to see
  /// that they lead to the same states.
  let visitsAllOrders: Bool
  /// The number of edits that the start has.
  var startEditCount = 0
  let file: SimulatedDatabase
  let spaceDatabase: SimulatedDatabase
  let merging = ReplicaMerging([
    "t": TableMerging(fields: ["n": .counter], record: .editBeatsDelete)
  ])

  var files = Interned<DatabaseImage>()
  var spaces = Interned<DatabaseImage>()
  var sessions = Interned<SyncSession>()
  var actions = Interned<SyncSession.Action>()
  var events = Interned<SyncSession.Event>()
  var requests = Interned<Request>()
  var ledgers = Interned<CompactLedger>()
  var fileViews: [Int32: FileView] = [:]
  var spaceViews: [Int32: SpaceView] = [:]
  var performed: [Pair: Pair] = [:]
  var handled: [Pair: Reaction] = [:]
  var answered: [Pair: Pair] = [:]
  var edited: [Edit: Int32] = [:]
  /// The number of edits in a file when a commit was frozen.
  var frozenCounts: [SyncToken: Int] = [:]
  var settled: Set<Fingerprint> = []
  /// The ends of synchronizations that nothing interrupts, by their beginnings.
  var finished: [State: State] = [:]

  struct Pair: Hashable {
    let first: Int32
    let second: Int32
  }

  struct Edit: Hashable {
    let file: Int32
    let operation: Operation
    let number: Int
  }

  struct Reaction {
    let session: Int32
    let action: Int32?
    let status: SyncStatus?
  }

  init(
    operationCount: Int, maxInterruptionCount: Int = .max, visitsAllOrders: Bool = false
  ) throws {
    self.operationCount = operationCount
    self.maxInterruptionCount = maxInterruptionCount
    self.visitsAllOrders = visitsAllOrders
    file = try SimulatedDatabase(hasForeignKeys: false)
    spaceDatabase = try SimulatedDatabase(hasForeignKeys: false)
    var random = SplitMix64(seed: 1)
    try file.write { connection in
      try connection.execute("CREATE TABLE t (id TEXT PRIMARY KEY, x TEXT, n INTEGER)")
      try connection.execute("CREATE TABLE edits (count INTEGER)")
      try connection.execute("INSERT INTO edits VALUES (0)")
      try file.replica(connection).attach([AttachedTable("t")], to: "space", using: &random)
    }
    let declarations = try file.read { try file.replica($0).declarations() }
    try spaceDatabase.write { connection in
      _ = try SpaceTables(connection).create(using: &random)
      _ = try SpaceTables(connection).declare(declarations)
    }
  }

  /// The two files without a record, and a space that is empty.
  func emptyStart() throws -> State {
    var numbers: [Int32] = []
    for number in 0..<2 {
      try file.write { connection in
        try connection.run(
          "UPDATE tandem_state SET replica = ?",
          [.text(SyncToken(bits: UInt128(number + 1)).description)])
      }
      numbers.append(files.number(of: try DatabaseImage(file)))
    }
    let new = Driver(session: sessions.number(of: SyncSession()))
    return State(
      files: numbers, space: spaces.number(of: try DatabaseImage(spaceDatabase)),
      drivers: [new, new], ledger: ledgers.number(of: CompactLedger()))
  }

  /// Both files and the space with the same record.
  func synchronizedStart() throws -> State {
    let start = try emptyStart()
    var state = try edit(start, 0, .insert) ?? start
    while let next = try settling(state)?.state { state = next }
    for number in 0..<2 {
      state.drivers[number] = Driver(session: sessions.number(of: SyncSession()))
    }
    return state
  }
}
