import TandemChannels

/// The order of a listening hub: its epoch, the number of batches it has ordered, and its clients.
package struct LinkLog: Hashable, Sendable {
  private struct Client: Hashable {
    /// The connection that the client uses now.
    var connection: UInt64
    var isConnected: Bool
    /// The number of the client's last frame that was ordered.
    var frameCount: UInt64
  }

  /// A random number that is drawn when the hub begins to listen.
  package let epoch: UInt64
  /// The number of batches that have been ordered.
  package private(set) var sequence: UInt64 = 0
  private var connectionCount: UInt64 = 0
  private var clients: [UInt64: Client] = [:]

  /// The number of clients that are remembered after their connections have ended. A client that is forgotten
  /// sends again what was under way when its connection broke.
  static let maxAbsentClientCount = 1_024

  package init(epoch: UInt64) { self.epoch = epoch }

  /// Counts one more batch.
  package mutating func advance() { sequence += 1 }

  /// Registers a connection of a client, in place of its previous one.
  ///
  /// - Returns: the number of the connection, and that of the client's last frame that was ordered.
  mutating func connect(_ client: UInt64) -> (connection: UInt64, frameCount: UInt64) {
    connectionCount += 1
    let frameCount = clients[client]?.frameCount ?? 0
    clients[client] = Client(
      connection: connectionCount, isConnected: true, frameCount: frameCount)
    return (connectionCount, frameCount)
  }

  /// Accepts a numbered frame of a client.
  ///
  /// - Returns: false if it is not the next one, or if the client has made another connection since.
  mutating func accept(_ number: UInt64, from client: UInt64, on connection: UInt64) -> Bool {
    guard let known = clients[client], known.connection == connection,
      number == known.frameCount + 1
    else { return false }
    clients[client]?.frameCount = number
    return true
  }

  /// Takes note that a connection has ended.
  mutating func disconnect(_ client: UInt64, on connection: UInt64) {
    guard clients[client]?.connection == connection else { return }
    clients[client]?.isConnected = false
    let absent = clients.filter { !$0.value.isConnected }
    guard absent.count > Self.maxAbsentClientCount else { return }
    let oldest = absent.min { $0.value.connection < $1.value.connection }
    clients[oldest?.key ?? client] = nil
  }
}
