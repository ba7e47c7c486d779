/// An operation on a property.
@usableFromInline
enum PropertyAction {
  /// Copy the property's value to uninitialized memory.
  case read
  /// Copy the value in memory to the property.
  case write
  /// The same, unless the property has an equal one.
  case writeIfDifferent
}

/// Reads and writes a property.
///
/// This is a single closure with a key path of its own, and all parameters on the way are `consuming`, for the
/// optimizer: where a program writes `mapping(\.name, to: \.title)`, no one else holds this literal, and the
/// closure is compiled to a plain access of `title`. With a second closure or a copy of the key path, each
/// write would walk the key path and allocate.
@usableFromInline
struct PropertyAccess<Object, Value> {
  @usableFromInline
  typealias Body = (inout Object, PropertyAction, UnsafeMutablePointer<Value>) -> Void

  private let perform: Body

  @usableFromInline
  init(_ perform: @escaping Body) { self.perform = perform }

  func read(_ object: inout Object) -> Value {
    withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { memory in
      guard let memory = memory.baseAddress else { preconditionFailure("One value was asked for") }
      perform(&object, .read, memory)
      return memory.move()
    }
  }

  /// Writes a value.
  ///
  /// - Parameter always: true to write a value that equals the current one, too.
  @inline(__always)
  func write(_ value: Value, to object: inout Object, always: Bool) {
    withUnsafePointer(to: value) { memory in
      perform(
        &object, always ? .write : .writeIfDifferent, UnsafeMutablePointer(mutating: memory))
    }
  }
}

// MARK: - Ways

extension PropertyAccess {
  /// Through a key path whose values can be compared.
  @inlinable @inline(__always)
  static func comparing(
    _ target: consuming WritableKeyPath<Object, Value>
  ) -> Body where Value: Equatable {
    let target = target
    return { object, action, value in
      switch action {
      case .read: value.initialize(to: object[keyPath: target])
      case .write: object[keyPath: target] = value.pointee
      case .writeIfDifferent:
        if object[keyPath: target] != value.pointee { object[keyPath: target] = value.pointee }
      }
    }
  }

  /// Through a key path whose values cannot be compared.
  @inlinable @inline(__always)
  static func writing(_ target: consuming WritableKeyPath<Object, Value>) -> Body {
    let target = target
    return { object, action, value in
      switch action {
      case .read: value.initialize(to: object[keyPath: target])
      case .write, .writeIfDifferent: object[keyPath: target] = value.pointee
      }
    }
  }

  /// By two closures.
  @inlinable @inline(__always)
  static func calling(
    get: @escaping (Object) -> Value, set: @escaping (inout Object, Value) -> Void
  ) -> Body where Value: Equatable {
    { object, action, value in
      switch action {
      case .read: value.initialize(to: get(object))
      case .write: set(&object, value.pointee)
      case .writeIfDifferent: if get(object) != value.pointee { set(&object, value.pointee) }
      }
    }
  }

  /// Through a key path that was made while the program runs.
  init(path target: WritableKeyPath<Object, Value>, areEqual: ((Value, Value) -> Bool)?) {
    self.init { object, action, value in
      switch action {
      case .read: value.initialize(to: object[keyPath: target])
      case .writeIfDifferent where areEqual?(object[keyPath: target], value.pointee) == true: break
      case .write, .writeIfDifferent: object[keyPath: target] = value.pointee
      }
    }
  }
}
