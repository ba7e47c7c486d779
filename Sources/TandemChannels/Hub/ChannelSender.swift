/// Sends to a hub from outside its isolation domain, with one hop per batch.
///
/// ```swift
/// let sender = hub.sender()                       // where the hub lives
/// await sender.send(\.name, "Tom", on: channel)   // anywhere
/// ```
///
/// A sender keeps the hub alive.
public struct ChannelSender: Sendable {
  private let domain: any Actor
  private let hub: HubReference

  fileprivate init(domain: any Actor, hub: ChannelHub) {
    self.domain = domain
    self.hub = HubReference(hub: hub)
  }

  /// Sends a value, and returns when everybody has it.
  public func send<Subject, Value: Sendable>(
    _ property: any KeyPath<Subject, Value> & Sendable, _ value: Value,
    on channel: Channel<Subject>
  ) async {
    await send(ChannelBatch().setting(property, to: value, on: channel))
  }

  /// Sends values together, and returns when everybody has them.
  public func send(_ batch: ChannelBatch) async { await perform { $0.send(batch) } }

  /// Does something with the hub, where it lives.
  func perform<Result: Sendable>(
    _ body: @Sendable (ChannelHub) throws -> Result
  ) async rethrows -> Result {
    try await perform(body, in: domain)
  }

  private func perform<Result: Sendable>(
    _ body: @Sendable (ChannelHub) throws -> Result, in domain: isolated any Actor
  ) async rethrows -> Result {
    try body(hub.hub)
  }
}

/// Sendable, because only ``ChannelSender`` looks inside, and only in the hub's isolation domain.
private struct HubReference: @unchecked Sendable {
  let hub: ChannelHub
}

extension ChannelHub {
  /// A sender to this hub for other isolation domains.
  ///
  /// Must be called where the hub lives, which has to be an actor; elsewhere it does not compile.
  public func sender(isolation: isolated any Actor = #isolation) -> ChannelSender {
    ChannelSender(domain: isolation, hub: self)
  }
}
