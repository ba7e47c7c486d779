/// Sends to a hub from outside its isolation domain, with one hop per batch.
///
/// Make it where the hub lives, and pass it to the code that sends:
///
/// <!-- Snippets/ChannelSenders.swift sender -->
/// ```swift
/// @MainActor final class Screen {
///   let hub = ChannelHub()
///   lazy var sender = hub.sender()  // where the hub lives
/// }
///
/// func rename(_ channel: Channel<User>, by sender: ChannelSender) async {
///   await sender.send(\.name, "Tom", on: channel)  // anywhere
/// }
/// ```
///
/// A sender keeps the hub alive. When the last sender is released, in any isolation domain, the hub is released
/// in its own one.
public struct ChannelSender: Sendable {
  private let domain: any Actor
  private let hub: HubReference

  fileprivate init(domain: any Actor, hub: ChannelHub) {
    self.domain = domain
    self.hub = HubReference(hub, in: domain)
  }

  /// Sends a value, and returns when it has been delivered.
  public func send<Subject, Value: Sendable>(
    _ property: any KeyPath<Subject, Value> & Sendable, _ value: Value,
    on channel: Channel<Subject>
  ) async {
    await send(ChannelBatch().setting(property, to: value, on: channel))
  }

  /// Sends values together, and returns when they have been delivered.
  public func send(_ batch: ChannelBatch) async { await perform { $0.send(batch) } }

  /// Sends everything that changed somewhere. The hub does not report values that nobody wants.
  package func sendChanges(_ batch: ChannelBatch) async {
    await perform { $0.send(batch.entries, excluding: nil) }
  }

  /// Runs a closure with the hub, in the hub's isolation domain.
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

/// Keeps a hub, and releases it in the hub's isolation domain, because the objects that the hub holds are used
/// there.
private final class HubReference: Sendable {
  /// Sendable: the pointer is dereferenced in two places, ``ChannelSender/perform(_:)`` and `release(_:in:)`, and
  /// both are isolated to the actor of the hub.
  private struct Retained: @unchecked Sendable {
    let hub: Unmanaged<ChannelHub>
  }

  private let retained: Retained
  private let domain: any Actor

  init(_ hub: ChannelHub, in domain: any Actor) {
    retained = Retained(hub: .passRetained(hub))
    self.domain = domain
  }

  // No one can wait for this task: a deinitializer is not asynchronous.
  deinit {
    Task { [retained, domain] in await Self.release(retained, in: domain) }
  }

  /// The hub; used in its isolation domain only.
  var hub: ChannelHub { retained.hub.takeUnretainedValue() }

  private static func release(_ retained: Retained, in domain: isolated any Actor) {
    retained.hub.release()
  }
}

extension ChannelHub {
  /// A sender to this hub for other isolation domains.
  ///
  /// Must be called where the hub lives, which has to be an actor. In the initial value of a property, and in
  /// code without an actor, Swift names no actor: the hub then lives on the main actor, and the call traps
  /// elsewhere. In a lazy property of an actor of your own, pass `isolation: self`.
  public func sender(isolation: isolated (any Actor)? = #isolation) -> ChannelSender {
    ChannelSender(domain: isolation ?? MainActor.ofCaller(), hub: self)
  }
}

extension MainActor {
  /// The main actor, for a caller of which Swift has passed no actor. Traps if the caller runs elsewhere.
  static func ofCaller() -> any Actor {
    shared.preconditionIsolated(
      "Swift passes no actor from a lazy property, nor from code without an actor; pass isolation: self"
    )
    return shared
  }
}
