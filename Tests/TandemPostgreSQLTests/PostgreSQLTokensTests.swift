import Synchronization
import TestPostgreSQL
import Testing

@testable import TandemPostgreSQL

@Suite("Access tokens in PostgreSQL", .timeLimit(.minutes(20))) struct PostgreSQLTokensTests {
  @Test("A node has tokens that another one added or revoked by the second look that follows")
  func changes() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    let first = try await PostgreSQLDatabase.open(address: address, creates: true)
    let second = try await PostgreSQLDatabase.open(address: address, creates: true)
    let lookCount = Mutex(0)
    let (looks, continuation) = AsyncStream<(number: Int, tokens: StoredTokens?)>.makeStream()
    second.followTokens { tokens in
      let number = lookCount.withLock { count in
        count += 1
        return count
      }
      continuation.yield((number, tokens))
    }
    var iterator = looks.makeAsyncIterator()
    for (version, list) in [(1, [StoredToken(hash: "a", definition: "b")]), (2, [])] {
      try await first.changeTokens { _ in list }
      // The answer to the first one may be older than the change.
      let last = lookCount.withLock { $0 } + 2
      var look = try #require(await iterator.next())
      while look.tokens?.version != Int64(version) { look = try #require(await iterator.next()) }
      #expect(look.number <= last)
      #expect(look.tokens?.tokens == list)
    }
    await first.close()
    await second.close()
  }
}
