import TandemRecords
import TandemSpace
import TandemSync
import TestRandom
import Testing

@Suite("Quotas of a space", .onBothStores) struct SpaceQuotaTests {
  private func refusal(
    _ space: TestSpace, _ replica: inout TestReplica, _ changes: [SyncChange]
  ) throws -> String {
    let before = try space.state
    let commit = replica.commit(before.head, changes)
    let error = #expect(throws: SyncRequestError.self) { try space.commit(commit) }
    #expect(error?.code == .overQuota)
    // A copy that arrives when there is room changes nothing: the replica has taken the commit back.
    let limits = space.limits
    space.limits = SyncLimits()
    #expect(try space.commit(commit) == .refused([]))
    space.limits = limits
    #expect(try space.state == before)
    return error?.message ?? ""
  }

  @Test(
    "A commit beyond the quota of records is refused with the numbers [consume]; deletions pass")
  func records() throws {
    let space = try TestSpace()
    space.limits.maxSpaceRecordCount = 3
    var replica = TestReplica(seed: 1)
    let first = replica.commit(
      try space.head, (1...3).map { change(.integer($0), .insert(["a": "x"])) })
    let revision = try space.commit(first).accepted()
    // The outcome of a commit stays, whatever the quota is now.
    space.limits.maxSpaceRecordCount = 1
    #expect(try space.commit(first).accepted() == revision)
    space.limits.maxSpaceRecordCount = 3
    let message = try refusal(
      space, &replica, [change(4, .insert(["a": "y"])), change(5, .insert(["a": "y"]))])
    #expect(message.contains("may have 3 records: it has 3, and would have 5"))
    space.limits.maxSpaceRecordCount = 1
    for changes in [
      [change(1, .update(["a": "longer", "b": "new"]))],
      [change(1, .delete), change(4, .insert(["a": "y"]))], [change(2, .delete)],
      // A record that comes and goes, and one that was there before.
      [change(1, .insert(["a": "back"])), change(3, .delete)],
    ] {
      _ = try space.commit(replica.commit(try space.head, changes)).accepted()
    }
    _ = try refusal(space, &replica, [change(9, .insert([:]))])
    _ = try space.commit(replica.commit(try space.head, [change(1, .delete)])).accepted()
    _ = try refusal(space, &replica, [change(9, .insert([:]))])
    _ = try space.commit(replica.commit(try space.head, [change(4, .delete)])).accepted()
    _ = try space.commit(replica.commit(try space.head, [change(9, .insert([:]))])).accepted()
  }

  @Test(
    "The first commit of a replica, in parts, consumes its sequence if it is beyond the quota [consume]"
  )
  func firstCommit() throws {
    let space = try TestSpace()
    space.limits.maxSpaceRecordCount = 1
    var replica = TestReplica(seed: 1)
    let whole = replica.commit(
      try space.head, (1...4).map { change(.integer($0), .insert(["a": "x"])) })
    let parts = (1...2).map { part in
      SyncCommit(
        replica: whole.replica, sequence: whole.sequence, id: whole.id, base: whole.base,
        part: part, of: 2, changes: Array(whole.changes[(2 * part - 2)..<(2 * part)]))
    }
    #expect(try space.commit(parts[0]) == .parts(missing: [2]))
    let error = #expect(throws: SyncRequestError.self) { try space.commit(parts[1]) }
    #expect(error?.code == .overQuota)
    space.limits.maxSpaceRecordCount = nil
    for part in parts { #expect(try space.commit(part) == .refused([])) }
    _ = try space.commit(replica.commit(try space.head, whole.changes)).accepted()
  }

  @Test("A record that grows beyond the quota of bytes is refused, and may shrink")
  func bytes() throws {
    let space = try TestSpace()
    space.limits.maxSpaceByteCount = 100
    var replica = TestReplica(seed: 1)
    func text(_ count: Int) -> Record { ["a": .text(String(repeating: "x", count: count))] }
    // The key has 8 bytes.
    _ = try space.commit(replica.commit(try space.head, [change(1, .insert(text(92)))])).accepted()
    let message = try refusal(space, &replica, [change(1, .update(text(93)))])
    #expect(message.contains("may have 100 bytes: it has 100, and would have 101"))
    space.limits.maxSpaceByteCount = 50
    for count in [91, 42] {
      _ = try space.commit(replica.commit(try space.head, [change(1, .update(text(count)))]))
        .accepted()
    }
    _ = try refusal(space, &replica, [change(1, .update(text(43)))])
  }

  @Test("A quota counts what the live records take, also after commits without one")
  func count() throws {
    for seed in 0..<10 {
      let space = try TestSpace(seed: seed)
      var random = SplitMix64(seed: seed)
      var replica = TestReplica(seed: seed)
      for step in 0..<30 {
        space.limits.maxSpaceRecordCount = Int.random(in: 0..<4, using: &random) > 0 ? 1_000 : nil
        if step % 10 == 9 { try space.run { tables, _ in try tables.forget(before: step) } }
        let changes = (0..<3).map { _ in Int64.random(in: 0..<9, using: &random) }
        let commit = replica.commit(
          try space.head,
          Set(changes).map { id in
            let values: [FieldValue] = [.null, 1, 2.5, "ä", .blob([1, 2])]
            let value = values[Int.random(in: 0..<5, using: &random)]
            let verbs: [SyncChange.Verb] = [.delete, .update(["a": value]), .insert(["b": value])]
            return change(.integer(id), verbs[Int.random(in: 0..<3, using: &random)])
          })
        _ = try space.commit(commit)
        var (recordCount, byteCount) = (0, 0)
        for record in try space.changes(since: nil).changes {
          guard let fields = record.fields else { continue }
          recordCount += 1
          byteCount += 8
          for value in fields.values {
            switch value {
            case .text(let text): byteCount += text.utf8.count
            case .blob(let bytes): byteCount += bytes.count
            case .null, .integer, .real: byteCount += 8
            }
          }
        }
        let usage = try space.run { tables, _ in try tables.usage() }
        #expect(usage.recordCount == recordCount, "seed \(seed), step \(step)")
        #expect(usage.byteCount == byteCount, "seed \(seed), step \(step)")
      }
    }
  }
}
