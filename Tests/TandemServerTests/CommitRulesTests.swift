import Foundation
import Synchronization
import TandemPostgreSQL
import TandemRecords
import TandemSpace
import TandemSync
import TestFolder
import TestPostgreSQL
import Testing

@testable import TandemServer

@Suite("Rules of an application", .timeLimit(.minutes(20))) struct CommitRulesTests {
  enum Store: CaseIterable { case directory, postgreSQL }

  /// Services of one place, two of them on PostgreSQL.
  private struct Services {
    let all: [SyncService]
    let folder: TemporaryFolder

    init(
      _ store: Store, limits: SyncService.Limits = .patient,
      _ rules: @escaping CommitRules
    ) async throws {
      let folder = try TemporaryFolder()
      switch store {
      case .directory:
        let spaces = try SpaceDirectory(path: folder.path(of: "spaces"), limits: limits.messages)
        all = [SyncService(spaces: spaces, tokens: nil, limits: limits, rules: rules)]
      case .postgreSQL:
        let address = try TestCluster.shared.get().makeDatabase()
        var all: [SyncService] = []
        for _ in 0..<2 {
          let database = try await PostgreSQLDatabase.open(
            address: address, creates: true, maxConnectionCount: 4)
          let spaces = PostgreSQLSpaces(database, limits: limits.messages)
          all.append(SyncService(spaces: spaces, tokens: nil, limits: limits, rules: rules))
        }
        self.all = all
      }
      self.folder = folder
      _ = try await all[0].spaces.with("notes", creates: true) { try await $0.declare([.t]) }
    }

    func head() async throws -> SpaceRevision { try await state().head }

    func state() async throws -> SpaceState {
      try await all[0].spaces.with("notes") { try await $0.state() }
    }

    func records() async throws -> [SyncRecordState] {
      let answer = try await all[0].spaces.with("notes") {
        try await $0.page(SyncPull(replica: nil, since: nil))
      }
      guard case .page(let page) = answer else { return [] }
      return page.changes
    }

    /// Sends a commit to one of the services.
    func send(_ commit: SyncCommit, to service: Int = 0) async -> HTTPAnswer {
      let head = ServedRequestHead(
        method: "POST", target: "/v1/spaces/notes/commits",
        fields: [("Host", "127.0.0.1"), ("Content-Type", "application/json")])
      return await all[min(service, all.count - 1)].answer(
        ServedRequest(head: head, body: SyncMessageWriter.bytes(commit)))
    }

    func close() async { for service in all { await service.close() } }
  }

  /// What the rules were asked.
  private final class Asked: Sendable {
    private let commits = Mutex<[ProposedCommit]>([])
    var all: [ProposedCommit] { commits.withLock { $0 } }
    @discardableResult
    func add(_ commit: ProposedCommit) -> Int {
      commits.withLock { commits in
        commits.append(commit)
        return commits.count
      }
    }
  }

  private struct Failure: Error {}

  private func change(_ id: Int, _ verb: SyncChange.Verb) -> SyncChange {
    SyncChange(key: SyncKey(table: "t", id: [.integer(Int64(id))]), verb: verb)
  }

  @Test(
    "Rules accept, refuse and amend, and see the records before and after",
    arguments: Store.allCases)
  func decisions(store: Store) async throws {
    let asked = Asked()
    let services = try await Services(store) { commit in
      asked.add(commit)
      var decision = CommitDecision()
      for change in commit.changes {
        if change.old?["a"] == "locked" { decision.refuse(change, "the record is locked") }
        if change.new != nil { decision.amend(change, ["b": .text(commit.account ?? "nobody")]) }
        if change.new?["a"] == "null" { decision.amend(change, ["a": .null]) }
      }
      return decision
    }
    var replica = TestReplica(seed: 1)
    let first = replica.commit(
      try await services.head(), [insertion(1, "locked"), insertion(2, "null")])
    let answer = await services.send(first)
    #expect(answer.status == 200)
    #expect(await services.send(first).bytes == answer.bytes)
    #expect(asked.all.count == 1)
    #expect(asked.all[0].space == "notes" && asked.all[0].account == nil)
    #expect(asked.all[0].changes.map(\.primaryKey) == [[1], [2]])
    #expect(asked.all[0].changes.map(\.old) == [nil, nil])
    #expect(
      try await services.records().map(\.fields) == [
        ["a": "locked", "b": "nobody"], ["b": "nobody"],
      ])
    let head = try await services.head()
    #expect(head.version == 2)
    let second = replica.commit(
      head, [change(1, .delete), change(2, .update(["b": "forged"]))])
    let refusal = await services.send(second)
    #expect(refusal.status == 422)
    #expect(
      try refusal.outcome()
        == .refused([
          SyncObjection(
            key: SyncKey(table: "t", id: [1]), reason: .rule("the record is locked"))
        ]))
    #expect(asked.all[1].changes.map(\.new) == [nil, ["b": "forged"]])
    #expect(try await services.head() == head)
    let third = replica.commit(head, [change(2, .update(["b": "forged"]))])
    #expect(await services.send(third).status == 200)
    #expect(try await services.records().last?.fields == ["b": "nobody"])
    // A deletion cannot be amended.
    let last = replica.commit(try await services.head(), [change(2, .delete)])
    #expect(await services.send(last).status == 200)
    #expect(try await services.records().map(\.key.id) == [[1]])
    await services.close()
  }

  @Test(
    "If rules throw, the answer is 503, nothing is written, and the commit may come again",
    arguments: Store.allCases)
  func failure(store: Store) async throws {
    let asked = Asked()
    let services = try await Services(store) { commit in
      if asked.add(commit) == 1 { throw Failure() }
      return CommitDecision()
    }
    var replica = TestReplica(seed: 1)
    let state = try await services.state()
    let commit = replica.commit(state.head, [insertion(1)])
    let answer = await services.send(commit)
    #expect(answer.status == 503 && answer.code == "unavailable")
    #expect(answer.field("Retry-After") == "1")
    #expect(try await services.state() == state)
    #expect(await services.send(commit).status == 200)
    await services.close()
  }

  @Test(
    "A decision that is late has no effect, the answer is 503 at once, and only so many go on",
    arguments: Store.allCases)
  func late(store: Store) async throws {
    var limits = SyncService.Limits()
    limits.maxRuleTime = .milliseconds(1)
    limits.maxRuleCount = 2
    let (release, asked) = (RequestGate(width: 0), Asked())
    let services = try await Services(store, limits: limits) { commit in
      asked.add(commit)
      await release.enter()
      return CommitDecision()
    }
    let state = try await services.state()
    var replica = TestReplica(seed: 1)
    let commit = replica.commit(state.head, [insertion(1)])
    for _ in 0..<3 {
      let answer = await services.send(commit)
      #expect(answer.status == 503 && answer.code == "unavailable")
    }
    while asked.all.count < 2 { await Task.yield() }
    #expect(asked.all.count == 2)
    for _ in 0..<2 { release.leave() }
    #expect(try await services.state() == state)
    await services.close()
  }

  @Test(
    "If another commit changes a record while its rules decide, they are asked again with what it has become",
    arguments: Store.allCases)
  func overtaken(store: Store) async throws {
    let (asked, isAsked, mayDecide) = (Asked(), RequestGate(width: 0), RequestGate(width: 0))
    let services = try await Services(store) { commit in
      // The first commit inserts the record. The second one is the one that is overtaken.
      if asked.add(commit) == 2 {
        isAsked.leave()
        await mayDecide.enter()
      }
      var decision = CommitDecision()
      for change in commit.changes
      where change.new?["b"] == "closed" && change.old?["b"] == "closed" {
        decision.refuse(change, "it is closed")
      }
      return decision
    }
    var (first, second) = (TestReplica(seed: 1), TestReplica(seed: 2))
    let insert = first.commit(try await services.head(), [insertion(1)])
    #expect(await services.send(insert).status == 200)
    let base = try await services.head()
    let slow = second.commit(base, [change(1, .update(["a": "y"]))])
    async let answer = services.send(slow)
    await isAsked.enter()
    // Through another node, where there are several.
    let quick = first.commit(base, [change(1, .update(["b": "closed"]))])
    #expect(await services.send(quick, to: 1).status == 200)
    mayDecide.leave()
    let status = await answer.status
    #expect(status == 422)
    #expect(
      asked.all.map { $0.changes.first?.old } == [
        nil, ["a": "x"], ["a": "x"], ["a": "x", "b": "closed"],
      ])
    #expect(try await services.records().map(\.fields) == [["a": "x", "b": "closed"]])
    await services.close()
  }

  @Test("Commits that others overtake again and again are sent again later")
  func starved() async throws {
    let asked = Asked()
    let count = Atomic(0)
    let box = Mutex<SyncService?>(nil)
    let services = try await Services(.directory) { commit in
      asked.add(commit)
      guard commit.changes.first?.new?["a"] == "slow" else { return CommitDecision() }
      let number = count.add(1, ordering: .relaxed).newValue
      let service = box.withLock { $0 }
      try await service?.spaces.with("notes") { store in
        var other = TestReplica(seed: 100 + number)
        let state = try await store.state()
        let change = SyncChange(
          key: SyncKey(table: "t", id: [1]), verb: .update(["b": .integer(Int64(number))]))
        _ = try await store.commit(other.commit(state.head, [change]))
      }
      return CommitDecision()
    }
    box.withLock { $0 = services.all[0] }
    var replica = TestReplica(seed: 1)
    #expect(
      await services.send(replica.commit(try await services.head(), [insertion(1)])).status == 200)
    let commit = replica.commit(try await services.head(), [change(1, .update(["a": "slow"]))])
    let answer = await services.send(commit)
    #expect(answer.status == 503 && answer.code == "unavailable")
    #expect(count.load(ordering: .relaxed) == CommitRuler.maxAttemptCount)
    #expect(
      try await services.records().map(\.fields) == [
        ["a": "x", "b": .integer(Int64(CommitRuler.maxAttemptCount))]
      ])
    box.withLock { $0 = nil }
    await services.close()
  }

  @Test("A program makes a service on PostgreSQL, without access tokens as long as there are none")
  func publicService() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    await #expect(throws: (any Error).self) { _ = try await SyncService(spacesOn: address) }
    let service = try await SyncService(
      spacesOn: address, createsSchema: true,
      rules: { commit in
        var decision = CommitDecision()
        for change in commit.changes { decision.refuse(change, "closed") }
        return decision
      })
    _ = try await service.spaces.with("notes", creates: true) { try await $0.declare([.t]) }
    let head = try await service.spaces.with("notes") { try await $0.state().head }
    var replica = TestReplica(seed: 1)
    let requestHead = ServedRequestHead(
      method: "POST", target: "/v1/spaces/notes/commits",
      fields: [("Host", "127.0.0.1"), ("Content-Type", "application/json")])
    let answer = await service.answer(
      ServedRequest(
        head: requestHead, body: SyncMessageWriter.bytes(replica.commit(head, [insertion(1)]))))
    #expect(answer.status == 422)
    await service.close()
  }
}

extension SyncService.Limits {
  /// Limits that no pause of a thread reaches.
  fileprivate static var patient: Self {
    var limits = Self()
    limits.maxRuleTime = .seconds(3_600)
    return limits
  }
}
