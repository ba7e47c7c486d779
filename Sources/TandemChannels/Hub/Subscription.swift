/// Calls a closure with the values of one property.
final class Subscription<Received>: ChannelBinding {
  private let property: AnyKeyPath
  private var receiver: ValueReceiver<Received>?

  init(property: AnyKeyPath, receiver: ValueReceiver<Received>) {
    self.property = property
    self.receiver = receiver
    super.init()
  }

  override var isNotified: Bool { true }
  override var isAlive: Bool { receiver?.isAlive ?? false }

  override func belongs(to sender: AnyObject) -> Bool {
    self === sender || receiver?.owner === sender
  }

  override func accepts<Value>(
    _ property: AnyKeyPath, _: Value.Type, by routes: RouteCache
  ) -> Bool {
    property == self.property
  }

  override func notify<Value>(_ value: Value, of property: AnyKeyPath) {
    guard property === self.property || property == self.property else {
      hub?.routes.hasRefused = true
      return
    }
    guard let receiver else { return }
    // Equal key paths have equal value types.
    let typed = unsafeDowncast(receiver, to: ValueReceiver<Value>.self)
    if !typed.receive(value) { cancel() }
  }

  override func suppress<Value>(_ value: Value, of property: AnyKeyPath) {
    guard property == self.property, let receiver else { return }
    unsafeDowncast(receiver, to: ValueReceiver<Value>.self).suppress(value)
  }

  override func released() { receiver = nil }
}

/// Calls a closure with the values of all properties.
final class PropertiesSubscription<Subject>: ChannelBinding {
  private var receiver: ValueReceiver<ChannelPropertyValue<Subject>>?

  init(_ receiver: ValueReceiver<ChannelPropertyValue<Subject>>) {
    self.receiver = receiver
    super.init()
  }

  override var isNotified: Bool { true }
  override var isAlive: Bool { receiver?.isAlive ?? false }

  override func belongs(to sender: AnyObject) -> Bool {
    self === sender || receiver?.owner === sender
  }

  override func notify<Value>(_ value: Value, of property: AnyKeyPath) {
    // All properties of a channel are properties of its subject.
    guard let receiver, let property = property as? PartialKeyPath<Subject> else { return }
    if !receiver.receive(ChannelPropertyValue(property: property, value: value)) { cancel() }
  }

  override func released() { receiver = nil }
}

/// A closure, and the object during whose lifetime it is called.
final class ValueReceiver<Value> {
  private(set) weak var owner: AnyObject?
  private let isWanted: (() -> Bool)?
  private let hasOwner: Bool
  private let areEqual: ((Value, Value) -> Bool)?
  private var last: Value?
  private let body: (Value) -> Bool

  /// - Parameters:
  ///   - isWanted: returns false once the values are not needed any more.
  ///   - body: called with each value; returns true to get more.
  init(
    owner: AnyObject?, areEqual: ((Value, Value) -> Bool)?, isWanted: (() -> Bool)? = nil,
    body: @escaping (Value) -> Bool
  ) {
    self.owner = owner
    hasOwner = owner != nil
    self.areEqual = areEqual
    self.isWanted = isWanted
    self.body = body
  }

  var isAlive: Bool { (!hasOwner || owner != nil) && isWanted?() ?? true }

  /// Calls the closure with a value.
  ///
  /// - Returns: true if the closure gets more values.
  func receive(_ value: Value) -> Bool {
    guard isAlive else { return false }
    if let areEqual {
      if let last, areEqual(last, value) { return true }
      last = value
    }
    return body(value)
  }

  /// Takes note of a value that the owner has sent itself: the value before it is a change again.
  func suppress(_ value: Value) {
    if areEqual != nil { last = value }
  }
}
