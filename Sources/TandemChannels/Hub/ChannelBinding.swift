/// What ties an object or a subscriber to a channel, and the token by which the tie ends.
///
/// A binding lasts until ``cancel()``, until its object or owner goes, or until the hub does. It does
/// not need to be kept: to drop the token ends nothing, since the optimiser may drop a local variable
/// right after its last use.
public class ChannelBinding {
  private(set) var node: ChannelNode?
  /// Tells bindings of a running delivery from those made meanwhile.
  let serial: UInt64

  init(node: ChannelNode, serial: UInt64) {
    self.node = node
    self.serial = serial
  }

  /// Whether values still arrive.
  public final var isActive: Bool { node != nil && isAlive }

  /// Ends the binding: nothing is delivered to it any more, not even the rest of what is just being
  /// delivered. Ending it again does nothing.
  ///
  /// - Complexity: O(1), amortised over the bindings of the channel.
  public final func cancel() {
    guard let node else { return }
    self.node = nil
    if announces { node.announcerCount -= 1 }
    released()
    node.bindingEnded()
  }

  /// Sends now what an object that is bound both ways has changed, instead of in the next turn of the
  /// hub's actor. Does nothing for other bindings.
  public func publishChanges() {}

  /// Ends the binding with its hub, which forgets all channels.
  final func hubEnded() {
    guard node != nil else { return }
    node = nil
    released()
  }

  // MARK: What subclasses say

  /// Whether the object or owner is still there.
  var isAlive: Bool { true }
  /// Whether it has to be told after all objects have their values; never changes.
  var announces: Bool { false }
  /// Whether it belongs to what a sender excludes.
  func belongs(to sender: AnyObject) -> Bool { self === sender }
  /// Writes a value.
  func apply<Value>(_ value: Value, of property: AnyKeyPath, by routes: RouteCache) {}
  /// Tells of a value that all objects have now.
  func announce<Value>(_ value: Value, of property: AnyKeyPath) {}
  /// Lets go of what is not needed after the end.
  func released() {}
}
