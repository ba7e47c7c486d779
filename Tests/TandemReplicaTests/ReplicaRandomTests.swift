import Foundation
import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestRandom
import Testing

/// Random edits in three files, while requests, answers and pages get lost or come twice.
///
/// `TANDEM_FUZZ_SEED` is the first seed, `TANDEM_FUZZ_COUNT` the number of seeds.
@Suite("Random edits under faults", .timeLimit(.minutes(20)))
struct ReplicaRandomTests {
  @Test(
    "All files end equal to the space, each edit is final, overwritten or recorded, and counts add up"
  )
  func random() throws {
    let first = number("TANDEM_FUZZ_SEED") ?? 1
    for seed in first..<first + (number("TANDEM_FUZZ_COUNT") ?? 8) {
      let issueCount = try RandomWorld(seed: seed).run()
      if issueCount > 0 {
        Issue.record(
          """
          repeat with: TANDEM_FUZZ_SEED=\(seed) TANDEM_FUZZ_COUNT=1 swift test \
          --filter ReplicaRandomTests
          """)
        return
      }
    }
  }

  private func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }
}

private final class RandomWorld {
  private static let schema = [
    """
    CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, body TEXT, visits INTEGER, code TEXT UNIQUE,
      stamp INTEGER)
    """,
    "CREATE TABLE item (id TEXT, part INT, note TEXT REFERENCES note(id), name TEXT, "
      + "PRIMARY KEY (id, part)) WITHOUT ROWID",
  ]

  private let seed: UInt64
  private var random: SplitMix64
  private let space: TestSpace
  private var replicas: [TestReplica] = []
  private var edits = 0
  /// The values that nobody has overwritten in the file where they were written.
  private var pending: Set<String> = []
  private var counted = 0
  private var log: [String] = []

  init(seed: UInt64) throws {
    self.seed = seed
    random = SplitMix64(seed: seed)
    space = try TestSpace(seed: seed &+ 1_000)
    let merging = ReplicaMerging(["note": TableMerging(fields: ["visits": .counter])])
    let hasStamps = Bool.random(using: &random)
    for number in 0..<3 {
      var schema = Self.schema
      if hasStamps {
        schema.append(
          """
          CREATE TRIGGER stamp AFTER UPDATE ON note BEGIN
            UPDATE note SET stamp = \(number) WHERE id = new.id; END
          """)
      }
      let replica = try TestReplica(
        seed: seed &* 10 &+ UInt64(number), schema,
        tables: [
          AttachedTable("note"),
          AttachedTable("item", granularity: seed % 2 == 0 ? .record : .field),
        ], space: space, merging: merging)
      replica.maxPageChangeCount = Int.random(in: 1...6, using: &random)
      replica.limits.maxCommitChangeCount = Int.random(in: 2...8, using: &random)
      replicas.append(replica)
    }
    try replicas[0].execute("INSERT INTO note (id, visits) VALUES ('count', 0)")
    for replica in replicas { try replica.sync(space) }
  }

  /// Returns the number of issues.
  func run() throws -> Int {
    for _ in 0..<120 {
      let replica = Int.random(in: 0..<3, using: &random)
      if Bool.random(using: &random) {
        try edit(replica)
      } else {
        try faultyStep(replica)
      }
    }
    for _ in 0..<8 { for replica in replicas { try sync(replica) } }
    return try check()
  }

  private func pick<Element>(_ choices: [Element]) -> Element {
    choices.randomElement(using: &random)!
  }

  private func note(_ text: String) { log.append(text) }

  // MARK: - Edits

