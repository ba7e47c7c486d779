import Foundation
import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("Runs of live queries", .serialized, .timeLimit(.minutes(30)))
struct LiveRunTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  static let cycleCount = 10_000

  /// How many files this process has open in the test's folder.
  func openFileCount() -> Int {
    let descriptors =
      (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return descriptors.filter { descriptor in
      let target = try? FileManager.default.destinationOfSymbolicLink(
        atPath: "/proc/self/fd/\(descriptor)")
      return target?.contains(folder.path.split(separator: "/").last ?? "?") == true
    }.count
  }

  @Test("10,000 runs that start and end leave nothing behind")
  func cycles() async throws {
    weak var leaked: Database?
    do {
      let database = try await folder.database(
        "CREATE TABLE t (k INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)")
      leaked = database
      let query = LiveQuery(table: "t")
      var openCount = 0
      for cycle in 0..<Self.cycleCount {
        var iterator = query.differences(in: database).makeAsyncIterator()
        #expect(try await iterator.next()?.inserted.count == 1)
        if cycle == 10 { openCount = openFileCount() }
      }
      #expect(openFileCount() <= openCount)
      #expect(try await comesToHold { try await database.changeFeed().isIdle })
      await database.close()
    }
    #expect(try await comesToHold { leaked == nil })
    #expect(openFileCount() == 0)
  }

  @Test("runs cancelled at any time end, and leave nothing behind")
  func cancellations() async throws {
    let database = try await folder.database("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    let query = LiveQuery(table: "t")
    for round in 0..<20 {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<50 {
          group.addTask { for try await _ in query.differences(in: database) {} }
        }
        try await database.run("INSERT INTO t VALUES (\(round))")
        group.cancelAll()
        try await group.waitForAll()
      }
    }
    #expect(try await comesToHold { try await database.changeFeed().isIdle })
  }

  @Test(
    "closing the database ends who waits for a change, and lets go of the file, whatever its access",
    arguments: [DatabaseConfiguration.Access.readOnly, .readWrite])
  func closing(access: DatabaseConfiguration.Access) async throws {
    await (try folder.database("CREATE TABLE t (k INTEGER PRIMARY KEY)")).close()
    for _ in 0..<20 {
      let database = try Database(
        path: folder.path(of: "test.db"), configuration: DatabaseConfiguration(access: access))
      let query = LiveQuery(table: "t")
      var idle = query.differences(in: database).makeAsyncIterator()
      _ = try await idle.next()
      let (started, start) = AsyncStream<Void>.makeStream()
      let waiting = Task {
        var iterator = query.differences(in: database).makeAsyncIterator()
        _ = try await iterator.next()
        start.finish()
        return try await iterator.next()
      }
      for await _ in started {}
      // As a rule, it waits by now.
      try await database.read { _ in }
      await database.close()
      #expect(openFileCount() == 0)
      await #expect(throws: DatabaseError.self) { try await waiting.value }
      await #expect(throws: DatabaseError.self) { try await idle.next() }
    }
  }

  @Test("an iterator that is used after its end gives nothing more")
  func afterTheEnd() async throws {
    let database = try await folder.database("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    let query = LiveQuery(table: "t")
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      var iterator = query.differences(in: database).makeAsyncIterator()
      let first = try await iterator.next()
      let second = try await iterator.next()
      return first == nil && second == nil
    }
    #expect(try await task.value)
  }
}
