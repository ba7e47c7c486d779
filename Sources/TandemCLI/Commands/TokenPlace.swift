import Tandem
import TandemPostgreSQL
import TandemServer

/// A place that keeps access tokens: a file, or the database of spaces.
protocol TokenPlace {
  /// The name for messages.
  var name: String { get }
  func read() async throws -> (tokens: TokenList, uses: [SHA256Digest: Int])
  /// Changes the tokens while nobody else does.
  func change(
    creates: Bool, _ body: @escaping @Sendable (inout TokenList) throws -> Void
  ) async throws
  /// Ends connections.
  func end() async
}

/// A file of access tokens.
struct TokenFilePlace: TokenPlace {
  let name: String

  func read() throws -> (tokens: TokenList, uses: [SHA256Digest: Int]) {
    (try TokenFile.read(name), TokenFile.uses(besideFileAt: name))
  }

  func change(creates: Bool, _ body: (inout TokenList) throws -> Void) throws {
    let directory = AtomicFile.directory(of: name)
    let lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard lock >= 0 else { throw FileError(path: directory, action: "opened", code: errno) }
    // Closing the directory ends the lock.
    defer { close(lock) }
    while flock(lock, LOCK_EX) != 0 {
      guard errno == EINTR else { throw FileError(path: directory, action: "locked", code: errno) }
    }
    let isNew = creates && access(name, F_OK) != 0
    var list = isNew ? TokenList() : try TokenFile.read(name)
    try body(&list)
    // Only the owner may read a new file: hashes are no secrets, but accounts and spaces may be.
    try AtomicFile.write(Array(list.text.utf8), to: name, mode: 0o600)
  }

  func end() {}
}

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
