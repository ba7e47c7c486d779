/// The way from a property of some subject into an object.
class Route<Object> {
  let source: AnyKeyPath
  /// How to read the property back, for objects that are bound both ways.
  var reading: (any PropertyReader<Object>)?

  /// Whether somebody is to be told after a change.
  var hasDidChangeHook: Bool { false }
  /// Whether an application's closure decides what is written.
  var asksBeforeWriting: Bool { false }

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

  /// Asks what is to be written in the place of a value.
  ///
  /// - Returns: what writes it, with the result of ``apply(_:to:for:)``, or `nil` if nothing is to be written.
  func prepare(
    _ value: Value, for object: Object, of binding: MappedBinding<Object>
  ) -> PreparedWrite<Object>? {
    preconditionFailure("Only subclasses are made")
  }
}

/// Writes what has been decided; returns what remains to be done once all objects have their values.
typealias PreparedWrite<Object> = (inout Object) -> (() -> Void)?

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
  override var asksBeforeWriting: Bool { true }

  override func apply(
    _ value: Value, to object: inout Object, for binding: MappedBinding<Object>
  ) -> (() -> Void)? {
    guard let converted = converted(value, for: binding) else { return nil }
    return inner.apply(converted, to: &object, for: binding)
  }

  override func prepare(
    _ value: Value, for object: Object, of binding: MappedBinding<Object>
  ) -> PreparedWrite<Object>? {
    guard let converted = converted(value, for: binding) else { return nil }
    return inner.prepare(converted, for: object, of: binding)
  }

  private func converted(_ value: Value, for binding: MappedBinding<Object>) -> Target? {
    guard let converted = convert(value) else {
      binding.hasRefused = true
      return nil
    }
    guard binding.node != nil else { return nil }
    binding.hasConverted(to: converted)
    return converted
  }
}
