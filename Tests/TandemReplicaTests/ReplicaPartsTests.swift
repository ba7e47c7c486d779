import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestFolder
import Testing

/// Commits that are too long for one message.
@Suite struct ReplicaPartsTests {
  private static let tree = [
    "CREATE TABLE node (id TEXT PRIMARY KEY, up TEXT REFERENCES node, name TEXT UNIQUE)"
  ]
  private let space: TestSpace

  init() throws { space = try TestSpace() }

  private func replica(
    _ seed: UInt64, path: String = ":memory:", maxChangeCount: Int = 10
  ) throws -> TestReplica {
    let replica = try TestReplica(
      seed: seed, Self.tree, tables: [AttachedTable("node")], space: space, path: path)
    replica.limits.maxCommitChangeCount = maxChangeCount
    return replica
  }

  private static let insertion = """
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
    INSERT INTO node SELECT printf('%02d', i), CASE WHEN i < 30 THEN printf('%02d', i + 1) END, 'n' || i FROM n
    """
  private static let query = "SELECT * FROM node ORDER BY id"

  @Test("A tree of three times the limit, whose parents come after their children, is one version")
  func tree() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.execute(Self.insertion)
    try converge([a, b], space)
    #expect(try space.state.head.version == 1)
    try expectEqualRows([a, b], Self.query)
    #expect(try b.rows("PRAGMA foreign_key_check").isEmpty)
    try a.execute("DELETE FROM node")
    try converge([a, b], space)
    #expect(try space.state.head.version == 2)
    #expect(try b.rows(Self.query).isEmpty)
  }

  @Test("Unique values that rows of two parts exchange are one version")
  func exchange() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.execute(Self.insertion)
    try converge([a, b], space)
    for (id, name) in [("01", "x"), ("30", "n1"), ("01", "n30")] {
      try a.execute("UPDATE node SET name = '\(name)' WHERE id = '\(id)'")
    }
    try a.execute("UPDATE node SET name = name || '!' WHERE id > '01' AND id < '30'")
    let head = try space.state.head.version
    #expect(try a.freeze() != nil)
    let parts = try a.parts().map { $0.changes.map(\.key.id) }
    #expect(parts.count == 3 && parts[0].contains(["01"]) && parts[2].contains(["30"]))
    try converge([a, b], space)
    #expect(try space.state.head.version == head + 1)
    try expectEqualRows([a, b], Self.query)
    #expect(try b.conflicts().isEmpty)
    #expect(try b.rejectedContents().isEmpty)
  }

  @Test("Each part has the changes that its message has room for, and all have one identity")
  func parts() throws {
    let a = try replica(1, maxChangeCount: 12)
    try a.pull(space)
    try a.execute(Self.insertion)
    #expect(try a.freeze() != nil)
    let parts = try a.parts()
    #expect(parts.map(\.changes.count) == [12, 12, 6])
    #expect(parts.map(\.part) == [1, 2, 3])
    #expect(parts.allSatisfy { $0.of == 3 && $0.id == parts[0].id && $0.sequence == 1 })
    #expect(try a.read { try $0.outbox(part: 4) } == nil)
    let summary = try a.read { try $0.summary() }
    #expect(summary.sync.outbox?.changeCount == 30)
    #expect(summary.sync.outbox?.partCount == 3)
  }

  @Test("A small commit is one message, as it was before there were parts")
  func small() throws {
    let a = try replica(1)
    try a.pull(space)
    try a.execute("INSERT INTO node VALUES ('a', NULL, 'n')")
    let bytes = try #require(try a.freeze())
    #expect(!String(decoding: bytes, as: UTF8.self).contains("\"of\""))
    let stored = try a.rows("SELECT message FROM tandem_outbox")
    #expect(stored == [[.blob(bytes)]])
  }

  @Test("A commit that would exceed the limit of all parts leaves the rest for the next one")
  func bound() throws {
    let (a, b) = (try replica(1), try replica(2))
    a.limits.maxPartsChangeCount = 25
    try a.execute(Self.insertion)
    try a.pull(space)
    #expect(try a.freeze() != nil)
    #expect(try a.parts().map(\.changes.count) == [10, 10, 5])
    try converge([a, b], space)
    #expect(try space.state.head.version == 2)

    // By the length of the messages, the numbers of the parts included.
    try a.execute("UPDATE node SET name = name || printf('%.500c', 'x')")
    a.limits = SyncLimits(maxCommitByteCount: 4_096 + 3_000, maxPartsByteCount: 4_096 + 12_000)
    #expect(try a.freeze() != nil)
    let byteCount = try a.parts().reduce(0) { $0 + SyncMessageWriter.bytes($1).count }
    #expect(byteCount <= a.limits.maxPartsByteCount)
    #expect(try a.parts().count >= 3 && a.parts().flatMap(\.changes).count < 30)
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query)
  }

  @Test(
    "After each crash, a new program begins with the last part and sends those that are missing")
  func crash() throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "a.db")
    var a = try replica(1, path: path)
    try a.execute(Self.insertion)
    try a.pull(space)
    #expect(try a.freeze() != nil)
    var sent: [Int] = []
    // Each program is killed after its first request: with the answer, or before it has it.
    for seed in 2..<10 {
      try a.database.close()
      a = try TestReplica(seed: UInt64(seed), path: path)
      var session = SyncSession()
      var actions = session.handle(.requested)
      while !actions.contains(where: { if case .push = $0 { true } else { false } }) {
        guard case .perform(let step)? = actions.last else { break }
        let summary = try a.write { try $0.perform(step, a.merging, using: &a.random) }
        actions = session.handle(.performed(summary))
      }
      guard case .push(_, let part)? = actions.last else { break }
      sent.append(part)
      let outcome = try space.push(try #require(try a.outbox(part: part)))
      guard case .push(_, let next)? = session.handle(.pushed(outcome)).last else { continue }
      sent.append(next)
      _ = try space.push(try #require(try a.outbox(part: next)))
    }
    // The last answer was lost; the third program sends a part and gets the outcome.
    #expect(sent.prefix(4) == [3, 1, 3, 2])
    #expect(try space.state.head.version == 1)
    try converge([a, try replica(20)], space)
    #expect(try a.rows("SELECT count(*) FROM tandem_outbox") == [[0]])
  }

  @Test("A copy of a file sends other parts under the same sequence; the two do not mix")
  func copy() throws {
    let folder = try TemporaryFolder()
    let a = try replica(1, path: folder.path(of: "a.db"))
    try a.execute("INSERT INTO node VALUES ('0', NULL, 'n')")
    try a.sync(space)
    try a.database.close()
    folder.create("b.db", folder.bytes(of: "a.db"))
    let files = try ["a.db", "b.db"].enumerated().map { number, name in
      let file = try TestReplica(seed: UInt64(10 + number), path: folder.path(of: name))
      file.limits.maxCommitChangeCount = 10
      return file
    }
    try files[0].execute(Self.insertion)
    try files[1].execute("\(Self.insertion.replacing("'n' ||", with: "'m' ||"))")
    for file in files { #expect(try file.freeze() != nil) }
    let first = try files.map { try $0.parts() }
    #expect(first[0][0].replica == first[1][0].replica)
    #expect(first[0][0].sequence == first[1][0].sequence)
    for part in 1...2 {
      for file in files { _ = try space.push(try #require(try file.outbox(part: part))) }
    }
    try converge(files, space)
    try expectEqualRows(files, Self.query)
    // Each field of each row is that of one file, and the other version is in a conflict.
    #expect(try files.flatMap { try $0.conflicts() }.count >= 30)
    #expect(try files[0].state.replica != files[1].state.replica)
  }

  @Test("The parts of a commit report no more overruled versions than it may have changes")
  func overruled() throws {
    let (a, b) = (try replica(1), try replica(2, maxChangeCount: 2))
    try a.execute(Self.insertion)
    b.limits.maxCommitChangeCount = 10
    try converge([a, b], space)
    try a.execute("UPDATE node SET name = 'a' || id WHERE id <= '05'")
    try a.sync(space)
    try b.execute("UPDATE node SET name = 'b' || id WHERE id <= '05'")
    try b.pull(space)
    #expect(try b.conflicts(includingResolved: false).count == 5)
    b.limits.maxCommitChangeCount = 2
    b.limits.maxPartsChangeCount = 1
    #expect(try b.freeze() != nil)
    #expect(try b.parts().map(\.overruled.count) == [1])
  }

  @Test("Parts that were refused are taken back, and settled if they arrive all the same")
  func withdrawn() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.execute(Self.insertion)
    try a.pull(space)
    #expect(try a.freeze() != nil)
    let parts = try a.parts().map { SyncMessageWriter.bytes($0) }
    let id = try #require(try a.read { try $0.outbox(part: 1) }).id
    try a.write { try $0.takeBack(id) }
    #expect(try a.rows("SELECT count(*) FROM tandem_withdrawn") == [[3]])
    for _ in 0..<5 {
      #expect(try a.freeze() != nil)
      let next = try #require(try a.read { try $0.outbox(part: 1) }).id
      try a.write { try $0.takeBack(next) }
    }
    // The last four commits are kept.
    #expect(try a.rows("SELECT count(*) FROM tandem_withdrawn") == [[12]])
    try a.execute("DELETE FROM tandem_withdrawn")
    #expect(try a.freeze() != nil)
    let last = try a.parts()
    try a.write { try $0.takeBack(last[0].id) }
    for part in last { _ = try space.push(SyncMessageWriter.bytes(part)) }
    #expect(try space.state.head.version == 1)
    try a.sync(space)
    #expect(try a.freeze() == nil)
    try converge([a, b], space)
    #expect(try space.state.head.version == 1)
    // Parts of the first one are late.
    guard case .sequence = try space.push(parts[0]) else {
      Issue.record("a late part was kept")
      return
    }
  }

  @Test("A refused commit of parts is taken back as a whole, and the rest is sent again")
  func refused() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.execute(Self.insertion)
    try a.pull(space)
    #expect(try a.freeze() != nil)
    let bytes = try #require(try a.outbox())
    let objection = SyncObjection(
      key: SyncKey(table: "node", id: ["25"]), reason: .tooLarge)
    try a.settle(.refused([objection]), bytes)
    #expect(try a.rows("SELECT count(*) FROM tandem_outbox") == [[0]])
    #expect(try a.rejectedContents().compactMap { $0?["name"] }.contains("n25"))
    #expect(try a.rows("SELECT count(*) FROM node WHERE id = '25'") == [[0]])
    // The space does not know of the outcome.
    try a.execute("UPDATE tandem_state SET sequence = 0")
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query)
  }

  @Test("A file of the version before, with a commit that waits, goes on, and gets room for parts")
  func formerFile() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.pull(space)
    try a.execute("INSERT INTO node VALUES ('a', NULL, 'n')")
    let bytes = try #require(try a.freeze())
    let row = try a.rows("SELECT id, change_count, message FROM tandem_outbox")[0]
    try a.execute("DROP TABLE tandem_outbox")
    try a.execute("DROP TABLE tandem_withdrawn")
    try a.execute(
      """
      CREATE TABLE tandem_outbox (
        one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, change_count INTEGER NOT NULL,
        message BLOB NOT NULL)
      """)
    try a.execute("CREATE TABLE tandem_withdrawn (id TEXT PRIMARY KEY, message BLOB NOT NULL)")
    try a.makeFormat5()
    try a.execute("UPDATE tandem_state SET format = 4")
    try a.database.write { transaction in
      try transaction.connection.run("INSERT INTO tandem_outbox VALUES (1, ?, ?, ?)", row)
    }
    #expect(try a.outbox() == bytes)
    let id = try #require(try a.read { try $0.outbox(part: 1) }).id
    try a.write { try $0.takeBack(id) }
    try a.execute(Self.insertion)
    #expect(try a.freeze() != nil)
    #expect(try a.parts().count == 4)
    #expect(try a.rows("SELECT id FROM tandem_withdrawn") == [[.text(id.description)]])
    #expect(try a.rows("SELECT format FROM tandem_state") == [[6]])
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query)
  }
}
