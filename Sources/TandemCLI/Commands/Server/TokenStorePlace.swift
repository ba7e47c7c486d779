import Tandem
import TandemPostgreSQL
import TandemServer

/// The access tokens of a database.
struct TokenStorePlace: TokenPlace {
  let database: PostgreSQLDatabase
  var name: String { "tandem.token" }

  func read() async throws -> (tokens: TokenList, uses: [SHA256Digest: Int]) {
    let stored = try await database.tokens()
    var uses: [SHA256Digest: Int] = [:]
    for token in stored.tokens {
      if let hash = SHA256Digest(hexadecimal: token.hash) { uses[hash] = token.used }
    }
    return (try stored.tokens.list.get(), uses)
  }

  func change(
    creates: Bool, _ body: @escaping @Sendable (inout TokenList) throws -> Void
  ) async throws {
    try await database.changeTokens { stored in
      var list = try stored.list.get()
      // Rows that cannot be used stay as they are.
      let known = Set(list.tokens.map(\.hash))
      let others = stored.filter { token in
        SHA256Digest(hexadecimal: token.hash).map { !known.contains($0) } ?? true
      }
      try body(&list)
      return others
        + list.tokens.map { StoredToken(hash: "\($0.hash)", definition: $0.definition) }
    }
  }

  func end() async { await database.close() }
}
