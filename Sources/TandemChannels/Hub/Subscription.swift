/// Tells a closure of the values of one property.
final class Subscription<Received>: ChannelBinding {
  private let property: AnyKeyPath
  private var receiver: ValueReceiver<Received>?

  init(property: AnyKeyPath, receiver: ValueReceiver<Received>) {
    self.property = property
    self.receiver = receiver
    super.init()
  }

  override var announces: Bool { true }
  override var isAlive: Bool { receiver?.isAlive ?? false }

  override func belongs(to sender: AnyObject) -> Bool {
    self === sender || receiver?.owner === sender
  }

  override func announce<Value>(_ value: Value, of property: AnyKeyPath) {
    guard property === self.property || property == self.property, let receiver else { return }
    // Equal key paths have equal value types.
    let typed = unsafeDowncast(receiver, to: ValueReceiver<Value>.self)
    if !typed.receive(value) { cancel() }
  }

  override func passOver<Value>(_ value: Value, of property: AnyKeyPath) {
    guard property == self.property, let receiver else { return }
    unsafeDowncast(receiver, to: ValueReceiver<Value>.self).passOver(value)
  }

  override func released() { receiver = nil }
}

/// A closure, and the object for whose life it is to be called.
final class ValueReceiver<Value> {
  private(set) weak var owner: AnyObject?
  private let isWanted: (() -> Bool)?
  private let hasOwner: Bool
  private let areEqual: ((Value, Value) -> Bool)?
  private var last: Value?
  private let body: (Value) -> Bool

  /// - Parameters:
  ///   - isWanted: whether anybody still listens to what the closure is told.
  ///   - body: returns whether it wants more.
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

  /// Hands a value on; returns whether more are wanted.
  func receive(_ value: Value) -> Bool {
    guard isAlive else { return false }
    if let areEqual {
      if let last, areEqual(last, value) { return true }
      last = value
    }
    return body(value)
  }

  /// Takes note of a value that its owner has sent, so that whoever takes that back is heard.
  func passOver(_ value: Value) {
    if areEqual != nil { last = value }
  }
}
