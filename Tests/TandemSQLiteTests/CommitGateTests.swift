import Foundation
import Synchronization
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite("Between a commit and its publication", .timeLimit(.minutes(30)))
struct CommitGateTests {
  private static let commitCount = 1_000
  private static let interest = TableInterest(table: "t", key: .rowid)

  /// Passes everything on to a feed; after a commit is visible, and before it is published, it has a
  /// reader try to begin a snapshot.
  private final class Interloper: CommitObserver {
    private let publisher: any CommitObserver
    private let reader: Reader

    init(_ publisher: any CommitObserver, _ reader: Reader) {
      self.publisher = publisher
      self.reader = reader
    }

    func didBegin(_ connection: DatabaseConnection) { publisher.didBegin(connection) }
    func didRollback(_ connection: DatabaseConnection) { publisher.didRollback(connection) }

    func didCommit(_ connection: DatabaseConnection) {
      reader.untilKnocking()
      // Where nothing keeps it out, it is inside before long.
      for _ in 0..<10 { sched_yield() }
      publisher.didCommit(connection)
    }
  }

  /// Follows a table by the keys it is told, and compares with what it sees.
  private final class Reader: Sendable {
    private enum Place { case away, knocking, gone }

    private let place = Mutex(Place.away)
    private let moves = NSCondition()
    var hasEnded: Bool { place.withLock { $0 == .gone } }

    private func move(to newPlace: Place) {
      moves.withLock {
        place.withLock { $0 = newPlace }
        moves.broadcast()
      }
    }

    /// Blocks the thread, as one that spins would take the place of others, until it is about to begin
    /// a snapshot, or begins none any more.
    func untilKnocking() {
      moves.withLock {
        while place.withLock({ $0 == .away }) { moves.wait() }
      }
    }

    func follow(_ database: Database, _ feed: ChangeFeed) throws {
      defer { move(to: .gone) }
      let subscription = feed.subscribe()
      defer { feed.unsubscribe(subscription) }
      feed.setInterests([CommitGateTests.interest], of: subscription)
      var known: Set<RecordKey> = []
      while known.count < CommitGateTests.commitCount {
        let (changes, present) = try database.read { transaction in
          move(to: .knocking)
          let changes = try feed.beginSnapshot(transaction.connection, for: subscription)
          move(to: .away)
          let keys = try transaction.fetchValues("SELECT k FROM t", as: Int64.self)
          return (changes, Set(keys.map { RecordKey(.integer($0)) }))
        }
        if changes.isUnknown { known = present }
        known.formUnion(changes.touched[CommitGateTests.interest]?.keys ?? [])
        guard known == present else { throw Tear(told: known.count, shown: present.count) }
      }
    }
  }

  /// A snapshot showed other rows than its reader had been told of.
  private struct Tear: Error {
    var told: Int
    var shown: Int
  }

  @Test("no snapshot begins between a commit and its publication")
  func interloper() async throws {
    let folder = try TemporaryFolder()
    let database = try Database(path: folder.file())
    try await database.write { try $0.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)") }
    try await database.withWriter { try $0.execute("PRAGMA synchronous=OFF") }
    let feed = try await database.changeFeed()
    let reader = Reader()
    try await database.withWriter { connection in
      try connection.observe { connection throws(DatabaseError) in
        Interloper(try feed.publisher(for: connection), reader)
      }
    }
    let failure = Mutex<(any Error)?>(nil)
    let thread = TestThread {
      do { try reader.follow(database, feed) } catch { failure.withLock { $0 = error } }
    }
    for key in 1...Self.commitCount where !reader.hasEnded {
      try await database.write { try $0.execute("INSERT INTO t VALUES (\(key))") }
    }
    await thread.join()
    if let failure = failure.withLock({ $0 }) { throw failure }
    await database.close()
  }

  @Test("Changes of this process are taken without a snapshot; those of others need one")
  func takingWithoutSnapshot() async throws {
    let folder = try TemporaryFolder()
    let database = try Database(path: folder.path(of: "t.db"))
    try await database.write { try $0.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)") }
    let feed = try await database.changeFeed()
    let (subscription, witness) = (feed.subscribe(), feed.subscribe())
    feed.setInterests([CommitGateTests.interest], of: subscription)
    func snapshot(for subscription: ChangeSubscription) async throws {
      _ = try await database.read {
        try feed.beginSnapshot($0.connection, for: subscription).isUnknown
      }
    }
    #expect(!feed.takeKnownChanges(of: subscription), "everything is new")
    try await snapshot(for: subscription)
    try await database.write { try $0.execute("INSERT INTO t VALUES (1)") }
    #expect(subscription.hasChanges)
    #expect(feed.takeKnownChanges(of: subscription))
    #expect(!subscription.hasChanges)
    try DatabaseConnection(path: folder.path(of: "t.db")).execute("INSERT INTO t VALUES (2)")
    try await snapshot(for: witness)
    #expect(!feed.takeKnownChanges(of: subscription))
    #expect(subscription.hasChanges, "nothing is forgotten")
    await database.close()
  }
}
