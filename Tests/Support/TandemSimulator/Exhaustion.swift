import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestRandom

/// Visits all states that two replicas of one record with two fields can reach: each action, crash
/// and delivery of a message at each moment, in every order. Or those of two rows with a unique column, and of a row
/// that refers to one of them.
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
  enum Operation: String {
    case insert, set, add, delete, resolve
    // Those of rows with rules.
    case addFirst, addSecond, change, exchange, addChild, moveChild, deleteFirst, deleteChild

    static let ofRecord: [Operation] = [.insert, .set, .add, .delete, .resolve]
    static let ofRows: [Operation] = [
      .addFirst, .addSecond, .change, .exchange, .addChild, .moveChild, .deleteFirst, .deleteChild,
    ]
  }

  /// The number of edits that are made after the start.
  let operationCount: Int
  /// The number of interruptions at most: crashes, lost and repeated messages, and steps between those
  /// of a synchronization that is under way. Most mistakes need few of them (Musuvathi and Qadeer,
  /// "Iterative Context Bounding for Systematic Testing of Multithreaded Programs", 2007).
  let maxInterruptionCount: Int
  /// True for two rows with a unique column and one that refers to them, in place of one record.
  let hasRules: Bool
  /// True if all orders of steps that commute are visited, and all states within a synchronization, to see
  /// that they lead to the same states.
  let visitsAllOrders: Bool
  /// The number of edits that the start has.
  var startEditCount = 0
  /// The files of all replicas.
  var replicas: [SyncToken: Int] = [:]
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
  var pushed: [Pair: Int32?] = [:]
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
    operationCount: Int, maxInterruptionCount: Int = .max, hasRules: Bool = false,
    visitsAllOrders: Bool = false
  ) throws {
    self.operationCount = operationCount
    self.maxInterruptionCount = maxInterruptionCount
    self.hasRules = hasRules
    self.visitsAllOrders = visitsAllOrders
    file = try SimulatedDatabase(hasForeignKeys: hasRules)
    spaceDatabase = try SimulatedDatabase(hasForeignKeys: false)
    var random = SplitMix64(seed: 1)
    try file.write { connection in
      let tables = hasRules ? Exhaustion.tablesWithRules : Exhaustion.tables
      for (_, creation) in tables { try connection.execute(creation) }
      try connection.execute("CREATE TABLE edits (count INTEGER, names TEXT)")
      try connection.execute("INSERT INTO edits VALUES (0, '')")
      try file.replica(connection).attach(
        tables.map { AttachedTable($0.name) }, to: "space", using: &random)
    }
    let declarations = try file.read { try file.replica($0).declarations() }
    try spaceDatabase.write { connection in
      _ = try SpaceTables(connection).create(using: &random)
      _ = try SpaceTables(connection).declare(declarations)
    }
  }

  private static let tables = [
    (name: "t", creation: "CREATE TABLE t (id TEXT PRIMARY KEY, x TEXT, n INTEGER)")
  ]
  private static let tablesWithRules = [
    (name: "p", creation: "CREATE TABLE p (id TEXT PRIMARY KEY, x TEXT UNIQUE)"),
    (name: "c", creation: "CREATE TABLE c (id TEXT PRIMARY KEY, p TEXT REFERENCES p)"),
  ]

  /// The two files without a record, and a space that is empty.
  func emptyStart() throws -> State {
    let image = files.number(of: try DatabaseImage(file))
    return try started(
      State(
        files: [image, image], space: spaces.number(of: try DatabaseImage(spaceDatabase)),
        drivers: [], ledger: ledgers.number(of: CompactLedger())))
  }

  /// Both files and the space with the same record, which neither of the files' replicas has made.
  func synchronizedStart() throws -> State {
    let start = try emptyStart()
    var state = try edit(start, 0, hasRules ? .addFirst : .insert) ?? start
    while let next = try settling(state)?.state { state = next }
    return try started(state)
  }

  /// A state whose files are new replicas, with new sessions.
  private func started(_ state: State) throws -> State {
    var state = state
    for number in 0..<2 {
      let replica = SyncToken(bits: UInt128(replicas.count + 1))
      replicas[replica] = number
      try files[state.files[number]].restore(file)
      try file.write { connection in
        try connection.run(
          "UPDATE tandem_state SET replica = ?, sequence = 0", [.text(replica.description)])
      }
      state.files[number] = files.number(of: try DatabaseImage(file))
    }
    let new = Driver(session: sessions.number(of: SyncSession()))
    state.drivers = [new, new]
    return state
  }
}
