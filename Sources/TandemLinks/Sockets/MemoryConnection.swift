import Synchronization

/// One end of a connection between two hubs of one process.
///
/// A sender waits while its peer has ``maxWaitingByteCount`` bytes to read, as with a socket.
public final class MemoryConnection: ChannelConnection {
  private let incoming: MemoryPipe
  private let outgoing: MemoryPipe

  /// The number of bytes that wait for a peer before a sender waits.
  public static let maxWaitingByteCount = 64 << 10

  private init(incoming: MemoryPipe, outgoing: MemoryPipe) {
    self.incoming = incoming
    self.outgoing = outgoing
  }

  /// The two ends of a new connection.
  public static func pair() -> (MemoryConnection, MemoryConnection) {
    let first = MemoryPipe()
    let second = MemoryPipe()
    return (
      MemoryConnection(incoming: first, outgoing: second),
      MemoryConnection(incoming: second, outgoing: first)
    )
  }

  /// Sends all of the bytes; waits while ``maxWaitingByteCount`` bytes or more wait for the peer.
  public func send(_ bytes: [UInt8]) async throws {
    guard await outgoing.write(bytes) else {
      throw ChannelLinkError(.connection, "the connection is closed")
    }
  }

  /// Waits for bytes; returns `nil` once the connection is closed and nothing is left.
  public func receive() async throws -> [UInt8]? { await incoming.read() }

  /// Ends the connection, for both ends.
  public func close() {
    incoming.close()
    outgoing.close()
  }
}
