/// The way from a property of some subject into an object.
class Route<Object> {
  let source: AnyKeyPath
  /// How to read the property back, for objects that are bound both ways.
  var reading: (any PropertyReader<Object>)?

  /// Whether somebody is to be told after a change.
  var hasDidChangeHook: Bool { false }

  init(source: AnyKeyPath) { self.source = source }
}

/// A route for values of one type.
class ValueRoute<Object, Value>: Route<Object> {
  /// Brings a value to the object.
  ///
  /// - Parameter binding: for whom; nothing is written once a hook or a conversion has ended it.
  /// - Returns: what remains to be done once all objects have their values.
  func apply(
    _ value: Value, to object: inout Object, for binding: MappedBinding<Object>
  ) -> (() -> Void)? {
    preconditionFailure("Only subclasses are made")
  }
}

/// Who is told of a property's changes.
struct PropertyHooks<Object, Value> {
  var willChange: WillChange<Object, Value>?
  var didChange: DidChange<Object, Value>?

  /// `nil` if nobody is.
  init?(willChange: WillChange<Object, Value>?, didChange: DidChange<Object, Value>?) {
    if willChange == nil && didChange == nil { return nil }
    self.willChange = willChange
    self.didChange = didChange
  }
}

/// A route into a property of the same type.
final class PropertyRoute<Object, Value>: ValueRoute<Object, Value> {
  private let access: PropertyAccess<Object, Value>
  private let areEqual: ((Value, Value) -> Bool)?
  private let hooks: PropertyHooks<Object, Value>?

  /// - Parameter areEqual: how to tell values that need not be written, or `nil` to write all.
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

  override func apply(
    _ value: Value, to object: inout Object, for binding: MappedBinding<Object>
  ) -> (() -> Void)? {
    if hooks != nil { return applyWithHooks(value, to: &object, for: binding) }
    access.write(value, to: &object, always: areEqual == nil)
    return nil
  }

  private func applyWithHooks(
    _ value: Value, to object: inout Object, for binding: MappedBinding<Object>
  ) -> (() -> Void)? {
    var change = ChannelChange(old: access.read(&object), new: value)
    if let areEqual, areEqual(change.old, value) { return nil }
    switch hooks?.willChange?(object, change) ?? .accept {
    case .accept: break
    case .veto:
      binding.hasRefused = true
      return nil
    case .replace(let other): change.new = other
    }
    guard binding.node != nil else { return nil }
    access.write(change.new, to: &object, always: true)
    guard let didChange = hooks?.didChange else { return nil }
    return { [object, change] in didChange(object, change) }
  }
}

/// A route into a property of another type.
final class ConvertedRoute<Object, Value, Target>: ValueRoute<Object, Value> {
  private let inner: PropertyRoute<Object, Target>
  private let convert: (Value) -> Target?

  init(
    _ inner: PropertyRoute<Object, Target>, source: AnyKeyPath,
    convert: @escaping (Value) -> Target?
  ) {
    self.inner = inner
    self.convert = convert
    super.init(source: source)
  }

  override var hasDidChangeHook: Bool { inner.hasDidChangeHook }

  override func apply(
    _ value: Value, to object: inout Object, for binding: MappedBinding<Object>
  ) -> (() -> Void)? {
    guard let converted = convert(value) else {
      binding.hasRefused = true
      return nil
    }
    guard binding.node != nil else { return nil }
    binding.hasConverted(to: converted)
    return inner.apply(converted, to: &object, for: binding)
  }
}
