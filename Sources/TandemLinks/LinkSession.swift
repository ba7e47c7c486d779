import TandemChannels

/// One end of a link as a state machine: events go in, actions come out.
///
/// A session has no clock, no random numbers and does no input or output. ``LinkFeed`` performs the actions,
/// in order and in the isolation domain of the hub.
///
/// **Roles.** Linked hubs form a star. One hub listens (``ListeningSession``, one for each connection) and the
/// others connect to it (``ConnectingSession``, one for all successive connections). The hub that listens
/// orders all writes: the order is that in which it delivers them itself. It gives each batch the next
/// sequence number, and sends the batch to every connected hub except the one that wrote it, which gets an
/// acknowledgement instead.
///
/// **Writes of a connected hub.** The hub delivers its own write at once, and sends it to the listening hub in
/// a numbered frame. The write is *pending* until the frame is acknowledged. While a write to a property is
/// pending, values that arrive for this property are not delivered: the listening hub will order the
/// pending write after them. All hubs end with the write that was ordered last.
///
/// The next frames are sent once the previous ones are acknowledged. Meanwhile newer writes replace older
/// ones in the outbox, so an end needs memory for one outbox and for the frames under way.
///
/// **Acknowledgements.** The listening hub removes a value from a peer's outbox when it orders a write of this
/// peer to the same property. So each value in the outbox is newer than all writes of the peer that have
/// been ordered. An acknowledgement precedes the values that are sent with it, and the connected hub
/// delivers exactly those that are newer than its own writes.
///
/// **After a break.** The connected hub sends its client number, the epoch and the last sequence number that
/// it received. The listening hub answers with its epoch and with the number of the last frame that it
/// ordered for this client.
///
/// - In the same epoch, frames up to this number are acknowledged and are not sent again, so each write is
///   ordered exactly once. All other pending writes are sent, merged with newer ones. They are ordered when
///   they arrive: a property that changed on both sides during the break ends with the value of the
///   connected hub.
/// - If anything was ordered since the last sequence number, the listening hub sends a snapshot: all linked
///   values that it remembers.
/// - In a new epoch, and on the first connection, nothing is acknowledged, so all pending writes are sent. The
///   connected hub also *offers* everything else that it remembers: the listening hub accepts an offered value
///   if it remembers none for the property. Otherwise its own value wins; the peer gets that value with
///   the snapshot, or as a later batch. An offered value is not pending. So a hub that was started again
///   gets back what the others know.
/// - After the listening hub has lost values for a peer, it sends this peer no more sequence numbers. So the
///   next connection begins with a snapshot.
///
/// Both hubs are equal when nothing is pending or under way, in all properties that the listening hub
/// remembers or that were written while the hubs were connected.
package protocol LinkSession: Sendable {
  /// Reacts to an event.
  ///
  /// - Parameter log: the state that all sessions of a listening hub share.
  /// - Returns: the actions to perform, in this order.
  mutating func handle(_ event: LinkEvent, log: inout LinkLog) -> [LinkAction]
}

/// Something that happened at one end of a link.
package enum LinkEvent: Sendable {
  /// A connection has been made.
  case opened
  /// The peer has sent a frame.
  case received(LinkFrame)
  /// The frames of the last ``LinkAction/send(_:)`` have been written.
  case written
  /// The hub has sent values that the peer does not have; one message for each channel.
  case sent([ChannelMessage])
  /// The hub has delivered values that this peer has sent.
  case ordered([ChannelMessage])
  /// A ``LinkAction/deliver(_:)`` is complete.
  case delivered
  /// These are the linked values that the hub remembers, least recently sent first.
  case memoryRead([ChannelMessage])
  /// The peer has not greeted within ``ChannelLinkOptions/handshakeTimeout``.
  case handshakeTimedOut
  /// The connection has ended.
  case closed
}

/// Something that a session asks for.
package enum LinkAction: Hashable, Sendable {
  /// Write frames to the connection, then report ``LinkEvent/written``. There is no second one before that.
  case send([LinkFrame])
  /// Deliver values to the hub, all together and not back to this peer, then report ``LinkEvent/delivered``.
  /// Of offered values, deliver those of which the hub remembers none.
  case deliver([ChannelMessage])
  /// Read all linked values that the hub remembers, and report ``LinkEvent/memoryRead(_:)`` at once.
  case readMemory
  /// Report values that will not be sent.
  case report([LinkOutbox.Loss])
  /// End the connection.
  case close(ChannelLinkError)
}

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
