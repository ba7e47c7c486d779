import TandemRecords
import TandemSQLite
import TandemSpace
import TandemSync
import TestFolder
import Testing

/// Commits that arrive in parts.
@Suite(.onBothStores) struct SpacePartsTests {
  @Test(
    "Parts become one version with the last missing one, in any order and however often they come [parts]"
  )
  func oneVersion() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let parts = replica.parts(try space.head, 3)
    let start = try space.state
    #expect(try space.commit(parts[2]) == .parts(missing: [1, 2]))
    #expect(try space.commit(parts[2]) == .parts(missing: [1, 2]))
    #expect(try space.commit(parts[0]) == .parts(missing: [2]))
    #expect(try space.state == start)
    let outcome = try space.commit(parts[1])
    #expect(try outcome.accepted().version == start.head.version + 1)
    // The changes are in the order of the parts.
    #expect(try space.changes(since: nil).changes.map(\.key.id) == [[1], [2], [3]])
    #expect(try space.keptPartCount == 0)

    // A part of a settled sequence gets the outcome, and is not kept.
    for part in parts { #expect(try space.commit(part) == outcome) }
    #expect(try space.keptPartCount == 0)
    let next = replica.commit(try outcome.accepted(), [])
    _ = try space.commit(next).accepted()
    #expect(try space.commit(parts[0]) == .sequence(last: 2, fate: try outcome.accepted()))
    #expect(try space.keptPartCount == 0)
  }

