internal import Synchronization
internal import TandemSync

extension SyncService {
  /// Counts a request of an address.
  func checkAddress(of head: ServedRequestHead) throws(SyncRequestError) {
    guard let address = head.address.map({ clientNetwork(of: $0) }) else { return }
    if let pause = rates.withLock({ $0.ban(of: address, at: .now) }) {
      throw SyncRequestError(
        .tooManyRequests, "too many wrong access tokens came from this address; try again later",
        retryAfter: pause)
    }
    try checkRate(of: "address \(address)")
  }

  /// Counts a request of an account.
  func checkRate(of client: Client) throws(SyncRequestError) {
    if let account = client.account { try checkRate(of: "account \(account)") }
  }

  private func checkRate(of client: String) throws(SyncRequestError) {
    guard let pause = rates.withLock({ $0.pause(before: client, at: .now) }) else { return }
    throw SyncRequestError(
      .tooManyRequests, "too many requests came from this client; send them more slowly",
      retryAfter: pause)
  }

  /// Counts a wrong access token.
  func noteFailure(of head: ServedRequestHead) {
    guard let address = head.address.map({ clientNetwork(of: $0) }),
      rates.withLock({ $0.isBanned(afterFailureOf: address, at: .now) })
    else { return }
    var event = ServerEvent(
      .warning,
      "the address is banned for \(limits.banTime.components.seconds) s, because it sent wrong access tokens"
    )
    event.address = head.address
    metrics.count(.addressesBanned)
    log(event)
  }
}
