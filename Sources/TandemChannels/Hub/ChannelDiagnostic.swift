/// A value that a hub did not deliver, or a link did not send, and the reason.
public struct ChannelDiagnostic: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a diagnostic. Links add kinds of their own.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind.
    public let description: String
    /// The end of a sentence that begins with a property and a channel.
    let explanation: String

    package init(_ name: String, _ explanation: String) {
      description = name
      self.explanation = explanation
    }

    /// Sends caused one another more often than ``ChannelLimits/maxCascadeDepth``.
    public static let cascadeTooDeep = Kind(
      "cascadeTooDeep",
      "was not delivered: listeners answer one another's sends without end; suppress equal values "
        + "or exclude the sender")
    /// More sends waited than ``ChannelLimits/maxQueuedSendCount``.
    public static let queueFull = Kind(
      "queueFull", "was not delivered: too many sends wait for one delivery")
    /// Nothing is bound to the channel, and all bindings of its subject are to channels with ids of another type.
    /// Reported once for each type of id.
    public static let otherIDType = Kind(
      "otherIDType",
      "was delivered to nobody: channels with ids of different types are different channels; use one type"
    )
    /// The channel has bindings, and none of them accepts the property: no map has it, or a map has a property that
    /// contains it (`\.address` for `\.address.city`) or is contained in it. Reported once for each property, for
    /// values that the application sends. Hubs that remember values or have links do not report it, because others
    /// may take the value.
    public static let notMapped = Kind(
      "notMapped",
      "was delivered to nobody: no map or observer of the channel has this property; map it, or send the "
        + "property that is mapped")
    /// A model that is bound both ways has replaced an answer of another model; each keeps its own value.
    public static let replacedDifferently = Kind(
      "replacedDifferently",
      "is not the same in all models: each of two replaces the value of the other one")
  }

  /// The kind of the diagnostic.
  public var kind: Kind
  /// The channel, such as "User 1".
  public var channel: String
  /// The property, such as `\User.name`. For a link, the names of all properties of the message; for a new
  /// binding, all properties that the channel remembers.
  public var property: String

  package init(kind: Kind, channel: String, property: String) {
    self.kind = kind
    self.channel = channel
    self.property = property
  }

  /// The property, the channel, what happened, and what to do.
  public var description: String { "\(property) on \(channel) \(kind.explanation)" }
}
