/// A route into a property of the same type.
final class PropertyRoute<Object, Value>: ValueRoute<Object, Value> {
  private let access: PropertyAccess<Object, Value>
  private let areEqual: ((Value, Value) -> Bool)?
  private let hooks: PropertyHooks<Object, Value>?

  /// - Parameter areEqual: compares values, to skip equal ones; `nil` to write all.
  init(
    source: AnyKeyPath, access: PropertyAccess<Object, Value>,
    areEqual: ((Value, Value) -> Bool)?, hooks: PropertyHooks<Object, Value>?
  ) {
    self.access = access
    self.areEqual = areEqual
    self.hooks = hooks
    super.init(source: source)
  }

  override var hasDidChangeHook: Bool { hooks?.didChange != nil }
  override var asksBeforeWriting: Bool { hooks?.willChange != nil }

  override func apply(
    _ value: Value, to object: inout Object, for binding: MappedBinding<Object>
  ) -> (() -> Void)? {
    if hooks != nil { return prepare(value, for: object, of: binding)?(&object) }
    access.write(value, to: &object, always: areEqual == nil)
    return nil
  }

  override func prepare(
    _ value: Value, for object: Object, of binding: MappedBinding<Object>
  ) -> PreparedWrite<Object>? {
    var copy = object
    var change = ChannelChange(old: access.read(&copy), new: value)
    if let areEqual, areEqual(change.old, change.new) { return nil }
    switch hooks?.willChange?(object, change) ?? .accept {
    case .accept: break
    case .veto:
      binding.hasRefused = true
      return nil
    case .replace(let other):
      change.new = other
      if let areEqual, areEqual(change.old, change.new) { return nil }
    }
    guard binding.node != nil else { return nil }
    return { [access, hooks, change] object in
      access.write(change.new, to: &object, always: true)
      guard let didChange = hooks?.didChange else { return nil }
      return { [object] in didChange(object, change) }
    }
  }
}
