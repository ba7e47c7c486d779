/// Maps properties of a subject to properties of an object.
///
/// An object accepts the mapped properties and no others. The properties may be nested (`\.address.city`), may have
/// other names and, with a conversion, other types. If a source property is mapped twice, the last mapping counts.
///
/// Make a map once and share it: bindings that share a map share its memory and its look-ups. A map belongs to the
/// isolation domain of the objects whose key paths it holds, so it is not Sendable.
public struct KeyPathMap<Subject, Object> {
  let table: RouteTable<Object>

  /// A map that accepts nothing.
  public init() { table = RouteTable(routes: [], whole: nil) }

  /// A map that accepts every writable property of the subject, for an object that holds a whole one.
  ///
  /// - Parameter whole: the subject inside the object, such as `\Model.user`; `\.self` if the object
  ///   is one (see ``identity``).
  public init(whole: WritableKeyPath<Object, Subject>) {
    table = RouteTable(routes: [], whole: WholeSubject(path: whole))
  }

  private init(_ table: RouteTable<Object>) { self.table = table }

  var hasDidChangeHooks: Bool { table.routes.contains { $0.hasDidChangeHook } }

  /// This map with one more mapping.
  func adding(_ route: Route<Object>) -> KeyPathMap {
    let others = table.routes.filter { $0.source != route.source }
    return KeyPathMap(RouteTable(routes: others + [route], whole: table.whole))
  }
}

extension KeyPathMap where Subject == Object {
  /// The map of models that are themselves the subject: every writable property to itself.
  ///
  /// There is no such map between two types whose properties have the same names: the compiler cannot relate
  /// their key paths, and a key path has no reliable name when the program runs. Write each pair down, and
  /// the compiler checks it: `mapping(\.name, to: \.name)`.
  public static var identity: KeyPathMap { KeyPathMap(whole: \.self) }

  /// The map of models that are themselves the subject: each of the given properties to itself, and no others.
  public static func identity<each Value: Equatable>(
    _ property: repeat WritableKeyPath<Object, each Value>
  ) -> KeyPathMap {
    var map = KeyPathMap()
    for path in repeat each property { map = map.mapping(path, to: path) }
    return map
  }
}

// MARK: - Mapping

/// Called before a value is written; may refuse or replace it.
public typealias WillChange<Object, Value> = (Object, ChannelChange<Value>) -> ChannelDecision<
  Value
>
/// Called after a value was written.
public typealias DidChange<Object, Value> = (Object, ChannelChange<Value>) -> Void

extension KeyPathMap {
  // Mappings are inlinable and consume the key paths of objects, so that code is made for the
  // property and its type; see PropertyAccess.

  /// Maps a property to one of the same type.
  ///
  /// - Parameters:
  ///   - source: the property of the subject.
  ///   - target: the property of the object.
  ///   - equalValues: the treatment of a value that the object already has.
  ///   - willChange: called before each write, with the old and the new value.
  ///   - didChange: called after each write, once all objects of the channel have all values that were sent
  ///     together.
  @inlinable @inline(__always)
  public func mapping<Value: Equatable>(
    _ source: KeyPath<Subject, Value>, to target: consuming WritableKeyPath<Object, Value>,
    equalValues: EqualValues = .suppressed,
    willChange: WillChange<Object, Value>? = nil, didChange: DidChange<Object, Value>? = nil
  ) -> KeyPathMap {
    mapping(
      source, by: PropertyAccess<Object, Value>.comparing(target), equalValues, willChange,
      didChange)
  }

  /// Maps a property to an optional one. An object that is bound both ways sends each value but `nil`.
  @inlinable @inline(__always)
  public func mapping<Value: Equatable>(
    _ source: KeyPath<Subject, Value>, to target: consuming WritableKeyPath<Object, Value?>,
    equalValues: EqualValues = .suppressed,
    willChange: WillChange<Object, Value?>? = nil, didChange: DidChange<Object, Value?>? = nil
  ) -> KeyPathMap {
    mapping(
      source, by: PropertyAccess<Object, Value?>.comparing(target), { .some($0) }, { $0 },
      equalValues, willChange, didChange)
  }

