import Foundation
import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSync
import TestRandom
import Testing

@Suite("Rows that need unique values of other rows")
struct RowExchangeTests {
  let space: TestSpace

  init() throws { space = try TestSpace() }

  /// Two files with a table `t` of unique values, and a table `s` whose rows refer to it.
  private func pair(
    _ rows: [String: Int], policy: FieldPolicy? = nil, childrenOf parents: [String] = []
  ) throws -> [TestReplica] {
    let tables = [
      AttachedTable("t", policies: policy.map { ["u": $0] } ?? [:]), AttachedTable("s"),
    ]
    let replicas = try (1...2).map { seed in
      try TestReplica(
        seed: seed,
        [
          "CREATE TABLE t (id TEXT PRIMARY KEY, u INTEGER UNIQUE)",
          "CREATE TABLE s (id TEXT PRIMARY KEY, t TEXT NOT NULL REFERENCES t)",
        ], withBlindSpots: tables, space: space)
    }
    for replica in replicas { replica.merging = try replica.read { try $0.storedMerging() } }
    for (id, u) in rows { try replicas[0].execute("INSERT INTO t VALUES ('\(id)', \(u))") }
    for id in parents { try replicas[0].execute("INSERT INTO s VALUES ('c-\(id)', '\(id)')") }
    try converge(replicas, space)
    return replicas
  }

  /// Gives rows new values, of which others may have had some.
  private func exchange(_ replica: TestReplica, _ values: [String: Int]) throws {
    let ids = values.keys.map { "'\($0)'" }.joined(separator: ", ")
    let cases = values.map { "WHEN '\($0)' THEN \($1)" }.joined(separator: " ")
    try replica.execute("UPDATE t SET u = -1 - u WHERE id IN (\(ids))")
    try replica.execute("UPDATE t SET u = CASE id \(cases) END WHERE id IN (\(ids))")
  }

  /// The keys and unique values of the changes that a file has noted.
  private func noted(
    _ replica: TestReplica, _ kind: KeptEdit.Kind
  ) throws -> Set<[FieldValue]> {
    let rejections = try replica.rejected().filter { $0.kind == kind }
    return Set(rejections.map { $0.primaryKey + [$0.content?["u"] ?? .null] })
  }

  /// The keys and local unique values of the conflicts that are open.
  private func open(_ replica: TestReplica) throws -> Set<[FieldValue]> {
    let conflicts = try replica.conflicts(includingResolved: false)
    return Set(conflicts.map { $0.primaryKey + [$0.local?["u"] ?? .null] })
  }

  // MARK: Exchanges that overlap

  /// A pair of exchanges, the rows that both files have afterwards, and the edits of the second one that
  /// are noted.
  struct Overlap: Sendable {
    var first: [String: Int]
    var second: [String: Int]
    var policy: FieldPolicy?
    var result: [[FieldValue]]
    var rejected: Set<[FieldValue]>
    var open: Set<[FieldValue]> = []
  }

  private static let overlaps = [
    Overlap(
      first: ["k1": 5, "k5": 1], second: ["k2": 5, "k5": 7, "k7": 2],
      result: [["k1", 5], ["k2", 2], ["k5", 1], ["k6", 6], ["k7", 7]],
      rejected: [["k2", 5], ["k7", 2]], open: [["k5", 7]]),
    Overlap(
      first: ["k5": 6, "k6": 5], second: ["k2": 5, "k5": 9],
      result: [["k1", 1], ["k2", 2], ["k5", 6], ["k6", 5], ["k7", 7]], rejected: [["k2", 5]],
      open: [["k5", 9]]),
    Overlap(
      first: ["k1": 6, "k5": 1, "k6": 5], second: ["k2": 5, "k5": 9],
      result: [["k1", 6], ["k2", 2], ["k5", 1], ["k6", 5], ["k7", 7]], rejected: [["k2", 5]],
      open: [["k5", 9]]),
    Overlap(
      first: ["k1": 6, "k5": 1, "k6": 5], second: ["k2": 5, "k5": 7, "k7": 2],
      result: [["k1", 6], ["k2", 2], ["k5", 1], ["k6", 5], ["k7", 7]],
      rejected: [["k2", 5], ["k7", 2]], open: [["k5", 7]]),
    Overlap(
      first: ["k5": 8, "k6": 5], second: ["k2": 5, "k5": 9],
      result: [["k1", 1], ["k2", 2], ["k5", 8], ["k6", 5], ["k7", 7]], rejected: [["k2", 5]],
      open: [["k5", 9]]),
    Overlap(
      first: ["k5": 8, "k6": 5], second: ["k2": 5, "k5": 9], policy: .local,
      result: [["k1", 1], ["k2", 2], ["k5", 9], ["k6", 5], ["k7", 7]], rejected: [["k2", 5]]),
  ]

