internal import TandemRecords

/// An access token as the database keeps it: the digest of its secret, and its rights as a text.
package struct StoredToken: Hashable, Sendable {
  /// The digest of the secret in hexadecimal digits.
  package let hash: String
  /// The account, the rights and the rest, which this library does not read.
  package let definition: String
  /// The time of the last use, in seconds since 1970; `nil` if none is known.
  package let used: Int?

  /// A token.
  package init(hash: String, definition: String, used: Int? = nil) {
    self.hash = hash
    self.definition = definition
    self.used = used
  }
}

/// The access tokens of a database at a time.
package struct StoredTokens: Sendable {
  /// The number of changes since the schema was made. 0 says that there never was a token.
  package let version: Int64
  /// The tokens in the order in which they were made.
  package let tokens: [StoredToken]
}

extension PostgreSQLDatabase {
  /// The access tokens.
  package func tokens() async throws -> StoredTokens {
    try await run { try StoredTokens.read($0) }
  }

  /// Changes the access tokens while nobody else does. All nodes hear of it.
  ///
  /// - Parameter body: Gets the tokens, and returns those that remain and new ones. It may run twice.
  package func changeTokens(
    _ body: @escaping @Sendable ([StoredToken]) throws -> [StoredToken]
  ) async throws {
    // The row is the lock.
    let lock = PostgreSQLQuery("UPDATE tandem.meta SET tokens = tokens + 1")
    try await run { connection in
      try connection.transaction([lock]) { _ in
        let old = try StoredTokens.read(connection).tokens
        let new = try body(old)
        let known = Dictionary(old.map { ($0.hash, $0.definition) }) { first, _ in first }
        let removed = Set(known.keys).subtracting(new.map(\.hash))
        let changed = new.filter { known[$0.hash] != $0.definition }
        try connection.exchange([
          PostgreSQLQuery(
            "DELETE FROM tandem.token WHERE hash = ANY ($1::text[])", [.texts(removed.sorted())]),
          PostgreSQLQuery(
            """
            INSERT INTO tandem.token (hash, definition)
              SELECT * FROM unnest($1::text[], $2::text[])
              ON CONFLICT (hash) DO UPDATE SET definition = excluded.definition
            """, [.texts(changed.map(\.hash)), .texts(changed.map(\.definition))]),
          PostgreSQLQuery("COMMIT"),
        ])
      }
      // A hint: nodes look each second all the same.
      _ = try? connection.exchange([SpaceHints.notification(["tokens"])])
    }
  }

  /// Keeps the times of last uses, in seconds since 1970.
  package func noteTokenUses(_ times: [(hash: String, time: Int)]) async throws {
    let query = PostgreSQLQuery(
      """
      UPDATE tandem.token AS token SET used = greatest(token.used, new.used)
        FROM unnest($1::text[], $2::bigint[]) AS new (hash, used) WHERE token.hash = new.hash
      """, [.texts(times.map(\.hash)), .integers(times.map { Int64($0.time) })])
    try await run { _ = try $0.exchange([query]) }
  }

  /// Calls `body` about once a second with the access tokens if they have changed, and with `nil` if they have not; on
  /// the thread of the hints. Without a connection, it is not called.
  package func followTokens(_ body: @escaping @Sendable (StoredTokens?) -> Void) {
    hints.followTokens(body)
  }
}

extension StoredTokens {
  static let versionQuery = PostgreSQLQuery("SELECT tokens FROM tandem.meta")

  static func read(_ connection: PostgreSQLConnection) throws(PostgreSQLError) -> StoredTokens {
    let rows = try connection.exchange([
      PostgreSQLQuery(
        """
        SELECT meta.tokens, token.hash, token.definition, token.used
          FROM tandem.meta LEFT JOIN tandem.token ON true ORDER BY token.number
        """)
    ])[0]
    guard case .integer(let version)? = rows.first?.first else { throw .damaged }
    return StoredTokens(
      version: version,
      tokens: rows.compactMap { row in
        guard let hash = row[1].textValue, let definition = row[2].textValue else { return nil }
        guard case .integer(let used) = row[3] else {
          return StoredToken(hash: hash, definition: definition)
        }
        return StoredToken(hash: hash, definition: definition, used: Int(used))
      })
  }
}
