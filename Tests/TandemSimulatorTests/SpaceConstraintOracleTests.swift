import TandemRecords
import TandemSQLite
import TandemSpace
import TandemSync
import TestRandom
import Testing

@testable import TandemSimulator

/// Random commits on a space with constraints, judged by the naive oracle too, and its records at each version,
/// judged by SQLite's own tables.
@Suite("Oracle of the constraints of a space")
struct SpaceConstraintOracleTests {
  private static let seedCount = 16
  private static let commitCount = 100

  @Test(
    "The space and the oracle agree on each commit, and every version satisfies all constraints",
    arguments: 0..<seedCount)
  func randomCommits(seed: Int) throws {
    var run = try ConstraintRun(seed: seed)
    for _ in 0..<Self.commitCount { try run.step() }
    #expect(run.outcomes["accepted", default: 0] > 9, "seed \(seed): \(run.outcomes)")
  }

  @Test("The random commits meet all outcomes of constraints")
  func coverage() throws {
    var outcomes: [String: Int] = [:]
    for seed in 100..<106 {
      var run = try ConstraintRun(seed: seed)
      for _ in 0..<Self.commitCount { try run.step() }
      outcomes.merge(run.outcomes, uniquingKeysWith: +)
    }
    for outcome in ["conflict", "refused"] {
      for reason in ["taken", "missingParent", "needed"] {
        #expect(outcomes["\(outcome) \(reason)", default: 0] > 1, "\(outcomes)")
      }
    }
    #expect(outcomes["conflict changed", default: 0] > 1)
    #expect(outcomes["refused unclaimed", default: 0] > 1)
    #expect(outcomes["settled", default: 0] > 1, "no pending constraint came to hold")
  }
}

/// A space, its oracle, and replicas that commit at random, often to revisions that are old.
private struct ConstraintRun {
  private static let schema = [
    """
    CREATE TABLE cat (
      id PRIMARY KEY COLLATE NOCASE NOT NULL, name TEXT COLLATE NOCASE UNIQUE, code INTEGER, lo, hi,
      UNIQUE (lo, hi))
    """,
    "CREATE UNIQUE INDEX cat_code ON cat (code)",
    """
    CREATE TABLE item (
      id INTEGER PRIMARY KEY NOT NULL, cat REFERENCES cat (id), tag REFERENCES cat (name),
      code TEXT REFERENCES cat (code), next REFERENCES item (id), lo, hi, n)
    """,
    """
    CREATE TABLE pair (
      id NOT NULL, part NOT NULL, lo, hi, PRIMARY KEY (id, part),
      FOREIGN KEY (lo, hi) REFERENCES cat (lo, hi), FOREIGN KEY (hi, lo) REFERENCES pair (part, id))
    """,
  ]

  /// An index of which commits state random values.
  private static let index = SpaceIndex(
    name: "i", sql: "CREATE UNIQUE INDEX i ON cat (stated(code, lo))",
    columns: [ComparedColumn("code"), ComparedColumn("lo")])

  /// The constraints of the tables; each is declared at some time.
  private static let constraints: [(table: String, constraint: SpaceConstraint)] = [
    ("cat", .unique([ComparedColumn("id", .nocase)])),
    ("cat", .unique([ComparedColumn("name", .nocase)])),
    ("cat", .unique([ComparedColumn("lo"), ComparedColumn("hi")])),
    ("cat", .unique([ComparedColumn("code")])),
    ("cat", .index(index)),
    ("item", .reference(["cat"], to: "cat", [ComparedColumn("id", .nocase)])),
    ("item", .reference(["tag"], to: "cat", [ComparedColumn("name", .nocase, .text)])),
    ("item", .reference(["code"], to: "cat", [ComparedColumn("code", .binary, .integer)])),
    ("item", .reference(["next"], to: "item", [ComparedColumn("id", .binary, .integer)])),
    ("item", .together(["lo", "hi"])),
    ("item", .together(["hi", "n"])),
    ("pair", .reference(["lo", "hi"], to: "cat", [ComparedColumn("lo"), ComparedColumn("hi")])),
    (
      "pair", .reference(["hi", "lo"], to: "pair", [ComparedColumn("part"), ComparedColumn("id")])
    ),
  ]

