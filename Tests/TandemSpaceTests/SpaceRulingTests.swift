import TandemRecords
import TandemSpace
import TandemSync
import Testing

@Suite("The decisions of rules in a space", .onBothStores) struct SpaceRulingTests {
  private func proposal(_ space: TestSpace, _ commit: SyncCommit) throws -> [SpaceLedger.Edit] {
    try space.run { tables, _ in try tables.proposal(of: commit, account: nil) }
  }

  /// The answers to commits of one transaction.
  private func answers(
    _ space: TestSpace, _ entries: [(SyncCommit, SpaceRuling?)]
  ) throws -> [Result<SyncOutcome, any Error>] {
    try space.run { tables, generator in
      try tables.answer(
        entries.map { CommitQueue.Entry(commit: $0.0, account: nil, ruling: $0.1) }, at: 1_000,
        using: &generator)
    }
  }

  private func answer(
    _ space: TestSpace, _ commit: SyncCommit, _ ruling: SpaceRuling?
  ) throws -> SyncOutcome {
    try answers(space, [(commit, ruling)])[0].get()
  }

  private func key(_ id: Int64) -> SyncKey { SyncKey(table: "t", id: [.integer(id)]) }

  @Test("A proposal has each record that a commit changes, as it is and as it would be")
  func proposals() throws {
    let space = try TestSpace()
    var (first, second) = (TestReplica(seed: 1), TestReplica(seed: 2))
    let base = try space.commit(
      first.commit(
        try space.head,
        [
          change(1, .insert(["a": "x", "b": 5])), change(2, .insert(["a": "y"])),
          change(3, .insert(["a": "z"])),
        ])
    ).accepted()
    _ = try space.commit(first.commit(base, [change(1, .update(["a": "later"]))])).accepted()
    let commit = second.commit(
      base,
      [
        change(1, .add(["b": 2])), change(2, .delete), change(4, .insert(["a": "new"])),
        change(3, .update(["a": "z"])),
      ])
    let edits = try proposal(space, commit)
    #expect(edits.map(\.key) == [key(1), key(2), key(4)])
    // Another field of the first record has changed since the base.
    #expect(edits.map(\.old?.fields) == [["a": "later", "b": 5], ["a": "y"], nil])
    #expect(edits.map(\.new.fields) == [["a": "later", "b": 7], nil, ["a": "new"]])
    // Nobody is asked about a commit with another outcome.
    var late = second
    late.sequence -= 1
    let conflict = late.commit(base, [change(1, .update(["a": "other"]))])
    #expect(try proposal(space, conflict).isEmpty)
    late.sequence += 5
    #expect(try proposal(space, late.commit(base, [change(5, .insert([:]))])).isEmpty)
    _ = try space.commit(commit).accepted()
    #expect(try proposal(space, commit).isEmpty)
  }

