import TandemRecords
import TandemReplica
import TandemSync
import Testing

@Suite("Events that have the changes of a commit")
struct ReplicaEventTests {
  private static let query = "SELECT * FROM note ORDER BY id"
  private let space: TestSpace
  private let a: TestReplica
  private let b: TestReplica

  init() throws {
    space = try TestSpace()
    (a, b) = try space.countedPair()
  }

  /// The event of the commits since a revision.
  private func event(since revision: SpaceRevision) throws -> SyncStep {
    let answer = try space.pull(SyncPull(replica: nil, since: revision))
    guard case .page(let page) = answer else { throw NoPage() }
    return .receive(page, after: revision)
  }

  private struct NoPage: Error {}

  /// Commits an edit of `a`; returns its event.
  private func commit(_ sql: String) throws -> SyncStep {
    let head = try space.state.head
    try a.execute(sql)
    try a.sync(space)
    return try event(since: head)
  }

  @Test("An event of the next commit is applied, merged with local edits, without a pull")
  func next() throws {
    let event = try commit("UPDATE note SET title = 'of a', likes = likes + 1")
    try b.execute("UPDATE note SET likes = likes + 10")
    let summary = try b.perform(event)
    #expect(summary.pull == .none)
    #expect(summary.revision == (try space.state.head))
    #expect(summary.hasChanges && summary.hasEqualDigests)
    try expectEqualRows([b], Self.query, [["n", "of a", 16]])
    // Once more: nothing is counted twice.
    #expect(try b.perform(event) == summary)
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["n", "of a", 16]])
  }

  @Test("After a lost event, the next one demands a pull; an older one changes nothing")
  func lostAndOld() throws {
    let first = try commit("UPDATE note SET likes = likes + 1")
    let second = try commit("UPDATE note SET likes = likes + 1")
    let summary = try b.perform(second)
    guard case .page(let pull) = summary.pull else {
      Issue.record("no pull is demanded: \(summary)")
      return
    }
    #expect(pull.since == summary.revision)
    try expectEqualRows([b], Self.query, [["n", "title", 5]])
    // The pull that is demanded is as good as done by the events in their order.
    #expect(try b.perform(first).pull == .none)
    #expect(try b.perform(second).pull == .none)
    try expectEqualRows([b], Self.query, [["n", "title", 7]])
    // An old event is no reason to go back, only to look.
    _ = try b.perform(first)
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["n", "title", 7]])
  }

  @Test(
    "An event of a replica's own commit, of which the answer was lost, counts nothing twice [settle]"
  )
  func own() throws {
    let base = try space.state.head
    try a.execute("UPDATE note SET likes = likes + 1")
    let bytes = try #require(try a.freeze())
    let outcome = try space.push(bytes)
    let own = try event(since: base)
    // A commit waits for its outcome: the event is only a reason to pull later.
    #expect(try a.perform(own).revision == base)
    try a.settle(outcome, bytes)
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["n", "title", 6]])
    #expect(try a.perform(own).pull == .none)
  }

  @Test("An event that is older than an accepted commit of the replica only demands a pull")
  func betweenOwnCommits() throws {
    try a.execute("UPDATE note SET likes = likes + 1")
    let bytes = try #require(try a.freeze())
    // A commit of b comes between, and its event after the outcome of that of a.
    let head = try space.state.head
    try b.execute("UPDATE note SET likes = likes + 10")
    try b.sync(space)
    let between = try event(since: head)
    let outcome = try space.push(bytes)
    guard case .accepted = outcome else {
      Issue.record("additions conflict")
      return
    }
    try a.settle(outcome, bytes)
    let summary = try a.perform(between)
    guard case .page(let pull) = summary.pull else {
      Issue.record("no pull is demanded: \(summary)")
      return
    }
    // Not a pull of everything, which would be a repair.
    #expect(pull.since == head)
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["n", "title", 16]])
    #expect(try a.conflicts().isEmpty)
  }

  @Test("An event of another history of the same length demands a pull, which finds out")
  func otherHistory() throws {
    let backup = try space.backup()
    _ = try commit("UPDATE note SET likes = likes + 1")
    try b.sync(space)
    try space.restore(backup)
    // Another replica makes another commit of the same version.
    let c = try TestReplica(
      seed: 3, ["CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, likes INTEGER)"],
      tables: [AttachedTable("note")], space: space)
    try c.sync(space)
    try c.execute("UPDATE note SET title = 'of c'")
    try c.sync(space)
    let fork = try space.state.head
    try c.execute("UPDATE note SET title = 'of c again'")
    try c.sync(space)
    guard case .page(let pull) = try b.perform(event(since: fork)).pull else {
      Issue.record("no pull is demanded")
      return
    }
    #expect(try space.pull(pull) == .gone(.history))
  }
}

extension TestReplica {
  fileprivate func perform(_ step: SyncStep) throws -> SyncSummary {
    try write { try $0.perform(step, merging, limits: limits, using: &random) }
  }
}