  private static let columns = [
    "cat": ["name", "code", "lo", "hi"], "item": ["cat", "tag", "code", "next", "lo", "hi", "n"],
    "pair": ["lo", "hi"],
  ]
  private static let keys = ["cat": ["id"], "item": ["id"], "pair": ["id", "part"]]

  private let seed: Int
  private var random: SplitMix64
  private let connection: DatabaseConnection
  private var oracle: SpaceOracle
  private var revisions: [SpaceRevision]
  private var sequences = [Int](repeating: 0, count: 3)
  private var declared: Set<Int>
  private(set) var outcomes: [String: Int] = [:]

  init(seed: Int) throws {
    self.seed = seed
    random = SplitMix64(seed: seed)
    connection = try DatabaseConnection(path: ":memory:")
    _ = try SpaceTables(connection).create(using: &random)
    // Mostly all are declared at once; sometimes later, when records break them.
    let isLate = Int.random(in: 0..<3, using: &random) == 0
    declared = Set(isLate ? [] : Array(Self.constraints.indices))
    let tables = Self.tables(declared)
    _ = try SpaceTables(connection).declare(tables)
    let head = try SpaceTables(connection).state().head
    oracle = SpaceOracle(head: head, tables, SyncLimits())
    revisions = [head]
  }

  private static func tables(_ declared: Set<Int>) -> [SpaceTable] {
    ["pair", "item", "cat"].map { name in
      SpaceTable(
        name: name, columns: columns[name] ?? [], keyColumns: keys[name] ?? [], granularity: .field,
        constraints: constraints.indices.filter {
          constraints[$0].table == name && declared.contains($0)
        }.map { constraints[$0].constraint })
    }
  }

  mutating func step() throws {
    if Int.random(in: 0..<8, using: &random) == 0 { try declareOneMore() }
    let replica = sequences.indices.randomElement(using: &random) ?? 0
    sequences[replica] += 1
    let age = Int.random(in: 0..<10, using: &random) < 6 ? 1 : Int.random(in: 1...6, using: &random)
    let base = revisions[max(0, revisions.count - age)]
    let commit = SyncCommit(
      replica: SyncToken(bits: UInt128(replica + 1)), sequence: sequences[replica],
      id: SyncToken.random(using: &random), base: base, changes: try changes())
    let pending = try pendingCount()
    let outcome = try connection.transaction {
      try SpaceTables(connection).commit(commit, at: 1, using: &random)
    }
    do { try oracle.check(commit, outcome) } catch {
      Issue.record("seed \(seed), \(commit.changes) on \(base.version): \(error)")
      throw error
    }
    note(outcome)
    if try pendingCount() < pending { outcomes["settled", default: 0] += 1 }
    if case .accepted(let revision, _) = outcome {
      revisions.append(revision)
      try checkRecords()
    }
  }

  private mutating func declareOneMore() throws {
    guard
      let next = Self.constraints.indices.filter({ !declared.contains($0) })
        .randomElement(using: &random)
    else { return }
    declared.insert(next)
    let tables = Self.tables(declared)
    _ = try connection.transaction { try SpaceTables(connection).declare(tables) }
    oracle.declare(tables)
  }

  private func pendingCount() throws -> Int {
    try SpaceTables(connection).state().tables.reduce(0) { $0 + $1.pending.count }
  }

  private mutating func note(_ outcome: SyncOutcome) {
    switch outcome {
    case .accepted: outcomes["accepted", default: 0] += 1
    case .conflict(let objections):
      for objection in objections {
        outcomes["conflict \(objection.reason.rawValue)", default: 0] += 1
      }
    case .refused(let objections):
      for objection in objections {
        outcomes["refused \(objection.reason.rawValue)", default: 0] += 1
      }
    case .parts, .sequence, .gone: Issue.record("seed \(seed): \(outcome)")
    }
  }

  // MARK: - Changes

