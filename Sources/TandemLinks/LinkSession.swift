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
