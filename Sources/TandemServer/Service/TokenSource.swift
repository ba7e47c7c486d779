package import TandemDigests

/// The access tokens of a ``SyncService``, which may change at any time.
///
/// An error is a reason for the log, and then no token is accepted. A ``TokenRefusal`` and a `SyncRequestError` are for
/// the client.
package protocol TokenSource: Sendable {
  /// False as long as the service is for programs of this machine, without tokens.
  var areRequired: Bool { get }

  /// The token of a secret; `nil` if it is unknown or was revoked.
  ///
  /// - Throws: ``TokenRefusal`` if it has expired.
  func token(ofSecret secret: String) throws -> AccessToken?

  /// A token that was accepted, as it is now; `nil` if it was revoked or has expired.
  func current(_ token: AccessToken) throws -> AccessToken?

  /// Does what has to be done beside requests, until the task is cancelled.
  func run() async
}

extension TokenSource {
  package var areRequired: Bool { true }
  package func run() async {}
}

/// The reason why a token is not accepted, for its client. It contains nothing of the token.
package struct TokenRefusal: Error, Hashable, Sendable {
  /// A clause, such as "it has expired".
  let reason: String
  /// True if the token was never right, so that whoever sends it may be guessing.
  let isGuess: Bool
  /// The time after which the token may be accepted; `nil` if it will never be.
  var retryAfter: Duration?
}

/// Access tokens that are kept as a list, in a file or in a database.
package protocol ListedTokens: TokenSource {
  /// The tokens as they are now.
  func list() throws -> TokenList
  /// The last uses.
  var uses: TokenUses { get }
  /// Reads the tokens again, also if nothing shows that they have changed.
  func reload() async throws
  /// Keeps times of use, in seconds since 1970. They are later than those that are kept already.
  func write(_ times: [SHA256Digest: Int]) async throws
}

extension ListedTokens {
  package func token(ofSecret secret: String) throws -> AccessToken? {
    guard let token = try list().token(ofSecret: secret) else { return nil }
    guard valid(token) != nil else { throw TokenRefusal(reason: "it has expired", isGuess: false) }
    uses.note(token)
    return token
  }

  package func current(_ token: AccessToken) throws -> AccessToken? {
    valid(try list().token(hash: token.hash))
  }

  private func valid(_ token: AccessToken?) -> AccessToken? {
    token.flatMap { $0.hasExpired(at: uses.now()) ? nil : $0 }
  }

  /// Writes the times of use, now and then and at the end.
  package func run() async {
    repeat {
      _ = try? await Task.sleep(for: TokenUses.writePause)
      let times = uses.take()
      guard !times.isEmpty else { continue }
      do {
        // Also at the end, when this task is cancelled.
        try await Task { try await write(times) }.value
      } catch {
        uses.fail(error)
      }
    } while !Task.isCancelled
  }
}
