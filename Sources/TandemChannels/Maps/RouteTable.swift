/// The routes of a map; immutable, and shared by all bindings through that map.
final class RouteTable<Object> {
  let routes: [Route<Object>]
  let whole: (any WholeSubjectRouting<Object>)?

  init(routes: [Route<Object>], whole: (any WholeSubjectRouting<Object>)?) {
    self.routes = routes
    self.whole = whole
  }

  /// The route of a property, or `nil` if the map does not accept it.
  ///
  /// - Complexity: O(*n*) in the number of mappings; see ``RouteCache``.
  func route<Value>(for property: AnyKeyPath, _: Value.Type) -> ValueRoute<Object, Value>? {
    if let route = routes.first(where: { $0.source == property }) {
      // Equal key paths have equal value types.
      return unsafeDowncast(route, to: ValueRoute<Object, Value>.self)
    }
    return whole?.route(for: property, Value.self)
  }
}

/// Makes routes to every writable property of a subject that an object holds as a whole.
protocol WholeSubjectRouting<Object> {
  associatedtype Object
  func route<Value>(for property: AnyKeyPath, _: Value.Type) -> ValueRoute<Object, Value>?
}

struct WholeSubject<Subject, Object>: WholeSubjectRouting {
  let path: WritableKeyPath<Object, Subject>

  func route<Value>(for property: AnyKeyPath, _: Value.Type) -> ValueRoute<Object, Value>? {
    guard let property = property as? WritableKeyPath<Subject, Value> else { return nil }
    let target = path.appending(path: property)
    let areEqual = equality(of: Value.self)
    let access = PropertyAccess<Object, Value>(path: target, areEqual: areEqual)
    return PropertyRoute(source: property, access: access, areEqual: areEqual, hooks: nil)
  }
}

/// A comparison of values of a type, if it is Equatable.
func equality<Value>(of type: Value.Type) -> ((Value, Value) -> Bool)? {
  func comparison<E: Equatable>(_: E.Type) -> (Value, Value) -> Bool {
    { ($0 as? E) == ($1 as? E) }
  }
  return (type as? any Equatable.Type).map { comparison($0) }
}
