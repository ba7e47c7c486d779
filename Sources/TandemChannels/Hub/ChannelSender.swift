/// Sends to a hub from outside its isolation domain, with one hop per batch.
///
/// ```swift
/// let sender = hub.sender()                       // where the hub lives
/// await sender.send(\.name, "Tom", on: channel)   // anywhere
/// ```
///
/// A sender keeps the hub alive. When the last one goes, wherever that is, the hub is released where
/// it lives.
public struct ChannelSender: Sendable {
  private let domain: any Actor
  private let hub: HubReference

  fileprivate init(domain: any Actor, hub: ChannelHub) {
    self.domain = domain
    self.hub = HubReference(hub, in: domain)
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
  package func perform<Result: Sendable>(
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

/// Keeps a hub, and lets go of it in the hub's isolation domain, where what the hub holds is used.
private final class HubReference: Sendable {
  /// Sendable, because only ``ChannelSender`` looks inside, and only in the hub's isolation domain.
  private struct Retained: @unchecked Sendable {
    let hub: Unmanaged<ChannelHub>
  }

  private let retained: Retained
  private let domain: any Actor

  init(_ hub: ChannelHub, in domain: any Actor) {
    retained = Retained(hub: .passRetained(hub))
    self.domain = domain
  }

  // Nobody can wait for this task: it is all that is left of the reference.
  deinit {
    Task { [retained, domain] in await Self.release(retained, in: domain) }
  }

  /// To be used in the hub's domain only.
  var hub: ChannelHub { retained.hub.takeUnretainedValue() }

  private static func release(_ retained: Retained, in domain: isolated any Actor) {
    retained.hub.release()
  }
}

extension ChannelHub {
  /// A sender to this hub for other isolation domains.
  ///
  /// Must be called where the hub lives, which has to be an actor; elsewhere it does not compile.
  public func sender(isolation: isolated any Actor = #isolation) -> ChannelSender {
    ChannelSender(domain: isolation, hub: self)
  }
}