  private func edit(_ number: Int) throws {
    let replica = replicas[number]
    edits += 1
    let value = "e\(edits)."
    let id = pick(["a", "b", "c", "d"])
    let code = pick(["NULL", "'x'", "'y'", "'\(value)'"])
    let sql: String
    switch Int.random(in: 0..<12, using: &random) {
    case 0..<3:
      sql =
        "INSERT OR IGNORE INTO note (id, title, visits, code) VALUES ('\(id)', '\(value)', 0, \(code))"
    case 3..<5: sql = "UPDATE note SET title = '\(value)' WHERE id = '\(id)'"
    case 5: sql = "UPDATE note SET body = '\(value)' WHERE id = '\(id)'"
    case 6: sql = "UPDATE OR IGNORE note SET code = \(code), body = '\(value)' WHERE id = '\(id)'"
    case 7:
      sql =
        "DELETE FROM note WHERE id = '\(id)' AND id NOT IN (SELECT note FROM item WHERE note NOT NULL)"
    case 8:
      counted += 1
      sql = "UPDATE note SET visits = visits + 1 WHERE id = 'count'"
    case 9:
      sql =
        "INSERT OR IGNORE INTO item VALUES ('\(id)', 1, (SELECT id FROM note WHERE id = '\(id)'), '\(value)')"
    case 10: sql = "UPDATE item SET name = '\(value)' WHERE id = '\(id)'"
    default: sql = "DELETE FROM item WHERE id = '\(id)'"
    }
    let before = try values(replica)
    try replica.execute(sql)
    let after = try values(replica)
    note("\(number): \(sql)")
    pending.subtract(before.subtracting(after))
    pending.formUnion(after.subtracting(before))
  }

  /// The values that edits wrote.
  private func values(_ replica: TestReplica) throws -> Set<String> {
    let rows = try replica.rows(
      "SELECT title FROM note UNION SELECT body FROM note UNION SELECT name FROM item")
    return Set(
      rows.compactMap {
        if case .text(let text) = $0[0], text.hasPrefix("e") { text } else { nil }
      })
  }

  // MARK: - Steps

  private func faultyStep(_ number: Int) throws {
    let replica = replicas[number]
    let summary = try replica.write { try $0.summary() }
    note("\(number): step")
    if let outbox = summary.sync.outbox {
      let part = outbox.partCount == 1 ? 1 : Int.random(in: 1...outbox.partCount, using: &random)
      let bytes = try #require(try replica.outbox(part: part))
      switch Int.random(in: 0..<4, using: &random) {
      case 0: note("  the commit is lost")
      case 1:
        note("  the answer is lost")
        _ = try space.push(bytes)
      case 2:
        note("  the commit comes twice")
        let first = try space.push(bytes)
        let second = try space.push(bytes)
        #expect(first == second)
        try replica.settle(second, bytes)
        // And the answer.
        try replica.settle(first, bytes)
      default:
        let outcome = try space.push(bytes)
        note("  \(outcome)")
        try replica.settle(outcome, bytes)
      }
    } else if summary.state.pullNeed != .none || Int.random(in: 0..<3, using: &random) == 0 {
      if try replica.pullPage(space), Int.random(in: 0..<3, using: &random) > 0 {
        let report = try replica.apply()
        note("  \(report)")
      }
    } else {
      _ = try replica.freeze()
    }
    if Int.random(in: 0..<60, using: &random) == 0 {
      note("  history is forgotten")
      try space.forgetHistory()
    }
  }

  private func sync(_ replica: TestReplica) throws { try replica.sync(space) }

  // MARK: - The end

  private func check() throws -> Int {
    var issues: [String] = []
    let head = try space.state
    for (number, replica) in replicas.enumerated() {
      let summary = try replica.write { try $0.summary() }
      if !summary.isUpToDate { issues.append("\(number) is not up to date: \(summary)") }
      if try replica.state.revision != head.head { issues.append("\(number) is not at the head") }
      if try replica.read({ try $0.computedDigest() }) != head.digest {
        issues.append("\(number) has another digest")
      }
      for query in ["SELECT * FROM note ORDER BY id", "SELECT * FROM item ORDER BY id, part"] {
        let (rows, first) = (try replica.rows(query), try replicas[0].rows(query))
        if rows != first { issues.append("\(number) has \(rows), 0 has \(first)") }
      }
    }
    let visits = try replicas[0].rows("SELECT visits FROM note WHERE id = 'count'")
    if visits != [[.integer(Int64(counted))]] {
      issues.append("\(visits) were counted, not \(counted)")
    }
    let kept = try values(replicas[0])
    var recorded = ""
    for replica in replicas {
      for query in [
        "SELECT base || '', \"local\", remote FROM tandem_kept"
      ] {
        recorded += "\(try replica.rows(query))"
      }
    }
    for value in pending.subtracting(kept) where !recorded.contains(value) {
      issues.append("the edit \(value) is lost")
    }
    guard !issues.isEmpty else { return 0 }
    Issue.record(
      "seed \(seed): \(issues.joined(separator: "\n"))\n\(log.joined(separator: "\n"))")
    return issues.count
  }
}
