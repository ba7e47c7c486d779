import TandemRecords
import TandemSync
import TestFolder
import TestPostgreSQL
import TestRandom
import Testing

@testable import TandemPostgreSQL
@testable import TandemSpace

@Suite("Spaces that move between files and PostgreSQL", .timeLimit(.minutes(20)))
struct SpaceMoveTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let tables = [
    SpaceTable(
      name: "t", columns: ["a", "u"], keyColumns: ["id"], granularity: .field,
      constraints: [.unique([ComparedColumn("u")])]),
    SpaceTable(
      name: "numbered \"x\" é", columns: ["a"], keyColumns: ["id"], granularity: .field,
      isNumbered: true),
  ]

  /// Makes random commits of a replica, and returns the last one with its outcome.
  private static func commit(
    _ replica: inout MovingReplica, _ store: some SpaceStore, count: Int
  ) async throws -> (SyncCommit, SyncOutcome) {
    var last: (SyncCommit, SyncOutcome)?
    for _ in 0..<count {
      let commit = replica.commit(try await store.state().head)
      last = (commit, try await store.commit(commit, account: "Ann é"))
    }
    return try #require(last)
  }

  private func move(
    _ file: String, to database: PostgreSQLDatabase, named name: String
  ) async throws -> MovedSpace? {
    let position = try #require(try await SQLiteSpaceStore.read(path: file) { try $0.position() })
    return try await PostgreSQLSpaceStore.receive(
      database, name: name, position, members: []
    ) { target in
      try SQLiteSpaceStore.withFile(file, creates: false) { try $0.move(to: target) }
    }
  }

  private func move(_ store: PostgreSQLSpaceStore, to file: String) async throws -> MovedSpace {
    try await store.write { source in
      try SQLiteSpaceStore.withFile(file, creates: true) { try source.move(to: $0) }
    }
  }

  /// All rows of a space, in the order of their texts.
  private func rows(_ file: String) async throws -> [String] {
    try await SQLiteSpaceStore.read(path: file) { space in
      var rows: [String] = []
      for table in SpaceStoredTable.allCases {
        try space.connection.forEachRow(of: table) { rows.append("\(table) \($0)") }
      }
      return rows.sorted()
    }
  }

  @Test("A space goes to a database and back with all that it has, and replicas go on")
  func thereAndBack() async throws {
    let database = try await PostgreSQLDatabase.open(
      address: try TestCluster.shared.get().makeDatabase(), creates: true)
    var file = folder.path(of: "0.space")
    // What the records take is stored as well.
    var limits = SyncLimits()
    limits.maxSpaceRecordCount = 1_000
    let first = try await SQLiteSpaceStore.open(path: file, creates: true, limits: limits)
    _ = try await first.declare(Self.tables)
    var replica = MovingReplica(seed: 1)
    var (commit, outcome) = try await Self.commit(&replica, first, count: 30)
    try await first.forget(before: 10)
    let part = replica.commit(try await first.state().head, part: true)
    _ = try await first.commit(part, account: "Ann é")
    let page = try await first.page(SyncPull(replica: nil, since: nil))
    await first.close()
    let id = replica.id
    _ = try await SQLiteSpaceStore.write(path: file) { try $0.setName("Laptop", of: id) }
    let rowsBefore = try await rows(file)
    for round in 1...3 {
      let state = try await SQLiteSpaceStore.read(path: file) { try $0.state() }
      let copy = try #require(try await move(file, to: database, named: "näme \u{1F600}"))
      #expect(copy.head == state.head)
      // The file is refused, and says why.
      let left = try await SQLiteSpaceStore.open(path: file, creates: false)
      var late = replica
      let refused = late.commit(state.head)
      let refusal = await #expect(throws: SyncRequestError.self) {
        _ = try await left.commit(refused, account: "Ann é")
      }
      #expect(refusal?.code == .unavailable && refusal?.message.contains("moved") == true)
      await left.close()
      let opened = try await PostgreSQLSpaceStore.open(
        database, name: "näme \u{1F600}", creates: false)
      let store = try #require(opened)
      #expect(try await store.state() == state)
      if round == 1 {
        #expect(try await store.page(SyncPull(replica: nil, since: nil)) == page)
        // There is nothing to do again.
        #expect(try await move(file, to: database, named: "näme \u{1F600}") == nil)
      }
      // A commit whose answer was lost gets the same bytes.
      let repeated = try await store.commit(commit, account: "Ann é")
      #expect(SyncMessageWriter.bytes(repeated) == SyncMessageWriter.bytes(outcome))
      if round > 1 { (commit, outcome) = try await Self.commit(&replica, store, count: 5) }
      file = folder.path(of: "\(round).space")
      _ = try await move(store, to: file)
      await #expect(throws: SyncRequestError.self) { try await store.state() }
      if round == 1 { #expect(try await rows(file) == rowsBefore) }
      let back = try await SQLiteSpaceStore.open(path: file, creates: false)
      let repeatedThere = try await back.commit(commit, account: "Ann é")
      #expect(SyncMessageWriter.bytes(repeatedThere) == SyncMessageWriter.bytes(outcome))
      (commit, outcome) = try await Self.commit(&replica, back, count: 5)
      await back.close()
    }
    await database.close()
  }

  @Test("A copy that is lost after the source was marked is made again, with all rows")
  func lostCopy() async throws {
    let database = try await PostgreSQLDatabase.open(
      address: try TestCluster.shared.get().makeDatabase(), creates: true)
    let file = folder.path(of: "a.space")
    let store = try await SQLiteSpaceStore.open(path: file, creates: true)
    _ = try await store.declare(Self.tables)
    var replica = MovingReplica(seed: 3)
    _ = try await Self.commit(&replica, store, count: 10)
    let state = try await store.state()
    await store.close()
    let position = try #require(try await SQLiteSpaceStore.read(path: file) { try $0.position() })
    await #expect(throws: CancellationError.self) {
      _ = try await PostgreSQLSpaceStore.receive(
        database, name: "a", position, members: []
      ) { target in
        _ = try SQLiteSpaceStore.withFile(file, creates: false) { try $0.move(to: target) }
        throw CancellationError()
      }
    }
    let marked = try await SQLiteSpaceStore.read(path: file) { try $0.position() }
    #expect(marked?.isMoved == true)
    #expect(try await PostgreSQLSpaceStore.names(database) == [])
    #expect(try await move(file, to: database, named: "a")?.head == state.head)
    let opened = try await PostgreSQLSpaceStore.open(database, name: "a", creates: false)
    #expect(try await opened?.state() == state)
    await database.close()
  }

  @Test("A space is not moved onto another one, and not if its records are damaged")
  func refusals() async throws {
    let database = try await PostgreSQLDatabase.open(
      address: try TestCluster.shared.get().makeDatabase(), creates: true)
    let file = folder.path(of: "a.space")
    let store = try await SQLiteSpaceStore.open(path: file, creates: true)
    _ = try await store.declare(Self.tables)
    var replica = MovingReplica(seed: 2)
    _ = try await Self.commit(&replica, store, count: 10)
    await store.close()
    _ = try await PostgreSQLSpaceStore.open(database, name: "taken", creates: true)
    #expect(try await move(file, to: database, named: "taken") == nil)
    // A space of the same name that was moved, too, but has another history.
    let taken = try await PostgreSQLSpaceStore.open(database, name: "taken", creates: false)
    _ = try await move(try #require(taken), to: folder.path(of: "taken.space"))
    #expect(try await move(file, to: database, named: "taken") == nil)
    _ = try await SQLiteSpaceStore.write(path: file) { space in
      try space.connection.insert(
        [[.text("t"), .blob([1]), .text("[\"new\"]"), .text("{}"), 1, 1, .text("{}")]],
        into: .record)
    }
    let error = await #expect(throws: SpaceError.self) {
      try await move(file, to: database, named: "free")
    }
    #expect(error?.code == .damaged)
    #expect(try await PostgreSQLSpaceStore.names(database) == ["taken"])
    // It is as it was.
    #expect(try await SQLiteSpaceStore.read(path: file) { try $0.state().head.version } > 0)
    await database.close()
  }
}

