/// The limits of a hub.
public struct ChannelLimits: Hashable, Sendable {
  /// The maximum number of sends that cause one another: a listener sends, then another one sends, and so on.
  /// A longer chain counts as an endless cycle, and is cut with a diagnostic.
  public var maxCascadeDepth: Int
  /// The maximum number of sends that wait during a delivery. New bindings that wait for remembered values count,
  /// too. More are dropped, with a diagnostic.
  public var maxQueuedSendCount: Int
  /// The number of values that are remembered for later bindings and for linked hubs, over all channels; the
  /// values that were sent longest ago are forgotten first. 0 by default.
  public var maxRememberedValueCount: Int

  /// Limits that suit an application.
  public init(
    maxCascadeDepth: Int = 100, maxQueuedSendCount: Int = 65_536, maxRememberedValueCount: Int = 0
  ) {
    self.maxCascadeDepth = maxCascadeDepth
    self.maxQueuedSendCount = maxQueuedSendCount
    self.maxRememberedValueCount = maxRememberedValueCount
  }
}
