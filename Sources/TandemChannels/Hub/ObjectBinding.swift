/// Writes values to an object, or to a value that an object holds.
class MappedBinding<Target>: ChannelBinding {
  fileprivate var table: RouteTable<Target>?
  /// The calls of did-change hooks for the batch that is being delivered.
  fileprivate var pendingHooks: [() -> Void]?
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
  fileprivate final func bring<Value>(
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
  fileprivate final func route<Value>(
    for property: AnyKeyPath, _: Value.Type, by routes: RouteCache
  ) -> Unmanaged<AnyObject>? {
    guard let identity = tableIdentity else { return nil }
    if let known = routes.known(property, in: identity) { return known.route }
    guard let table else { return nil }
    return routes.find(property, in: table, Value.self).route
  }

  fileprivate final func take(_ hook: (() -> Void)?) {
    guard let hook, node != nil else { return }
    if pendingHooks?.append(hook) == nil { pendingHooks = [hook] }
  }
}

/// Writes values to an object that it does not keep alive.
class ObjectBinding<Object: AnyObject>: MappedBinding<Object> {
  private(set) final weak var object: Object?

  init(_ object: Object, table: RouteTable<Object>, hasHooks: Bool) {
    self.object = object
    super.init(table: table, hasHooks: hasHooks)
  }

  override var isAlive: Bool { object != nil }

  override func belongs(to sender: AnyObject) -> Bool { self === sender || object === sender }

  override func apply<Value>(
    _ value: Value, of property: AnyKeyPath, by routes: RouteCache
  ) {
    guard var object else { return cancel() }
    bring(value, of: property, to: &object, by: routes)
  }

  override func released() {
    super.released()
    object = nil
  }
}

/// Writes values to a value, such as an element of an array, to which an object gives access.
final class AccessBinding<Owner: AnyObject, Target>: MappedBinding<Target> {
  private weak var owner: Owner?
  private var access: ((Owner, (inout Target) -> Void) -> Void)?

  init(
    _ owner: Owner, access: @escaping (Owner, (inout Target) -> Void) -> Void,
    table: RouteTable<Target>, hasHooks: Bool
  ) {
    self.owner = owner
    self.access = access
    super.init(table: table, hasHooks: hasHooks)
  }

  override var isAlive: Bool { owner != nil }

  override func belongs(to sender: AnyObject) -> Bool { self === sender || owner === sender }

  override func apply<Value>(
    _ value: Value, of property: AnyKeyPath, by routes: RouteCache
  ) {
    guard let owner else { return cancel() }
    guard let access, let found = route(for: property, Value.self, by: routes) else {
      return routes.hasRefused = true
    }
    let route = unsafeDowncast(found.takeUnretainedValue(), to: ValueRoute<Target, Value>.self)
    guard route.asksBeforeWriting else {
      return access(owner) { target in take(route.apply(value, to: &target, for: self)) }
    }
    // The hook may read the owner, so the owner is not being written meanwhile.
    var target: Target?
    access(owner) { target = $0 }
    guard let target, let write = route.prepare(value, for: target, of: self) else { return }
    access(owner) { target in take(write(&target)) }
  }

  override func released() {
    super.released()
    owner = nil
    access = nil
  }
}
