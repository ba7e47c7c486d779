/// How much a hub takes on.
public struct ChannelLimits: Hashable, Sendable {
  /// How many sends may follow from one another: a listener sends, whereupon another one sends, …
  /// Beyond it, a cycle that does not settle is assumed, and cut with a diagnostic.
  public var maxCascadeDepth: Int
  /// How many sends of listeners may wait at a time, while another one is delivered, and with them the
  /// bindings made meanwhile that are to get what their channels remember. More are dropped, with a
  /// diagnostic.
  public var maxQueuedSendCount: Int
  /// How many values are kept for late joiners, over all channels; those sent longest ago go first.
  /// None unless told otherwise.
  public var maxRememberedValueCount: Int

  /// Limits that suit an application unless told otherwise.
  public init(
    maxCascadeDepth: Int = 100, maxQueuedSendCount: Int = 65_536, maxRememberedValueCount: Int = 0
  ) {
    self.maxCascadeDepth = maxCascadeDepth
    self.maxQueuedSendCount = maxQueuedSendCount
    self.maxRememberedValueCount = maxRememberedValueCount
  }
}

/// Something that a hub did not do, and why.
public struct ChannelDiagnostic: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of limit it was.
  public enum Kind: Hashable, Sendable {
    /// Sends followed from one another deeper than ``ChannelLimits/maxCascadeDepth``.
    case cascadeTooDeep
    /// More sends waited than ``ChannelLimits/maxQueuedSendCount``.
    case queueFull
    /// More values than ``ChannelLinkOptions/maxWaitingChannelCount`` or
    /// ``ChannelLinkOptions/maxWaitingByteCount`` allows waited for a peer of a link that is slow or
    /// away, and these were the oldest.
    case peerTooSlow
    /// The values, with those that were sent together with them, are more than
    /// ``ChannelLinkOptions/maxWaitingByteCount`` allows to wait for a peer, however fast it is.
    case batchTooLarge
    /// The value, with its channel's id, is more than fits into ``ChannelLinkOptions/maxFrameByteCount``.
    case tooLargeForLink
    /// The value, or the channel's id, cannot be encoded, or the id is of another type than the link's
    /// ``LinkedSubject`` says, or one of them nests too deep.
    case notEncodable
    /// The clock of the linked hubs is at its end, so that no value can be later than those there are.
    /// A peer has led it there; start all of them again.
    case linkClockAtEnd
    /// A model that is bound both ways has replaced a value that another one has in the place of what
    /// was sent; each keeps its own.
    case replacedDifferently
  }

  /// What kind of limit it was.
  public var kind: Kind
  /// The channel that was sent on, such as "User 1".
  public var channel: String
  /// The property that was sent, such as `\User.name`; for a link, the names of all that were to be,
  /// and for a new binding, all that the channel remembers.
  public var property: String

  package init(kind: Kind, channel: String, property: String) {
    self.kind = kind
    self.channel = channel
    self.property = property
  }

  /// What happened, and what to do.
  public var description: String {
    switch kind {
    case .cascadeTooDeep:
      return "\(property) on \(channel) was not delivered: listeners answer one another's sends "
        + "without end; suppress equal values or exclude the sender"
    case .queueFull:
      return "\(property) on \(channel) was not delivered: too many sends wait for one delivery"
    case .peerTooSlow:
      return
        "\(property) on \(channel) was not sent to a peer: it is slow or away, and too many "
        + "values wait for it"
    case .batchTooLarge:
      return
        "\(property) on \(channel) was not sent to a peer: with what was sent together with it, "
        + "it is more than may wait for a peer; send less at a time, or let the hub remember it"
    case .tooLargeForLink:
      return "\(property) on \(channel) was not sent to a peer: it does not fit into a message"
    case .notEncodable:
      return "\(property) on \(channel) was not sent to a peer: it or the id cannot be encoded "
        + "or nests too deep, or the id is not of the type that the link was told"
    case .linkClockAtEnd:
      return "\(property) on \(channel) was not sent to any peer: the clock of the linked hubs is "
        + "at its end; start them all again"
    case .replacedDifferently:
      return "\(property) on \(channel) is not the same in all models: each of two replaces what "
        + "the other one has"
    }
  }
}