  /// Maps a property of a type whose values cannot be compared: every value is written.
  @_disfavoredOverload @inlinable @inline(__always)
  public func mapping<Value>(
    _ source: KeyPath<Subject, Value>, to target: consuming WritableKeyPath<Object, Value>,
    willChange: WillChange<Object, Value>? = nil, didChange: DidChange<Object, Value>? = nil
  ) -> KeyPathMap {
    mapping(
      incomparable: source, by: PropertyAccess<Object, Value>.writing(target), willChange,
      didChange)
  }

  /// Maps a property to one of another type.
  ///
  /// - Parameters:
  ///   - source: the property of the subject.
  ///   - target: the property of the object.
  ///   - equalValues: the treatment of a value that the object already has.
  ///   - convert: the value for the object, or `nil` to leave the object as it is.
  ///   - back: the value for the subject, or `nil` if there is none; required for objects that are bound both
  ///     ways.
  ///   - willChange: called before each write, with the old and the new value.
  ///   - didChange: called after each write, once all objects of the channel have all values that were sent
  ///     together.
  @inlinable @inline(__always)
  public func mapping<Value, Target: Equatable>(
    _ source: KeyPath<Subject, Value>, to target: consuming WritableKeyPath<Object, Target>,
    equalValues: EqualValues = .suppressed, converting convert: @escaping (Value) -> Target?,
    back: ((Target) -> Value?)? = nil,
    willChange: WillChange<Object, Target>? = nil, didChange: DidChange<Object, Target>? = nil
  ) -> KeyPathMap {
    mapping(
      source, by: PropertyAccess<Object, Target>.comparing(target), convert, back, equalValues,
      willChange, didChange)
  }
}

extension KeyPathMap {
  /// Maps a property by two closures, where a key path does not exist.
  @inlinable
  public func mapping<Value: Equatable>(
    _ source: KeyPath<Subject, Value>, get: @escaping (Object) -> Value,
    set: @escaping (inout Object, Value) -> Void, equalValues: EqualValues = .suppressed,
    willChange: WillChange<Object, Value>? = nil, didChange: DidChange<Object, Value>? = nil
  ) -> KeyPathMap {
    mapping(
      source, by: PropertyAccess<Object, Value>.calling(get: get, set: set), equalValues,
      willChange, didChange)
  }

  @usableFromInline
  func mapping<Value: Equatable>(
    _ source: KeyPath<Subject, Value>, by access: @escaping PropertyAccess<Object, Value>.Body,
    _ equalValues: EqualValues, _ willChange: WillChange<Object, Value>?,
    _ didChange: DidChange<Object, Value>?
  ) -> KeyPathMap {
    let access = PropertyAccess(access)
    let route = PropertyRoute(
      source: source, access: access, areEqual: equalValues == .suppressed ? (==) : nil,
      hooks: PropertyHooks(willChange: willChange, didChange: didChange))
    route.reading = PropertyReading(source: source, access: access, convert: { $0 })
    return adding(route)
  }

  @usableFromInline
  func mapping<Value>(
    incomparable source: KeyPath<Subject, Value>,
    by access: @escaping PropertyAccess<Object, Value>.Body,
    _ willChange: WillChange<Object, Value>?, _ didChange: DidChange<Object, Value>?
  ) -> KeyPathMap {
    adding(
      PropertyRoute(
        source: source, access: PropertyAccess(access), areEqual: nil,
        hooks: PropertyHooks(willChange: willChange, didChange: didChange)))
  }

  @usableFromInline
  func mapping<Value, Target: Equatable>(
    _ source: KeyPath<Subject, Value>, by access: @escaping PropertyAccess<Object, Target>.Body,
    _ convert: @escaping (Value) -> Target?, _ back: ((Target) -> Value?)?,
    _ equalValues: EqualValues, _ willChange: WillChange<Object, Target>?,
    _ didChange: DidChange<Object, Target>?
  ) -> KeyPathMap {
    let access = PropertyAccess(access)
    let inner = PropertyRoute(
      source: source, access: access, areEqual: equalValues == .suppressed ? (==) : nil,
      hooks: PropertyHooks(willChange: willChange, didChange: didChange))
    let route = ConvertedRoute(inner, source: source, convert: convert)
    route.reading = back.map { PropertyReading(source: source, access: access, convert: $0) }
    return adding(route)
  }
}
