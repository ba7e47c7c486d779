import TandemPostgreSQL
import TandemRecords
import TandemSpace
import TandemSync
import TestFolder
import TestPostgreSQL
import Testing

@testable import TandemServer

@Suite("The commits of a space as a sequence", .timeLimit(.minutes(20)))
struct CommitSequenceTests {
  enum Store: CaseIterable { case directory, postgreSQL }

  /// A service and the commits of one replica.
  private final class Place {
    let folder: TemporaryFolder
    let service: SyncService
    private var replica = TestReplica(seed: 1)

    init(_ store: Store, maxOpenCount: Int = 4) async throws {
      var limits = SyncService.Limits()
      limits.heartbeat = .milliseconds(100)
      folder = try TemporaryFolder()
      switch store {
      case .directory:
        service = SyncService(
          spaces: try SpaceDirectory(path: folder.path(of: "spaces"), maxOpenCount: maxOpenCount),
          tokens: nil, limits: limits)
      case .postgreSQL:
        let database = try await PostgreSQLDatabase.open(
          address: try TestCluster.shared.get().makeDatabase(), creates: true,
          maxConnectionCount: 4)
        service = SyncService(
          spaces: PostgreSQLSpaces(database, limits: SyncLimits()), tokens: nil, limits: limits)
      }
      try await make("notes")
    }

    func make(_ space: String) async throws {
      _ = try await service.spaces.with(space, creates: true) { try await $0.declare([.t]) }
    }

    /// Waits for commits, and begins again after an error that passes, as while another space has the only place.
    static func follow(_ space: String, _ service: SyncService) async throws {
      while true {
        do {
          for try await _ in service.commits(in: space) {}
        } catch let error as SyncRequestError where error.code == .unavailable {
          try await Task.sleep(for: .milliseconds(1))
        }
      }
    }

    /// Takes the only place among the open files, as soon as no read is under way.
    func makeOnceThereIsRoom(_ space: String) async throws {
      while true {
        do {
          return try await make(space)
        } catch let error as SyncRequestError where error.code == .unavailable {
          await Task.yield()
        }
      }
    }

    @discardableResult
    func commit(_ changes: [SyncChange], to space: String = "notes") async throws -> SpaceRevision {
      let head = try await service.spaces.with(space) { try await $0.state().head }
      let commit = replica.commit(head, changes)
      let outcome = try await service.spaces.with(space) { try await $0.commit(commit) }
      guard case .accepted(let revision, _) = outcome else { throw CancellationError() }
      return revision
    }
  }

  @Test(
    "Each commit arrives in order, and the sequence continues from the position of any element",
    arguments: Store.allCases)
  func order(store: Store) async throws {
    let place = try await Place(store)
    let start = try await place.service.position(in: "notes")
    var iterator = place.service.commits(in: "notes", after: start).makeAsyncIterator()
    var last = start
    for number in 1...5 {
      let revision = try await place.commit([insertion(number)])
      let element = try #require(try await iterator.next())
      #expect(element.space == "notes" && element.isComplete)
      #expect(element.revision == revision)
      #expect("\(element.from.map { "\($0)" } ?? "")" == "\(last)")
      #expect(element.changes.map(\.primaryKey) == [[.integer(Int64(number))]])
      #expect(element.changes.map(\.record) == [["a": "x"]])
      last = element.position
    }
    // Kept as a text, continued by another iterator: nothing twice, nothing missing.
    let kept = try #require(CommitPosition("\(last)"))
    #expect(kept == last)
    try await place.commit(
      [SyncChange(key: SyncKey(table: "t", id: [2]), verb: .delete), insertion(6)])
    var other = place.service.commits(in: "notes", after: kept).makeAsyncIterator()
    let element = try #require(try await other.next())
    #expect(element.changes.map(\.record) == [nil, ["a": "x"]])
    // Without a position, all records come.
    var all = place.service.commits(in: "notes").makeAsyncIterator()
    let everything = try #require(try await all.next())
    #expect(everything.from == nil)
    #expect(everything.changes.map(\.primaryKey) == [[1], [3], [4], [5], [6]])
    await place.service.close()
  }

  @Test(
    "Many changes come in several elements, each of which can be continued from",
    arguments: Store.allCases)
  func pages(store: Store) async throws {
    let place = try await Place(store)
    let start = try await place.service.position(in: "notes")
    let revision = try await place.commit((1...2_500).map { insertion($0) })
    var position = start
    var ids: [Int] = []
    for isLast in [false, false, true] {
      var iterator = place.service.commits(in: "notes", after: position).makeAsyncIterator()
      let element = try #require(try await iterator.next())
      #expect(element.isComplete == isLast && element.revision == revision)
      ids += element.changes.compactMap { $0.primaryKey[0].integerValue }
      position = try #require(CommitPosition("\(element.position)"))
    }
    #expect(ids.sorted() == Array(1...2_500))
    // A cursor that this version does not know begins with the first changes again.
    let foreign = try #require(CommitPosition("\(start)/other"))
    var iterator = place.service.commits(in: "notes", after: foreign).makeAsyncIterator()
    #expect(try await iterator.next()?.changes.count == CommittedChanges.maxCount)
    await place.service.close()
  }

  @Test(
    "After the space has lost or forgotten its history, all records come", arguments: Store.allCases
  )
  func gone(store: Store) async throws {
    let place = try await Place(store)
    let old = try await place.service.position(in: "notes")
    for number in 1...3 { try await place.commit([insertion(number)]) }
    try await place.service.spaces.with("notes") { try await $0.forget(before: 2) }
    let unknown = try #require(
      CommitPosition("0123456789abcdef0123456789abcdef.3.0123456789abcdef"))
    for position in [old, unknown] {
      var iterator = place.service.commits(in: "notes", after: position).makeAsyncIterator()
      let element = try #require(try await iterator.next())
      #expect(element.from == nil && element.changes.count == 3)
    }
    for text in ["", "x", "1.2.3", "--", "/x"] { #expect(CommitPosition(text) == nil) }
    #expect(CommitPosition("-") == .start)
    await place.service.close()
  }

  @Test("It waits until the task is cancelled, and ends with an error if there is no such space")
  func ends() async throws {
    let place = try await Place(.directory, maxOpenCount: 1)
    let service = place.service
    await #expect(throws: SyncRequestError.self) {
      for try await _ in service.commits(in: "missing") {}
    }
    let waiting = Task { try await Place.follow("notes", service) }
    try await place.makeOnceThereIsRoom("other")
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    await service.close()
  }

  @Test(
    "Two sequences of a space give way to another one, and end when theirs is deleted",
    arguments: Store.allCases)
  func deletion(store: Store) async throws {
    let place = try await Place(store, maxOpenCount: 1)
    let service = place.service
    let waiting = (0..<2).map { _ in Task { try await Place.follow("notes", service) } }
    try await place.makeOnceThereIsRoom("other")
    try await service.spaces.delete("notes")
    for task in waiting {
      let error = await #expect(throws: SyncRequestError.self) { try await task.value }
      #expect(error?.code == .unknownSpace)
    }
    try await place.makeOnceThereIsRoom("third")
    await service.close()
  }
}