  private mutating func changes() throws -> [SyncChange] {
    var changes: [SyncKey: SyncChange] = [:]
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let table = ["cat", "cat", "item", "item", "pair"].randomElement(using: &random) ?? "cat"
      let key = SyncKey(table: table, id: (Self.keys[table] ?? []).map { _ in id(table) })
      let lives = try SpaceTables(connection).record(key)?.fields != nil
      let isRight = Int.random(in: 0..<40, using: &random) > 0
      let verb: SyncChange.Verb
      if lives == isRight {
        let isDeletion = Int.random(in: 0..<4, using: &random) == 0
        let isCount = table == "item" && Int.random(in: 0..<6, using: &random) == 0
        verb =
          isDeletion ? .delete : isCount ? .add(["n": 1]) : .update(fields(table, isWhole: false))
      } else {
        verb = .insert(fields(table, isWhole: true))
      }
      changes[key] = SyncChange(key: key, verb: verb, claims: table == "cat" ? claims() : [:])
    }
    return changes.values.sorted { $0.key < $1.key }
  }

  private mutating func claims() -> [String: [FieldValue]] {
    let values: [[FieldValue]] = [[], [], [], [], ["p"], ["q"], ["p", "q"], [1], [1.0], [.null]]
    let isStated = Int.random(in: 0..<30, using: &random) > 0
    return isStated ? [Self.index.sql: values.randomElement(using: &random) ?? []] : [:]
  }

  private mutating func id(_ table: String) -> FieldValue {
    if table == "item" { return .integer(Int64.random(in: 1...5, using: &random)) }
    return ["a", "A", "b", "c", "d", "é"].randomElement(using: &random) ?? "a"
  }

  private mutating func fields(_ table: String, isWhole: Bool) -> Record {
    var fields: [(name: String, value: FieldValue)] = []
    for name in Self.columns[table] ?? [] where isWhole || Bool.random(using: &random) {
      fields.append((name, value(of: name, table)))
    }
    return Record(fields) ?? [:]
  }

  /// A value as the column stores it.
  private mutating func value(of name: String, _ table: String) -> FieldValue {
    if name == "n" { return 1 }
    // Most references are null, or hardly any commit is accepted.
    let isNull = Int.random(in: 0..<3, using: &random) == 0
    if isNull != (table == "item") { return .null }
    let values: [FieldValue] =
      switch (table, name) {
      case ("cat", "name"), ("item", "tag"): ["a", "A", "b", "c\0d", "c\0D", "c\0de", "ß"]
      case ("cat", "code"): [1, 2, 3]
      case ("item", "code"): ["1", "2", "3", "02"]
      case ("item", "cat"): ["a", "b", "B", "c", "d", "é", "É"]
      case ("item", "next"): [1, 2, 3, "4", 5.0]
      case ("pair", _): ["a", "b", "A", 1, 1.0]
      default: [1, 2, 1.0, "a", "b", "A"]
      }
    return values.randomElement(using: &random) ?? .null
  }

  // MARK: - The law

  /// Writes all records into tables with the constraints that hold: SQLite refuses none.
  private func checkRecords() throws {
    let state = try SpaceTables(connection).state()
    let holding = Self.constraints.filter { entry in
      state.tables.first { $0.name == entry.table }?.constraints?.contains(entry.constraint) == true
    }
    let missing = Self.constraints.filter { entry in
      if case .index = entry.constraint { return false }
      return !holding.contains { $0 == entry }
    }
    guard missing.isEmpty else { return }
    let other = try DatabaseConnection(path: ":memory:")
    for statement in Self.schema { try other.execute(statement) }
    try other.execute("PRAGMA foreign_keys=OFF")
    guard
      case .page(let page) = try SpaceTables(connection).page(SyncPull(replica: nil, since: nil))
    else { return }
    for record in page.changes {
      guard let fields = record.fields else { continue }
      let names = (Self.keys[record.key.table] ?? []) + fields.layout.names
      let values = record.key.id + fields.values
      try other.run(
        "INSERT INTO \(record.key.table) (\(names.joined(separator: ", "))) VALUES "
          + "(\(names.map { _ in "?" }.joined(separator: ", ")))", values)
    }
    let orphans = try other.rows("PRAGMA foreign_key_check")
    #expect(orphans.isEmpty, "seed \(seed), version \(state.head.version): \(orphans)")
  }
}
