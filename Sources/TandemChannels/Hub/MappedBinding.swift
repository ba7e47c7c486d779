/// Writes values to an object, or to a value that an object holds.
class MappedBinding<Target>: ChannelBinding {
  var table: RouteTable<Target>?
  /// The calls of did-change hooks for the batch that is being delivered.
  var pendingHooks: [() -> Void]?
  private let hasHooks: Bool
  /// Set when a hook or a conversion keeps a value from the object.
  final var hasRefused = false

  init(table: RouteTable<Target>, hasHooks: Bool) {
    self.table = table
    self.hasHooks = hasHooks
    super.init()
  }

  override var isNotified: Bool { hasHooks }

  override func notify<Value>(_ value: Value, of property: AnyKeyPath) {
    guard let hooks = pendingHooks else { return }
    pendingHooks = nil
    for hook in hooks where isActive { hook() }
  }

  override func accepts<Value>(
    _ property: AnyKeyPath, _: Value.Type, by routes: RouteCache
  ) -> Bool {
    route(for: property, Value.self, by: routes) != nil
  }

  override func released() {
    table = nil
    pendingHooks = nil
  }

  /// Called with the converted form of a value, before it is written.
  func hasConverted<Converted>(to value: Converted) {}

  /// Writes a value.
  @inline(__always)
  final func bring<Value>(
    _ value: Value, of property: AnyKeyPath, to target: inout Target, by routes: RouteCache
  ) {
    guard let route = route(for: property, Value.self, by: routes) else {
      return routes.hasRefused = true
    }
    let hook = route._withUnsafeGuaranteedRef {
      unsafeDowncast($0, to: ValueRoute<Target, Value>.self).apply(value, to: &target, for: self)
    }
    if let hook { take(hook) }
  }

  @inline(__always)
  private final var tableIdentity: ObjectIdentifier? {
    guard let table else { return nil }
    return ObjectIdentifier(table)
  }

  /// The route of a property. The cache holds the maps of its entries, so only the first look-up holds the map.
  @inline(__always)
  final func route<Value>(
    for property: AnyKeyPath, _: Value.Type, by routes: RouteCache
  ) -> Unmanaged<AnyObject>? {
    guard let identity = tableIdentity else { return nil }
    if let known = routes.known(property, in: identity) { return known.route }
    guard let table else { return nil }
    return routes.find(property, in: table, Value.self).route
  }

  final func take(_ hook: (() -> Void)?) {
    guard let hook, node != nil else { return }
    if pendingHooks?.append(hook) == nil { pendingHooks = [hook] }
  }
}
