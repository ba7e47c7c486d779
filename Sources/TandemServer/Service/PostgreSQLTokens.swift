internal import Synchronization
package import TandemDigests
package import TandemPostgreSQL
internal import TandemSync

/// The access tokens of a PostgreSQL database, which all servers of its spaces accept.
///
/// Once there was a token, each request needs one, also after the last one was revoked.
package final class PostgreSQLTokens: ListedTokens {
  private struct State {
    var version: Int64?
    /// The tokens, or the reason why they cannot be used: then no token is accepted.
    var list: Result<TokenList, ServerError>
    /// The last time at which the database confirmed them.
    var confirmedAt: ContinuousClock.Instant
  }

  /// The age beyond which tokens count no more, because the database does not answer.
  private static let maxAge = Duration.seconds(30)

  package let uses: TokenUses
  private let database: PostgreSQLDatabase
  private let log: @Sendable (String) -> Void
  private let state = Mutex(State(list: .success(TokenList()), confirmedAt: .now))

  /// Reads the tokens, and follows their changes.
  package init(
    _ database: PostgreSQLDatabase, log: @escaping @Sendable (String) -> Void
  ) async throws {
    self.database = database
    self.log = log
    uses = TokenUses(log: log)
    try await reload()
    database.followTokens { [weak self] in self?.confirm($0) }
  }

  package var areRequired: Bool { state.withLock { $0.version ?? 0 > 0 } }

  package func list() throws -> TokenList {
    let (list, age) = state.withLock { ($0.list, $0.confirmedAt.duration(to: .now)) }
    guard age <= Self.maxAge else {
      throw SyncRequestError(
        .unavailable, "the database of the access tokens cannot be reached; try again",
        retryAfter: .seconds(1))
    }
    return try list.get()
  }

  package func reload() async throws { confirm(try await database.tokens()) }

  package func write(_ times: [SHA256Digest: Int]) async throws {
    try await database.noteTokenUses(times.map { ("\($0.key)", $0.value) })
  }

  private func confirm(_ tokens: StoredTokens?) {
    guard let tokens else { return state.withLock { $0.confirmedAt = .now } }
    let list = tokens.tokens.list
    let begins = state.withLock { state in
      defer { (state.version, state.list) = (Swift.max(state.version ?? 0, tokens.version), list) }
      state.confirmedAt = .now
      return state.version == 0 && tokens.version > 0
    }
    if begins { log("each request needs an access token of the database from now on") }
    switch list {
    case .success(let list): for fault in list.faults.prefix(20) { log("tandem.token: \(fault)") }
    case .failure(let error): log("tandem.token: \(error). No token is accepted")
    }
  }
}

extension [StoredToken] {
  /// The tokens, or the reason why they cannot be used. A line is the place of a row in the order of the numbers.
  package var list: Result<TokenList, ServerError> {
    let text = map { "\($0.hash) \($0.definition)\n" }.joined()
    do throws(ServerError) { return .success(try TokenList(text: text)) } catch {
      return .failure(error)
    }
  }
}
