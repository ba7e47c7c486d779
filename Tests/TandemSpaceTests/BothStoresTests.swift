import TandemRecords
import TandemSpace
import TandemSync
import TestRandom
import Testing

@Suite("Both stores") struct BothStoresTests {
  private static let tables = [
    SpaceTable(
      name: "t", columns: ["a", "u", "p"], keyColumns: ["id"], granularity: .field,
      constraints: [
        .unique([ComparedColumn("u", .nocase)]),
        .reference(["p"], to: "parent", [ComparedColumn("id")]),
        .reference(["a"], to: "parent", [ComparedColumn("n")]),
      ]),
    SpaceTable(
      name: "parent", columns: ["n"], keyColumns: ["id"], granularity: .record,
      constraints: [.unique([ComparedColumn("n")])]),
  ]

  @Test("Random commits and pulls get the same answers from both stores, byte for byte")
  func equality() throws {
    var (claimCount, commitCount) = (0, 0)
    for seed in 0..<25 {
      let spaces = try [TestStore.sqlite, .postgreSQL].map { store in
        try TestStore.$current.withValue(store) { try TestSpace(seed: seed, tables: Self.tables) }
      }
      var random = SplitMix64(seed: seed)
      var replicas = (0..<3).map { TestReplica(seed: seed * 10 + $0) }
      var revisions = [try spaces[0].head]
      for step in 0..<40 {
        let replica = Int.random(in: 0..<3, using: &random)
        let isLate = Int.random(in: 0..<4, using: &random) == 0
        let base = revisions.suffix(isLate ? 6 : 1).randomElement(using: &random) ?? revisions[0]
        let commit = replicas[replica].commit(base, changes(&random))
        let outcomes = try spaces.map { try $0.commit(commit) }
        #expect(bytes(outcomes[0]) == bytes(outcomes[1]), "seed \(seed), step \(step)")
        switch outcomes[0] {
        case .accepted(let revision, _):
          revisions.append(revision)
          commitCount += 1
        case .gone: replicas[replica].sequence -= 1
        case .conflict, .refused, .sequence, .parts: break
        }
        if step % 15 == 14 {
          for space in spaces {
            try space.run { tables, _ in try tables.forget(before: revisions.count / 2) }
          }
        }
        let since = Bool.random(using: &random) ? nil : revisions.randomElement(using: &random)
        var cursor: String?
        repeat {
          let pull = SyncPull(
            replica: replicas[replica].id, since: since, cursor: cursor,
            maxChangeCount: Int.random(in: 1...4, using: &random))
          let answers = try spaces.map { try $0.page(pull) }
          guard case .page(let first) = answers[0], case .page(let second) = answers[1] else {
            #expect(answers[0] == answers[1], "seed \(seed), step \(step)")
            break
          }
          #expect(
            SyncMessageWriter.bytes(first) == SyncMessageWriter.bytes(second),
            "seed \(seed), step \(step)")
          cursor = first.next
        } while cursor != nil
      }
      let states = try spaces.map { try $0.state }
      #expect(states[0] == states[1])
      let claims = try spaces.map { space in
        try space.rows("rule, side, value, key", of: "claim", by: "rule, side, value, key")
      }
      #expect(claims[0] == claims[1], "seed \(seed)")
      claimCount += claims[0].count
      let inspections = try spaces.map { space in
        try space.run { tables, _ in try tables.inspection(maxCount: 5) }
      }
      #expect(inspections[0].commits == inspections[1].commits, "seed \(seed)")
      #expect(inspections[0].replicas == inspections[1].replicas, "seed \(seed)")
    }
    #expect(
      commitCount > 50 && claimCount > 10, "\(commitCount) commits, \(claimCount) claims")
  }

  private func bytes(_ outcome: SyncOutcome) -> [UInt8] { SyncMessageWriter.bytes(outcome) }

  /// Changes of up to four records, many of which the rules object to.
  private func changes(_ random: inout SplitMix64) -> [SyncChange] {
    (0..<10).shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)).map { number in
      let isParent = number >= 6
      let value: FieldValue = [.null, 1, 2.0, "x", "X"].randomElement(using: &random) ?? .null
      let parent = FieldValue.integer(Int64.random(in: 6..<10, using: &random))
      let fields: Record =
        isParent
        ? ["n": value]
        : Bool.random(using: &random) ? ["u": value, "p": parent] : ["a": value]
      let verb: SyncChange.Verb =
        switch Int.random(in: 0..<5, using: &random) {
        case 0: .delete
        case 1, 2: .update(fields)
        default: .insert(fields)
        }
      return SyncChange(
        key: SyncKey(table: isParent ? "parent" : "t", id: [.integer(Int64(number))]), verb: verb)
    }
  }
}
