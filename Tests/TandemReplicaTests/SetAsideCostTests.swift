import TandemRecords
import TandemReplica
import TandemSync
import TestRandom
import Testing

@Suite("Costs of versions that are set aside", .timeLimit(.minutes(5)))
struct SetAsideCostTests {
  @Test(
    "A chain of rows that wait for each other is placed in time that grows with its length",
    arguments: [false, true])
  func chain(firesTriggers: Bool) throws {
    // Twice as many rows take four times as many steps if all are tried again for each one that is placed.
    let counts = try [250, 500].map { try stepCount(placing: $0, firesTriggers) }
    #expect(counts[1] < 3 * counts[0], "\(counts)")
  }

  /// The steps of SQLite's virtual machine in a pull that frees the last of many rows, of which each one
  /// waits for a value of the next.
  private func stepCount(placing count: Int, _ firesTriggers: Bool) throws -> Int {
    let space = try TestSpace()
    // No row of the first file has to wait.
    let (a, b) = try space.unlikePair(
      "id TEXT PRIMARY KEY, u INTEGER", "id TEXT PRIMARY KEY, u INTEGER UNIQUE",
      rows: """
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= \(count))
        INSERT INTO t SELECT printf('%04d', i), i FROM n
        """)
    if firesTriggers {
      try b.execute("CREATE TABLE log (id)")
      try b.execute(
        "CREATE TRIGGER note AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (new.id); END")
    }
    try a.execute("UPDATE t SET u = u + 1 WHERE u <= \(count)")
    try a.sync(space)
    try receive(b, from: space)
    #expect(try b.rejectedContents().count == count)
    try a.execute("UPDATE t SET u = 0 WHERE id = (SELECT max(id) FROM t)")
    try a.sync(space)
    let stepCount = try b.stepCount { try b.pull(space) }
    try receive(b, from: space)
    try expectEqualRows([a, b], "SELECT * FROM t ORDER BY id")
    #expect(try b.rejectedContents().isEmpty)
    return stepCount
  }

  @Test("Versions are placed in the order in which passes over all of them place them")
  func order() {
    for seed in UInt64(0)..<2_000 {
      var random = SplitMix64(seed: seed)
      var naive = Model(using: &random)
      var model = naive
      var isDone = false
      while !isDone {
        let count = naive.placed.count
        for number in naive.wanted.keys.sorted() { _ = naive.place(number) }
        isDone = naive.placed.count == count
      }
      var versions = FreedVersions(model.wanted.keys.sorted().map(model.key))
      while versions.begin(versions.refusedKeys.map { model.rowsInTheWay(of: $0) }) {
        while let number = versions.next() {
          versions.note(number, isPlaced: model.place(model.number(of: versions.keys[number])))
        }
      }
      #expect(model.placed == naive.placed, "seed \(seed)")
      #expect(versions.rest == naive.wanted.keys.sorted().map(model.key), "seed \(seed)")
      // Each row is in the way of a version once, for each of its two values.
      #expect(model.attemptCount <= 4 * model.rows.count, "seed \(seed)")
    }
  }

  /// Rows with two unique values each, of which some are to get others.
  private struct Model {
    var rows: [[Int]]
    var wanted: [Int: [Int]] = [:]
    var placed: [Int] = []
    var attemptCount = 0

    init(using random: inout SplitMix64) {
      let count = Int.random(in: 1...12, using: &random)
      rows = (0..<count).map { [$0, $0] }
      let spare = Int.random(in: 0...2, using: &random)
      for number in 0..<count where Int.random(in: 0..<6, using: &random) > 0 {
        wanted[number] = rows[number].map { value in
          Bool.random(using: &random) ? value : Int.random(in: 0..<count + spare, using: &random)
        }
      }
    }

    func key(_ number: Int) -> SyncKey { SyncKey(table: "t", id: [.integer(Int64(number))]) }

    func number(of key: SyncKey) -> Int { rows.indices.first { self.key($0) == key } ?? 0 }

    func rowsInTheWay(of key: SyncKey) -> [SyncKey]? {
      let number = number(of: key)
      return wanted[number].map { values in
        rows.indices.filter { other in
          other != number && zip(rows[other], values).contains { $0 == $1 }
        }.map(self.key)
      }
    }

    mutating func place(_ number: Int) -> Bool {
      attemptCount += 1
      guard let values = wanted[number], rowsInTheWay(of: key(number)) == [] else { return false }
      rows[number] = values
      wanted[number] = nil
      placed.append(number)
      return true
    }
  }
}