  @Test("A refused change refuses its commit with the message, also when that is repeated")
  func refusal() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let before = try space.state
    let commit = replica.commit(
      before.head, [change(1, .insert(["a": "x"])), change(2, .insert(["a": "y"]))])
    let edits = try proposal(space, commit)
    let ruling = SpaceRuling(
      on: edits, refusals: [key(2): "not this one"], amendments: [key(1): ["a": "z"]])
    let outcome = try answer(space, commit, ruling)
    #expect(outcome == .refused([SyncObjection(key: key(2), reason: .rule("not this one"))]))
    #expect(try space.state == before)
    // Whatever the rules say now.
    #expect(try answer(space, commit, SpaceRuling(on: edits)) == outcome)
    #expect(try answer(space, commit, nil) == outcome)
    _ = try space.commit(replica.commit(before.head, [change(1, .insert(["a": "x"]))])).accepted()
  }

  @Test("Amended fields are a commit of the space, which is there together with the commit")
  func amendment() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let base = try space.commit(
      replica.commit(try space.head, [change(1, .insert(["a": "x", "b": 1]))])
    ).accepted()
    let commit = replica.commit(
      base,
      [
        change(1, .update(["a": "y"])), change(2, .insert(["a": "u", "b": 2])),
        change(3, .insert([:])),
      ])
    let ruling = SpaceRuling(
      on: try proposal(space, commit),
      amendments: [
        key(1): ["a": "server", "b": 1], key(2): ["b": .null, "a": "u"], key(3): ["b": .null],
        key(9): ["a": "no change of the commit"],
      ])
    let outcome = try answer(space, commit, ruling)
    guard case .accepted(let revision, let digest) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(revision.version == base.version + 2)
    let state = try space.state
    #expect(state.head == revision && state.digest == digest)
    let page = try space.changes(since: base)
    #expect(page.changes.map(\.key) == [key(3), key(1), key(2)])
    #expect(page.changes.map(\.fields) == [[:], ["a": "server", "b": 1], ["a": "u"]])
    #expect(page.changes.map { $0.version - base.version } == [1, 2, 2])
    let history = try space.run { tables, _ in try tables.history(maxCount: 2) }
    #expect(history.map(\.replica) == [.ofSpace, replica.id])
    #expect(history[1].id == commit.id && history[0].counts == ["t": 2])
    #expect(try answer(space, commit, nil) == outcome)
    // A replica that has not heard of the answer learns where the commit is.
    var copy = replica
    copy.sequence += 3
    let fate = try space.commit(
      SyncCommit(
        replica: replica.id, sequence: copy.sequence, id: commit.id, base: base, changes: []))
    guard case .sequence(last: _, fate: let made?) = fate else {
      Issue.record("\(fate)")
      return
    }
    #expect(made.version == base.version + 1)
    // An amendment without an effect makes no version.
    let same = replica.commit(revision, [change(4, .insert(["a": "s"]))])
    let again = SpaceRuling(on: try proposal(space, same), amendments: [key(4): ["a": "s"]])
    #expect(try answer(space, same, again).accepted().version == revision.version + 1)
  }

  @Test(
    "If the records of a commit have changed since its rules decided, nothing is written, and they are asked again"
  )
  func stale() throws {
    let space = try TestSpace()
    var (first, second) = (TestReplica(seed: 1), TestReplica(seed: 2))
    let base = try space.commit(
      first.commit(try space.head, [change(1, .insert(["a": "x", "b": "y"]))])
    ).accepted()
    let commit = second.commit(base, [change(1, .update(["a": "z"]))])
    let old = SpaceRuling(on: try proposal(space, commit), refusals: [key(1): "no"])
    // Another field: the commit itself does not conflict.
    _ = try space.commit(first.commit(base, [change(1, .update(["b": "w"]))])).accepted()
    let state = try space.state
    #expect(throws: StaleRuling.self) { try answer(space, commit, old) }
    // Rules that were not asked at all.
    #expect(throws: StaleRuling.self) { try answer(space, commit, SpaceRuling(on: [])) }
    #expect(try space.state == state)
    let edits = try proposal(space, commit)
    #expect(edits.map(\.old?.fields) == [["a": "x", "b": "w"]])
    // A decision about other new values, as of a part that was replaced.
    let other = SyncCommit(
      replica: commit.replica, sequence: commit.sequence, id: commit.id, base: base,
      changes: [change(1, .update(["a": "harmless"]))])
    let swapped = SpaceRuling(on: try proposal(space, other))
    #expect(throws: StaleRuling.self) { try answer(space, commit, swapped) }
    _ = try answer(space, commit, SpaceRuling(on: edits)).accepted()
  }

  @Test("Rules see a commit in parts once, with its last missing part")
  func parts() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let whole = replica.commit(try space.head, [])
    func part(_ number: Int) -> SyncCommit {
      SyncCommit(
        replica: whole.replica, sequence: whole.sequence, id: whole.id, base: whole.base,
        part: number, of: 3, changes: [change(.integer(Int64(number)), .insert(["a": "x"]))])
    }
    for number in [3, 1] {
      #expect(try proposal(space, part(number)).isEmpty)
      let outcome = try answer(space, part(number), SpaceRuling(on: []))
      guard case .parts = outcome else {
        Issue.record("\(outcome)")
        return
      }
    }
    let edits = try proposal(space, part(2))
    #expect(edits.map(\.key) == [key(1), key(2), key(3)])
    #expect(throws: StaleRuling.self) { try answer(space, part(2), SpaceRuling(on: [])) }
    let ruling = SpaceRuling(on: edits, amendments: [key(3): ["b": "server"]])
    #expect(try answer(space, part(2), ruling).accepted().version == 2)
    #expect(try space.changes(since: nil).changes.map(\.fields?["b"]) == [.null, .null, "server"])
  }

  @Test(
    "Amendments that the space cannot store refuse the change, and nothing of the commit is made")
  func refusedAmendments() throws {
    let space = try TestSpace(tables: [
      SpaceTable(
        name: "t", columns: ["a", "b"], keyColumns: ["id"], granularity: .field,
        constraints: [.unique([ComparedColumn("b")])])
    ])
    var replica = TestReplica(seed: 1)
    _ = try space.commit(replica.commit(try space.head, [change(1, .insert(["b": "taken"]))]))
      .accepted()
    let before = try space.state
    for (amendment, reason) in [(["b": "taken"], "taken"), (["c": "x"], "unknownColumn")]
      as [(Record, String)]
    {
      let commit = replica.commit(
        before.head, [change(2, .insert(["a": "x"])), change(3, .insert(["a": "y"]))])
      let ruling = SpaceRuling(
        on: try proposal(space, commit), amendments: [key(2): amendment, key(3): ["b": "free"]])
      let outcome = try answer(space, commit, ruling)
      guard case .refused(let objections) = outcome else {
        Issue.record("\(outcome)")
        continue
      }
      #expect(objections.map(\.key) == [key(2)])
      #expect(objections[0].reason.ruleMessage?.contains("(\(reason))") == true)
      #expect(try space.state == before)
      #expect(try answer(space, commit, nil) == outcome)
    }
  }

  @Test(
    "Of commits that share a transaction, a stale one and a refused one do not affect the others")
  func group() throws {
    let space = try TestSpace()
    var replicas = (0..<4).map { TestReplica(seed: $0) }
    let head = try space.head
    let commits = replicas.indices.map { number in
      replicas[number].commit(head, [change(.integer(Int64(number)), .insert(["a": "x"]))])
    }
    let edits = try commits.map { try proposal(space, $0) }
    let results = try answers(
      space,
      [
        (commits[0], SpaceRuling(on: edits[0], amendments: [key(0): ["c": "unknown"]])),
        (commits[1], SpaceRuling(on: edits[1], amendments: [key(1): ["b": "server"]])),
        (commits[2], SpaceRuling(on: [])), (commits[3], SpaceRuling(on: edits[3])),
      ])
    guard case .refused = try results[0].get() else {
      Issue.record("\(results[0])")
      return
    }
    #expect(try results[1].get().accepted().version == 2)
    #expect(throws: StaleRuling.self) { try results[2].get() }
    #expect(try results[3].get().accepted().version == 3)
    #expect(try space.changes(since: nil).changes.map(\.key) == [key(1), key(3)])
    _ = try answer(space, commits[2], SpaceRuling(on: edits[2])).accepted()
  }

  @Test("Nobody sends commits as the space itself, and long messages of rules are cut")
  func bounds() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    replica.id = .ofSpace
    let commit = replica.commit(try space.head, [change(1, .insert([:]))])
    let error = #expect(throws: SyncRequestError.self) { try space.commit(commit) }
    #expect(error?.code == .malformed)
    let message = try #require(
      SyncObjection.Reason.rule(String(repeating: "ä", count: 600)).ruleMessage)
    #expect(message == String(repeating: "ä", count: 500))
    #expect(SyncObjection.Reason.taken.ruleMessage == nil)
  }
}
