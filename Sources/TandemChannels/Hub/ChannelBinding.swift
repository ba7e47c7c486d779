/// What ties an object or a subscriber to a channel, and the token by which the tie ends.
///
/// A binding lasts until ``cancel()``, until its object or owner goes, or until the hub does. It does
/// not need to be kept: to drop the token ends nothing, since the optimiser may drop a local variable
/// right after its last use.
public class ChannelBinding {
  /// Set from the registration to the end. Tokens, and bindings with them, may outlive the hub and its
  /// channels, so only who holds the hub may look inside.
  private(set) final var node: Unmanaged<ChannelNode>?
  /// Weak, since the hub may go in any isolation domain, while this one uses the token.
  private(set) final weak var hub: ChannelHub?
  /// Tells bindings of a running delivery from those made meanwhile.
  private(set) final var serial: UInt64 = 0

  init() {}

  /// Takes the binding's place among those of a channel, which holds it until it ends.
  final func begin(at node: ChannelNode, in hub: ChannelHub, serial: UInt64) {
    self.node = .passUnretained(node)
    self.hub = hub
    self.serial = serial
  }

  /// Whether values still arrive.
  public final var isActive: Bool { node != nil && hub != nil && isAlive }

  /// Ends the binding: nothing is delivered to it any more, not even the rest of what is just being
  /// delivered. Ending it again does nothing.
  ///
  /// - Complexity: O(1), amortised over the bindings of the channel.
  public final func cancel() {
    guard let node else { return }
    self.node = nil
    hub?.ended(self, at: node.takeUnretainedValue())
    released()
  }

  /// Sends now what an object that is bound both ways has changed, instead of in the next turn of the
  /// hub's actor. Does nothing for other bindings.
  public func publishChanges() {}

  // MARK: What subclasses say

  /// Whether the object or owner is still there.
  var isAlive: Bool { true }
  /// Whether it has to be told after all objects have their values; never changes.
  var announces: Bool { false }
  /// Whether it belongs to what a sender excludes.
  func belongs(to sender: AnyObject) -> Bool { self === sender }
  /// Writes a value.
  func apply<Value>(_ value: Value, of property: AnyKeyPath, by routes: RouteCache) {}
  /// Writes a value that a model has in the place of one that was sent, and that is not to be answered.
  func applyAnswer<Value>(_ value: Value, of property: AnyKeyPath, by routes: RouteCache) {
    apply(value, of: property, by: routes)
  }
  /// Tells of a value that all objects have now.
  func announce<Value>(_ value: Value, of property: AnyKeyPath) {}
  /// Takes note of a value that it is not told of, because its sender excluded it.
  func passOver<Value>(_ value: Value, of property: AnyKeyPath) {}
  /// Lets go of what is not needed after the end.
  func released() {}
}