  @Test("A commit of parts is judged as a whole, and may report what it overruled in any part")
  func judgedWhole() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let base = try space.head
    var other = TestReplica(seed: 2)
    _ = try space.commit(other.commit(base, [change(1, .insert(["a": 0]))])).accepted()
    var parts = replica.parts(base, 2)
    #expect(try space.commit(parts[0]) == .parts(missing: [2]))
    let conflict = SyncOutcome.conflict([
      SyncObjection(key: parts[0].changes[0].key, reason: .exists)
    ])
    #expect(try space.commit(parts[1]) == conflict)
    // The sequence is consumed.
    #expect(try space.commit(parts[0]) == conflict)
    parts = replica.parts(
      try space.head, 2, changes: [change(5, .insert([:])), change(5, .insert([:]))])
    _ = try space.commit(parts[1])
    #expect(
      try space.commit(parts[0])
        == .refused([SyncObjection(key: parts[0].changes[0].key, reason: .repeated)]))

    let version = SyncRecordState(key: SyncKey(table: "t", id: [1]), version: 1, fields: ["a": 7])
    parts = replica.parts(try space.head, 2, first: 5, overruled: version)
    _ = try space.commit(parts[0])
    let head = try space.commit(parts[1]).accepted()
    let history = try space.run { space, _ in try space.history(maxCount: 1) }
    #expect(history.map(\.version) == [head.version])
    #expect(history.map(\.overruled) == [[version, version]])
  }

  @Test("A part is answered as its commit would be: repeated, sequence, gone, limits, rights")
  func order() throws {
    let space = try TestSpace(
      limits: SyncLimits(maxCommitChangeCount: 1, maxPartsChangeCount: 2))
    var replica = TestReplica(seed: 1)
    let base = try space.head
    let first = try space.commit(replica.commit(base, []), account: "ann").accepted()
    // Out of sequence, by another account, with too many changes.
    replica.sequence += 1
    let late = replica.parts(first, 2, changes: (1...4).map { change(.integer($0), .insert([:])) })
    #expect(try space.commit(late[0], account: "ann") == .sequence(last: 1, fate: nil))
    replica.sequence = 1
    let lost = SpaceRevision(epoch: base.epoch, version: first.version, mark: ~first.mark)
    #expect(try space.commit(replica.parts(lost, 2)[0], account: "ann") == .gone(.history))
    replica.sequence = 1
    let long = replica.parts(first, 2, changes: (1...4).map { change(.integer($0), .insert([:])) })
    expectRefusal(.overLimit) { try space.commit(long[0], account: "ann") }
    replica.sequence = 1
    let parts = replica.parts(first, 3)
    expectRefusal(.unauthorized) { try space.commit(parts[0], account: "bob") }
    #expect(try space.keptPartCount == 0)
    // Together they have too many changes; one that comes again counts once.
    _ = try space.commit(parts[0], account: "ann")
    _ = try space.commit(parts[1], account: "ann")
    #expect(try space.commit(parts[1], account: "ann") == .parts(missing: [3]))
    expectRefusal(.overLimit) { try space.commit(parts[2], account: "ann") }
    #expect(try space.keptPartCount == 2)
  }

  @Test("Changes and overruled versions of the parts are counted separately")
  func overruledCount() throws {
    let space = try TestSpace(limits: SyncLimits(maxPartsChangeCount: 2))
    var replica = TestReplica(seed: 1)
    let version = SyncRecordState(key: SyncKey(table: "t", id: [1]), version: 1, fields: nil)
    let commit = replica.commit(try space.head, [])
    func part(_ number: Int, _ changes: [SyncChange], _ overruled: [SyncRecordState]) -> SyncCommit
    {
      SyncCommit(
        replica: commit.replica, sequence: 1, id: commit.id, base: commit.base, part: number, of: 3,
        changes: changes, overruled: overruled)
    }
    #expect(try space.commit(part(1, [change(1, .insert([:]))], [])) == .parts(missing: [2, 3]))
    #expect(try space.commit(part(2, [], [version, version])) == .parts(missing: [3]))
    _ = try space.commit(part(3, [change(3, .insert([:]))], [])).accepted()
  }

  @Test("The parts of a commit have at most so many bytes together")
  func bytes() throws {
    var replica = TestReplica(seed: 1)
    var space = try TestSpace()
    let parts = replica.parts(try space.head, 2)
    let byteCounts = parts.map { SyncMessageWriter.bytes($0).count }
    for limit in [byteCounts[0] + byteCounts[1] - 1, byteCounts[0] + byteCounts[1]] {
      space = try TestSpace(limits: SyncLimits(maxPartsByteCount: limit))
      replica.sequence = 0
      let parts = replica.parts(try space.head, 2)
      _ = try space.commit(parts[0])
      if limit == byteCounts[0] + byteCounts[1] {
        _ = try space.commit(parts[1]).accepted()
      } else {
        expectRefusal(.overLimit) { try space.commit(parts[1]) }
      }
    }
  }

  @Test("Parts with other bases, other numbers of parts, or from another account are refused")
  func unlikeParts() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let base = try space.head
    let parts = replica.parts(base, 3)
    _ = try space.commit(parts[0], account: "ann")
    var other = parts[1]
    other.of = 2
    expectRefusal(.malformed) { try space.commit(other, account: "ann") }
    var third = TestReplica(seed: 3)
    let head = try space.commit(third.commit(base, [])).accepted()
    let moved = SyncCommit(
      replica: replica.id, sequence: 1, id: parts[0].id, base: head, part: 2, of: 3, changes: [])
    expectRefusal(.malformed) { try space.commit(moved, account: "ann") }
    expectRefusal(.unauthorized) { try space.commit(parts[1], account: "bob") }
    _ = try space.commit(parts[1], account: "ann")
    _ = try space.commit(parts[2], account: "ann").accepted()
  }

  @Test(
    "Parts of two copies of a file do not mix, and neither copy keeps the other one out for ever [parts]"
  )
  func copies() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let base = try space.head
    let first = replica.parts(base, 2)
    replica.sequence = 0
    let second = replica.parts(base, 2, first: 10)
    #expect(try space.commit(first[0], at: 0) == .parts(missing: [2]))
    expectRefusal(.unavailable) {
      try space.commit(second[1], at: SpaceTables.minPartAge - 1)
    }
    // The first copy is gone.
    #expect(try space.commit(second[1], at: SpaceTables.minPartAge) == .parts(missing: [1]))
    expectRefusal(.unavailable) { try space.commit(first[1], at: SpaceTables.minPartAge) }
    let fate = try space.commit(second[0], at: SpaceTables.minPartAge).accepted()
    #expect(try space.changes(since: nil).changes.map(\.key.id) == [[10], [11]])
    #expect(try space.commit(first[1]) == .sequence(last: 1, fate: nil))
    #expect(try space.commit(second[1]) == .accepted(fate, try space.state.digest))
    #expect(try space.keptPartCount == 0)
  }

  @Test("Parts of a commit that never ends are dropped with the next sequence, and after a day")
  func dropped() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let base = try space.head
    _ = try space.commit(replica.parts(base, 2)[0], at: 5)
    // The file took that commit back, and has fewer changes now.
    replica.sequence = 0
    _ = try space.commit(replica.commit(base, []), at: 6).accepted()
    #expect(try space.keptPartCount == 0)

    let parts = replica.parts(try space.head, 3)
    _ = try space.commit(parts[0], at: 10)
    _ = try space.commit(parts[1], at: 20)
    var other = TestReplica(seed: 2)
    let part = other.parts(base, 2)[0]
    _ = try space.commit(part, at: 10 + SpaceTables.maxPartAge)
    #expect(try space.keptPartCount == 3)
    _ = try space.commit(part, at: 11 + SpaceTables.maxPartAge)
    #expect(try space.keptPartCount == 2)
    #expect(try space.commit(parts[2], at: 12 + SpaceTables.maxPartAge) == .parts(missing: [1]))
  }

  @Test("A part that the space has answered is in the file of the space when that is opened again")
  func durable() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "space.tandem")
    var store = try await SQLiteSpaceStore.open(path: path, creates: true)
    _ = try await store.declare([
      SpaceTable(name: "t", columns: ["a", "b"], keyColumns: ["id"], granularity: .field)
    ])
    var replica = TestReplica(seed: 1)
    let parts = replica.parts(try await store.state().head, 2)
    #expect(try await store.commit(parts[1]) == .parts(missing: [1]))
    await store.close()
    store = try await SQLiteSpaceStore.open(path: path, creates: false)
    _ = try await store.commit(parts[0]).accepted()
    await store.close()
  }

  @Test("The records of a commit take the room of its parts", .onlyOnSQLite)
  func room() throws {
    let space = try TestSpace()
    var replica = TestReplica(seed: 1)
    let text = FieldValue.text(String(repeating: "long", count: 250))
    let changes = (1...400).map { change(.integer($0), .insert(["a": text])) }
    for part in replica.parts(try space.head, 10, changes: changes) {
      _ = try space.commit(part)
    }
    #expect(try space.state.head.version == 1)
    let free = try space.connection.integer("PRAGMA freelist_count") ?? .max
    #expect(try free * 10 < space.connection.integer("PRAGMA page_count") ?? 0)
  }

  private func expectRefusal(
    _ code: SyncRequestError.Code, _ location: SourceLocation = #_sourceLocation,
    _ body: () throws -> SyncOutcome
  ) {
    let refusal = #expect(throws: SyncRequestError.self, sourceLocation: location) { try body() }
    #expect(refusal?.code == code, sourceLocation: location)
  }
}

extension TestSpace {
  fileprivate var keptPartCount: Int64? {
    get throws {
      // A file gets the table with the first part.
      if case .sqlite = TestStore.current {
        let table = try connection.rows("SELECT 1 FROM sqlite_schema WHERE name = 'part'")
        guard !table.isEmpty else { return 0 }
      }
      return Int64(try rows("part", of: "part").count)
    }
  }
}

extension TestReplica {
  /// The parts of the next commit, with one insertion each unless other changes are given.
  fileprivate mutating func parts(
    _ base: SpaceRevision, _ count: Int, first: Int = 1, changes: [SyncChange]? = nil,
    overruled: SyncRecordState? = nil
  ) -> [SyncCommit] {
    let commit = commit(base, [])
    return (1...count).map { number in
      let own =
        changes.map { changes in
          let size = changes.count / count
          return Array(changes[(number - 1) * size..<number * size])
        } ?? [change(.integer(Int64(first + number - 1)), .insert(["a": 1]))]
      return SyncCommit(
        replica: commit.replica, sequence: commit.sequence, id: commit.id, base: base, part: number,
        of: count, changes: own, overruled: overruled.map { [$0] } ?? [])
    }
  }
}
