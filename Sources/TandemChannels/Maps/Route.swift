/// The way from a property of a subject to an object.
class Route<Object> {
  let source: AnyKeyPath
  /// Reads the property, for objects that are bound both ways.
  var reading: (any PropertyReader<Object>)?

  /// True if a hook is called after a change.
  var hasDidChangeHook: Bool { false }
  /// True if a hook or a conversion of the application decides about the value.
  var asksBeforeWriting: Bool { false }

  init(source: AnyKeyPath) { self.source = source }
}

/// A route for values of one type.
class ValueRoute<Object, Value>: Route<Object> {
  /// Writes a value to the object.
  ///
  /// - Parameter binding: the binding that writes; nothing is written once a hook or a conversion has ended it.
  /// - Returns: a closure to call once all objects have their values.
  func apply(
    _ value: Value, to object: inout Object, for binding: MappedBinding<Object>
  ) -> (() -> Void)? {
    preconditionFailure("Only subclasses are made")
  }

  /// Calls the hook and the conversion for a value.
  ///
  /// - Returns: a closure that writes the result, or `nil` if nothing is written.
  func prepare(
    _ value: Value, for object: Object, of binding: MappedBinding<Object>
  ) -> PreparedWrite<Object>? {
    preconditionFailure("Only subclasses are made")
  }
}

/// Writes a value that was decided on; returns a closure to call once all objects have their values.
typealias PreparedWrite<Object> = (inout Object) -> (() -> Void)?

/// The hooks of a property.
struct PropertyHooks<Object, Value> {
  var willChange: WillChange<Object, Value>?
  var didChange: DidChange<Object, Value>?

  /// Returns `nil` if there are none.
  init?(willChange: WillChange<Object, Value>?, didChange: DidChange<Object, Value>?) {
    if willChange == nil && didChange == nil { return nil }
    self.willChange = willChange
    self.didChange = didChange
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
