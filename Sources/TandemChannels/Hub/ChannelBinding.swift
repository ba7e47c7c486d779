/// The connection of an object or a subscriber to a channel, and the token that ends it.
///
/// A binding lasts until ``cancel()``, or until its object, its owner or the hub is released. The token need not
/// be kept: the binding does not end with it, because the optimizer may release a local variable right
/// after its last use.
public class ChannelBinding {
  /// The channel, from the registration to the end. A token may outlive the hub and its channels, so this is
  /// dereferenced only while the hub exists.
  private(set) final var node: Unmanaged<ChannelNode>?
  /// Weak, because the hub may be released in any isolation domain while this one uses the token.
  private(set) final weak var hub: ChannelHub?
  /// The number of the binding. It excludes bindings from a delivery during which they were made.
  private(set) final var serial: UInt64 = 0

  init() {}

  /// Registers the binding with a channel, which holds it until it ends.
  final func begin(at node: ChannelNode, in hub: ChannelHub, serial: UInt64) {
    self.node = .passUnretained(node)
    self.hub = hub
    self.serial = serial
  }

  /// True if values are still delivered.
  public final var isActive: Bool { node != nil && hub != nil && isAlive }

  /// Ends the binding: nothing is delivered to it any more, not even the rest of a running delivery. A second
  /// call does nothing.
  ///
  /// - Complexity: O(1), amortized over the bindings of the channel.
  public final func cancel() {
    guard let node else { return }
    self.node = nil
    hub?.ended(self, at: node.takeUnretainedValue())
    released()
  }

  /// Sends the changes of an object that is bound both ways now, instead of in the next turn of the hub's
  /// actor. Does nothing for other bindings.
  public func publishChanges() {}

  // MARK: Overridden by subclasses

  /// True if the object or owner still exists.
  var isAlive: Bool { true }
  /// True if the binding is notified after all objects have their values. Never changes.
  var isNotified: Bool { false }
  /// True if the binding belongs to an object that a send excludes.
  func belongs(to sender: AnyObject) -> Bool { self === sender }
  /// Returns true if values of a property are written somewhere, or somebody is notified of them.
  func accepts<Value>(_ property: AnyKeyPath, _: Value.Type, by routes: RouteCache) -> Bool { true }
  /// Writes a value.
  func apply<Value>(_ value: Value, of property: AnyKeyPath, by routes: RouteCache) {}
  /// Writes a value that another model has taken in place of one that was sent. It is not answered.
  func applyAnswer<Value>(_ value: Value, of property: AnyKeyPath, by routes: RouteCache) {
    apply(value, of: property, by: routes)
  }
  /// Notifies of a value that all objects have now.
  func notify<Value>(_ value: Value, of property: AnyKeyPath) {}
  /// Takes note of a value without a notification, because the send excludes this binding.
  func suppress<Value>(_ value: Value, of property: AnyKeyPath) {}
  /// Releases everything that is not needed after the end.
  func released() {}
}
