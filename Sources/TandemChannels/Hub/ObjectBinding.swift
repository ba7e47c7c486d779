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
