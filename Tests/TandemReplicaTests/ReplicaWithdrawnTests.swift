import TandemRecords
import TandemReplica
import TandemSync
import Testing

@Suite("Commits that a space refuses as a whole, and accepts later all the same")
struct ReplicaWithdrawnTests {
  private static let query = "SELECT * FROM note ORDER BY id"
  private let space: TestSpace
  private let a: TestReplica
  private let b: TestReplica

  init() throws {
    space = try TestSpace()
    (a, b) = try space.countedPair()
  }

  /// Freezes the changes and takes them back, as after a refusal; returns the message, of which a
  /// copy is still on its way.
  private func withdraw(_ replica: TestReplica) throws -> [UInt8] {
    let bytes = try #require(try replica.freeze())
    let id = try SyncMessageReader().commit(bytes).id
    try replica.write { try $0.takeBack(id) }
    return bytes
  }

  private func expectAccepted(_ bytes: [UInt8]) throws {
    guard case .accepted = try space.push(bytes) else {
      Issue.record("the space did not accept the late commit")
      return
    }
  }

  @Test(
    "The additions of such a commit count once, and later edits stay edits",
    arguments: [false, true], [false, true])
  func additions(pullsFirst: Bool, isRepeated: Bool) throws {
    try a.execute("UPDATE note SET likes = likes + 1, title = 'of a'")
    let late = try withdraw(a)
    if isRepeated { _ = try withdraw(a) }
    try a.execute("UPDATE note SET likes = likes + 10")
    try b.execute("UPDATE note SET likes = likes + 100")
    try b.sync(space)
    let replica = try a.state.replica
    if pullsFirst {
      try expectAccepted(late)
      try a.pull(space)
    } else {
      // The next commit has the same sequence, and finds out.
      let next = try #require(try a.freeze())
      try expectAccepted(late)
      try a.settle(try space.push(next), next)
    }
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["n", "of a", 116]])
    #expect(try a.state.replica == replica)
    #expect(try a.rows("SELECT * FROM tandem_withdrawn").isEmpty)
  }

  @Test("A record that was deleted since does not come back, and a deleted one stays inserted")
  func existence() throws {
    try a.execute("INSERT INTO note VALUES ('new', 'short-lived', 0)")
    try a.execute("DELETE FROM note WHERE id = 'n'")
    let late = try withdraw(a)
    try a.execute("DELETE FROM note WHERE id = 'new'")
    try a.execute("INSERT INTO note VALUES ('n', 'again', 1)")
    try expectAccepted(late)
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["n", "again", 1]])
    #expect(try a.conflicts().isEmpty)
  }

  @Test("If the space never accepts it, the next commit of its sequence does, and it is forgotten")
  func next() throws {
    try a.execute("UPDATE note SET likes = likes + 1")
    let late = try withdraw(a)
    try converge([a, b], space)
    #expect(try a.rows("SELECT * FROM tandem_withdrawn").isEmpty)
    guard case .sequence = try space.push(late) else {
      Issue.record("the space accepted a commit of a sequence that is used")
      return
    }
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["n", "title", 6]])
  }

  @Test(
    "A commit that was refused because of rights is not applied after they came back [consume]",
    arguments: [1, 6], [false, true])
  func rights(count: Int, pullsBetween: Bool) throws {
    var late: [[UInt8]] = []
    for _ in 0..<count {
      try a.execute("UPDATE note SET likes = likes + 1")
      late.append(try withdraw(a))
      try space.refuse(late[late.count - 1])
      if pullsBetween { try a.pull(space) }
    }
    for bytes in late {
      let outcome = try space.push(bytes)
      if case .accepted = outcome { Issue.record("a late commit was accepted") }
    }
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["n", "title", .integer(5 + Int64(count))]])
    #expect(try a.rows("SELECT * FROM tandem_withdrawn").isEmpty)
  }

  @Test(
    "A commit that was refused because of a quota is not applied when there is room [consume]",
    arguments: [1, 6], [false, true])
  func quota(count: Int, pullsAtEnd: Bool) throws {
    space.limits.maxSpaceRecordCount = 1
    var late: [[UInt8]] = []
    for number in 0..<count {
      try a.execute("UPDATE note SET likes = likes + 1")
      try a.execute("INSERT INTO note VALUES ('n\(number)', 'new', 1)")
      let bytes = try #require(try a.freeze())
      let error = #expect(throws: SyncRequestError.self) { try space.push(bytes) }
      #expect(error?.code == .overQuota)
      let commit = try SyncMessageReader().commit(bytes).id
      try a.write { try $0.takeBack(commit) }
      late.append(bytes)
      // The pull shows that the sequence is consumed.
      if pullsAtEnd || number + 1 < count { try a.pull(space) }
    }
    space.limits.maxSpaceRecordCount = nil
    for bytes in late {
      let outcome = try space.push(bytes)
      if case .accepted = outcome { Issue.record("a late commit was accepted") }
    }
    try converge([a, b], space)
    #expect(
      try b.rows("SELECT likes FROM note WHERE id = 'n'") == [[.integer(5 + Int64(count))]])
    #expect(try b.rows("SELECT count(*) FROM note") == [[.integer(1 + Int64(count))]])
    #expect(try a.rows("SELECT * FROM tandem_withdrawn").isEmpty)
  }

  @Test("A file keeps few withdrawn commits")
  func bound() throws {
    for _ in 0..<10 {
      try a.execute("UPDATE note SET likes = likes + 1")
      _ = try withdraw(a)
    }
    #expect(try a.rows("SELECT * FROM tandem_withdrawn").count == 4)
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["n", "title", 15]])
  }
}
