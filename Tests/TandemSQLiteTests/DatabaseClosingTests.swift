import Synchronization
import TandemSQLite
import TestFolder
import Testing

@Suite("Closing a database", .timeLimit(.minutes(20)))
struct DatabaseClosingTests {
  @Test("whoever closes it, at the same time or again, returns when nothing of it is open any more")
  func concurrently() async throws {
    for round in 0..<50 {
      let folder = try TemporaryFolder()
      let database = try Database(path: folder.file())
      try await database.write { try $0.execute("CREATE TABLE t (n)") }
      let (entered, enter) = AsyncStream<Void>.makeStream()
      let gate = Gate()
      async let busy: Void = database.read { _ in
        enter.yield()
        gate.wait()
      }
      for await _ in entered { break }
      try await withThrowingTaskGroup(of: [String].self) { group in
        for number in 0..<4 {
          group.addTask {
            if number % 2 == 0 {
              await database.close()
            } else {
              try await onThread { try database.close() }
            }
            return folder.fileNames
          }
        }
        gate.open()
        for try await names in group { #expect(names == ["test.db"], "round \(round)") }
      }
      try await busy
      await database.close()
    }
  }

  /// Runs what blocks on a thread of its own.
  private func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    let failure = Mutex<(any Error)?>(nil)
    await TestThread {
      do { try body() } catch { failure.withLock { $0 = error } }
    }.join()
    if let error = failure.withLock({ $0 }) { throw error }
  }
}
