/// A property's value before and after a change.
public struct ChannelChange<Value> {
  /// The value that the object had.
  public var old: Value
  /// The value that it gets, or has now.
  public var new: Value

  /// Pairs the two values.
  @usableFromInline
  package init(old: Value, new: Value) {
    self.old = old
    self.new = new
  }
}

extension ChannelChange: Sendable where Value: Sendable {}
extension ChannelChange: Equatable where Value: Equatable {}

/// A value of any property of a channel.
public struct ChannelPropertyValue<Subject> {
  /// The property.
  public let property: PartialKeyPath<Subject>
  /// The value, of the type of the property.
  public let value: Any

  /// The value, if it is one of the given property; `nil` if it is one of another property.
  public func value<Value>(of property: KeyPath<Subject, Value>) -> Value? {
    self.property == property ? value as? Value : nil
  }
}

/// The decision of a will-change hook about a change.
public enum ChannelDecision<Value> {
  /// The value is written.
  case accept
  /// The object keeps its value; other objects get the value that was sent.
  case veto
  /// Another value is written. An object that is bound both ways also sends it to all other objects. Without
  /// such a binding, other objects keep the value that was sent.
  case replace(Value)
}

extension ChannelDecision: Sendable where Value: Sendable {}

/// The treatment of a value that equals the current one.
public enum EqualValues: Sendable {
  /// It is not written, and no hook or subscriber is notified.
  case suppressed
  /// It is written, and hooks and subscribers are notified.
  case delivered
}
