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
