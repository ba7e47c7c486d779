/// A closure, and the object during whose lifetime it is called.
final class ValueReceiver<Value> {
  private(set) weak var owner: AnyObject?
  private let isWanted: (() -> Bool)?
  private let hasOwner: Bool
  private let areEqual: ((Value, Value) -> Bool)?
  private var last: Value?
  private let body: (Value) -> Bool

  /// - Parameters:
  ///   - isWanted: returns false once the values are not needed any more.
  ///   - body: called with each value; returns true to get more.
  init(
    owner: AnyObject?, areEqual: ((Value, Value) -> Bool)?, isWanted: (() -> Bool)? = nil,
    body: @escaping (Value) -> Bool
  ) {
    self.owner = owner
    hasOwner = owner != nil
    self.areEqual = areEqual
    self.isWanted = isWanted
    self.body = body
  }

  var isAlive: Bool { (!hasOwner || owner != nil) && isWanted?() ?? true }

  /// Calls the closure with a value.
  ///
  /// - Returns: true if the closure gets more values.
  func receive(_ value: Value) -> Bool {
    guard isAlive else { return false }
    if let areEqual {
      if let last, areEqual(last, value) { return true }
      last = value
    }
    return body(value)
  }

  /// Takes note of a value that the owner has sent itself: the value before it is a change again.
  func suppress(_ value: Value) {
    if areEqual != nil { last = value }
  }
}
