import Synchronization

/// A connection that has a place among those that are served.
package final class PlacedConnection: ChannelConnection {
  private struct State {
    var lastRead: ContinuousClock.Instant
    var lossOfPlace: ChannelLinkError?
  }

  private let base: any ChannelConnection
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state: Mutex<State>

  init(
    _ base: any ChannelConnection, now: @escaping @Sendable () -> ContinuousClock.Instant
  ) {
    self.base = base
    self.now = now
    state = Mutex(State(lastRead: now()))
  }

  /// The time of the last bytes from the peer, or of the admission.
  var lastRead: ContinuousClock.Instant { state.withLock { $0.lastRead } }

  /// The reason why the connection was closed, if a new one has its place.
  package var lossOfPlace: ChannelLinkError? { state.withLock { $0.lossOfPlace } }

  func giveUp(after idle: Duration) {
    state.withLock { $0.lossOfPlace = .idle(idle) }
    close()
  }

  package func send(_ bytes: [UInt8]) async throws { try await base.send(bytes) }

  package func receive() async throws -> [UInt8]? {
    let bytes = try await base.receive()
    if bytes != nil { state.withLock { $0.lastRead = now() } }
    return bytes
  }

  package func close() { base.close() }

  package func refuse() { base.refuse() }
}
