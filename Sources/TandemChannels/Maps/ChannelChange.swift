/// A property's value before and after a change.
public struct ChannelChange<Value> {
  /// What the object had.
  public var old: Value
  /// What it is to have, or has.
  public var new: Value

  /// Pairs the two values.
  public init(old: Value, new: Value) {
    self.old = old
    self.new = new
  }
}

extension ChannelChange: Sendable where Value: Sendable {}
extension ChannelChange: Equatable where Value: Equatable {}

/// What a will-change hook says to a change.
public enum ChannelDecision<Value> {
  /// The value is written.
  case accept
  /// The object keeps what it has, and the others have what was sent.
  case veto
  /// Another value is written. An object that is bound both ways sends it to the others, which then
  /// have it, too; others keep what was sent.
  case replace(Value)
}

extension ChannelDecision: Sendable where Value: Sendable {}

/// What becomes of a value that equals the one there is.
public enum EqualValues: Sendable {
  /// It is not written, and nobody is told.
  case suppressed
  /// It is written, and hooks and subscribers are told.
  case delivered
}
