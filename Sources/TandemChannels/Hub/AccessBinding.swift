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