/// Makes random commits.
private struct MovingReplica {
  let id: SyncToken
  private var sequence = 0
  private var generator: SplitMix64

  init(seed: Int) {
    generator = SplitMix64(seed: seed)
    id = SyncToken.random(using: &generator)
  }

  mutating func commit(_ base: SpaceRevision, part: Bool = false) -> SyncCommit {
    sequence += part ? 0 : 1
    let key = SyncKey(table: "t", id: [.text("é\(Int.random(in: 0..<8, using: &generator))")])
    let value = FieldValue.integer(Int64.random(in: 0..<4, using: &generator))
    let verbs: [SyncChange.Verb] = [
      .insert(["a": value, "u": value]), .update(["a": value]), .delete,
    ]
    let overruled = SyncRecordState(key: key, version: 1, fields: ["a": value])
    var commit = SyncCommit(
      replica: id, sequence: sequence + (part ? 1 : 0), id: SyncToken.random(using: &generator),
      base: base,
      changes: [
        SyncChange(key: key, verb: verbs[Int.random(in: 0..<3, using: &generator)]),
        SyncChange(
          key: SyncKey(table: "numbered \"x\" é", id: [.integer(Int64(sequence))]),
          verb: .insert(["a": value])),
      ], overruled: [overruled])
    if part { commit.of = 2 }
    return commit
  }
}