  @Test(
    "All edits that hold values of the space yield, each one to the next; no row goes",
    arguments: overlaps)
  func overlap(_ overlap: Overlap) throws {
    let replicas = try pair(
      ["k1": 1, "k2": 2, "k5": 5, "k6": 6, "k7": 7], policy: overlap.policy, childrenOf: ["k5"])
    try exchange(replicas[0], overlap.first)
    try exchange(replicas[1], overlap.second)
    for replica in replicas { try replica.sync(space) }
    try expectSoundReferences(replicas)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM t ORDER BY id", overlap.result)
    #expect(try noted(replicas[1], .edit) == overlap.rejected)
    #expect(try open(replicas[1]) == overlap.open)
    for replica in replicas { #expect(try noted(replica, .record).isEmpty) }
  }

  @Test(
    "Two swaps with one row in common end with the one that came first, whatever the policy",
    arguments: [nil, FieldPolicy.local, .remote, .maximum, .minimum])
  func swaps(policy: FieldPolicy?) throws {
    let replicas = try pair(["k0": 0, "k1": 1, "k3": 3], policy: policy)
    try exchange(replicas[0], ["k0": 1, "k1": 0])
    try exchange(replicas[1], ["k1": 3, "k3": 1])
    for replica in replicas { try replica.sync(space) }
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM t ORDER BY id", [["k0", 1], ["k1", 0], ["k3", 3]])
    for replica in replicas { #expect(try noted(replica, .record).isEmpty) }
  }

  @Test("A row that was added yields with its children, at the end of a chain as well")
  func additionAtTheEnd() throws {
    let replicas = try pair(["k1": 1, "k2": 2, "k5": 5], childrenOf: ["k1", "k2", "k5"])
    try exchange(replicas[0], ["k1": 5, "k5": 1])
    try exchange(replicas[1], ["k2": 5, "k5": 7])
    try replicas[1].execute("INSERT INTO t VALUES ('new', 2)")
    try replicas[1].execute("INSERT INTO s VALUES ('c-new', 'new')")
    try replicas[0].sync(space)
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM t ORDER BY id", [["k1", 5], ["k2", 2], ["k5", 1]])
    try expectEqualRows(replicas, "SELECT id FROM s ORDER BY id", [["c-k1"], ["c-k2"], ["c-k5"]])
    try expectSoundReferences(replicas)
    #expect(try noted(replicas[1], .edit) == [["k2", 5], ["new", 2], ["c-new", .null]])
  }

  @Test("An edit that cannot stay takes the space's version from an edit of another row")
  func secondIndex() throws {
    let replicas = try space.pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, u INTEGER UNIQUE, v INTEGER UNIQUE)"], "t",
      rows: ["INSERT INTO t VALUES ('a', 1, 1), ('b', 2, 2), ('c', 3, 3), ('d', 4, 4)"])
    for replica in replicas {
      replica.merging = ReplicaMerging(["t": TableMerging(fields: ["u": .policy(.keepLocal)])])
    }
    // The second file gives c the space's value of b, and d the space's value of c.
    try replicas[0].execute("UPDATE t SET u = 9, v = 20 WHERE id = 'b'")
    try replicas[0].execute("UPDATE t SET u = 8, v = 2 WHERE id = 'c'")
    try replicas[1].execute("UPDATE t SET u = 9 WHERE id = 'c'")
    try replicas[1].execute("UPDATE t SET u = 8 WHERE id = 'd'")
    try replicas[0].sync(space)
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM t ORDER BY id",
      [["a", 1, 1], ["b", 9, 20], ["c", 8, 2], ["d", 4, 4]])
    #expect(try noted(replicas[1], .edit) == [["c", 9], ["d", 8]])
  }

  // MARK: Rows that stay

  /// Two files with rows `k1`, `k2` and `k5`, and a child of `k5`. Only the second one has a unique index.
  private func unlikePair() throws -> [TestReplica] {
    space.ignoresRules = true
    let replicas = try zip(1...2, ["u INTEGER", "u INTEGER UNIQUE"]).map { seed, column in
      try TestReplica(
        seed: UInt64(seed),
        [
          "CREATE TABLE t (id TEXT PRIMARY KEY, \(column))",
          "CREATE TABLE s (id TEXT PRIMARY KEY, t TEXT NOT NULL REFERENCES t)",
        ], withBlindSpots: [AttachedTable("t"), AttachedTable("s")], space: space)
    }
    try replicas[0].execute("INSERT INTO t VALUES ('k1', 1), ('k2', 2), ('k5', 5)")
    try replicas[0].execute("INSERT INTO s VALUES ('c', 'k5')")
    try converge(replicas, space)
    return replicas
  }

  @Test("A row with a lost edit and no free value stays as it is, and nothing of it is sent")
  func staysWithoutFreeValue() throws {
    let replicas = try unlikePair()
    // Other rows have the space's values of k5, the new one and the former one.
    try replicas[0].execute("UPDATE t SET u = iif(id = 'k2', 5, 1)")
    try replicas[1].execute("UPDATE t SET u = 7 WHERE id = 'k5'")
    try replicas[0].sync(space)
    let records = try space.records()
    try converge(replicas, space)
    #expect(try space.records() == records)
    #expect(
      try replicas[1].rows("SELECT * FROM t ORDER BY id") == [["k1", 1], ["k2", 5], ["k5", 7]])
    try expectSoundReferences(replicas)
    #expect(try open(replicas[1]) == [["k5", 7]])
    #expect(try noted(replicas[1], .record) == [["k5", 1]])
    // The version of the space is tried again.
    try replicas[0].execute("UPDATE t SET u = 3 WHERE id = 'k1'")
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM t ORDER BY id", [["k1", 3], ["k2", 5], ["k5", 1]])
    #expect(try noted(replicas[1], .record).isEmpty)
  }

  @Test("A row without a free value that both files have added stays as it is, until it is changed")
  func additionStays() throws {
    let replicas = try unlikePair()
    for (replica, u) in zip(replicas, [1, 9]) {
      try replica.execute("INSERT INTO t VALUES ('new', \(u))")
    }
    try replicas[1].execute("INSERT INTO s VALUES ('c-new', 'new')")
    try converge(replicas, space)
    #expect(try replicas[0].rows("SELECT u FROM t WHERE id = 'new'") == [[1]])
    #expect(try replicas[1].rows("SELECT u FROM t WHERE id = 'new'") == [[9]])
    try expectSoundReferences(replicas)
    #expect(try open(replicas[1]) == [["new", 9]])
    #expect(try noted(replicas[1], .record) == [["new", 1]])
    try replicas[1].execute("UPDATE t SET u = 11 WHERE id = 'new'")
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM t ORDER BY id", [["k1", 1], ["k2", 2], ["k5", 5], ["new", 11]])
    #expect(try noted(replicas[1], .record).isEmpty)
  }

  // MARK: Random exchanges

  /// `TANDEM_FUZZ_SEED` is the first seed, `TANDEM_FUZZ_COUNT` the number of seeds.
  @Test("Any two exchanges end with equal files, all rows and their children; no edit is lost")
  func random() throws {
    let first = number("TANDEM_FUZZ_SEED") ?? 1
    for seed in first..<first + (number("TANDEM_FUZZ_COUNT") ?? 40) {
      var exchanges = RandomExchanges(seed: seed)
      let problems = try exchanges.run()
      guard problems.isEmpty else {
        Issue.record(
          """
          seed \(seed): \(problems.joined(separator: "\n"))
          repeat with: TANDEM_FUZZ_SEED=\(seed) TANDEM_FUZZ_COUNT=1 swift test \
          --filter RowExchangeTests
          """)
        return
      }
    }
  }

  private func number(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
  }

  /// Exchanges of unique values in two files, which synchronize one after the other.
  private struct RandomExchanges {
    private var random: SplitMix64

    init(seed: Int) { random = SplitMix64(seed: seed) }

    /// Returns the problems.
    mutating func run() throws -> [String] {
      let tests = try RowExchangeTests()
      let count = Int.random(in: 3...6, using: &random)
      let ids = (0..<count).map { "k\($0)" }
      let policies: [FieldPolicy?] = [nil, nil, .local, .remote, .maximum, .minimum]
      let policy = policies[Int.random(in: policies.indices, using: &random)]
      let replicas = try tests.pair(
        Dictionary(uniqueKeysWithValues: ids.enumerated().map { ($1, $0) }),
        policy: policy, childrenOf: ids)
      let exchanges = (0...1).map { exchange(of: count, fresh: 50 + $0) }
      for (replica, exchange) in zip(replicas, exchanges) { try tests.exchange(replica, exchange) }
      var problems: [String] = []
      for replica in replicas + replicas {
        try replica.sync(tests.space)
        let rows = try replica.rows("SELECT id FROM t")
        if rows.count != count { problems.append("only \(rows) are left") }
        let violations = try replica.rows("PRAGMA foreign_key_check")
        if !violations.isEmpty { problems.append("unsound references: \(violations)") }
      }
      let rows = try replicas.map { try $0.rows("SELECT * FROM t ORDER BY id") }
      if rows[0] != rows[1] { problems.append("the files differ: \(rows)") }
      for (id, value) in exchanges.flatMap({ $0 })
      where try !isFound(id, .integer(Int64(value)), replicas) {
        problems.append("the edit \(id)=\(value) is lost")
      }
      if !problems.isEmpty {
        problems.append("policy \(String(describing: policy)), exchanges \(exchanges)")
      }
      return problems
    }

    /// A cycle of some rows, in which one of them may get a fresh value.
    private mutating func exchange(of count: Int, fresh: Int) -> [String: Int] {
      let rows = Array(
        (0..<count).shuffled(using: &random).prefix(Int.random(in: 2...count, using: &random)))
      var values = rows.dropFirst() + rows.prefix(1)
      if Int.random(in: 0..<3, using: &random) == 0 { values[values.startIndex] = fresh }
      return Dictionary(uniqueKeysWithValues: zip(rows.map { "k\($0)" }, values))
    }

    /// True if a row, a conflict or a rejected edit has a value.
    private func isFound(
      _ id: String, _ value: FieldValue, _ replicas: [TestReplica]
    ) throws -> Bool {
      for replica in replicas {
        var found = try replica.rows("SELECT u FROM t WHERE id = '\(id)'").map { $0[0] }
        for conflict in try replica.conflicts() where conflict.primaryKey == [.text(id)] {
          found += [conflict.local, conflict.remote].compactMap { $0?["u"] }
        }
        for rejection in try replica.read({ try $0.keptEdits(.rejected) })
        where rejection.primaryKey == [.text(id)] {
          found += [rejection.content].compactMap { $0?["u"] }
        }
        if found.contains(value) { return true }
      }
      return false
    }
  }
}
