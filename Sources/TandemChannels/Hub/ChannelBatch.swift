/// Values that are sent together, on one channel or several.
///
/// All objects have all values of a batch before any hook or subscriber is told of one. A batch only
/// takes Sendable values, so that it can be made anywhere and sent to a hub elsewhere in one hop.
///
/// ```swift
/// hub.send(ChannelBatch().setting(\.name, to: "Tom", on: channel).setting(\.age, to: 30, on: channel))
/// ```
public struct ChannelBatch: @unchecked Sendable {
  // Sendable, because entries are immutable and are made of Sendable values only.
  package private(set) var entries: [BatchEntry] = []

  /// A batch without values.
  public init() {}

  /// How many values it has.
  public var count: Int { entries.count }

  /// Whether it has no values.
  public var isEmpty: Bool { entries.isEmpty }

  /// Adds a value. They are sent in the order in which they were added.
  public mutating func set<Subject, Value: Sendable>(
    _ property: any KeyPath<Subject, Value> & Sendable, to value: Value,
    on channel: Channel<Subject>
  ) {
    append(TypedBatchValue(property: property, value: value), on: channel.address)
  }

  /// This batch and one more value.
  public func setting<Subject, Value: Sendable>(
    _ property: any KeyPath<Subject, Value> & Sendable, to value: Value,
    on channel: Channel<Subject>
  ) -> ChannelBatch {
    var batch = self
    batch.set(property, to: value, on: channel)
    return batch
  }

  /// Adds the values of another batch.
  public mutating func append(_ other: ChannelBatch) { entries += other.entries }

  mutating func append(_ value: BatchValue, on address: ChannelAddress) {
    entries.append(BatchEntry(address: address, value: value))
  }

  /// Makes the value that was added last one that is not to be answered.
  package mutating func markLastAsAnswer() {
    guard let last = entries.indices.last else { return }
    entries[last].value = entries[last].value.answer
  }
}

/// A value for a property of a channel.
package struct BatchEntry {
  package var address: ChannelAddress
  package var value: BatchValue
  /// What a link knows of it.
  package var mark: (any Sendable)?

  package init(address: ChannelAddress, value: BatchValue, mark: (any Sendable)? = nil) {
    (self.address, self.value, self.mark) = (address, value, mark)
  }
}

/// A value on its way, without the type that only the sender and the receivers know.
package class BatchValue {
  package let property: AnyKeyPath
  /// The value as one that a model has in the place of one that was sent; see ``AnswerBatchValue``.
  var answer: BatchValue { preconditionFailure("Abstract") }
  package var isAnswer: Bool { false }

  fileprivate init(property: AnyKeyPath) { self.property = property }

  func remember(at address: ChannelAddress, in hub: ChannelHub) { preconditionFailure("Abstract") }
  func apply(to binding: ChannelBinding, by routes: RouteCache) {
    preconditionFailure("Abstract")
  }
  func announce(to binding: ChannelBinding) { preconditionFailure("Abstract") }
  func passOver(_ binding: ChannelBinding) { preconditionFailure("Abstract") }
}

package class TypedBatchValue<Value>: BatchValue {
  package private(set) final var value: Value

  init(property: AnyKeyPath, value: Value) {
    self.value = value
    super.init(property: property)
  }

  /// Takes a newer value in the place of the old one; for values that are remembered, not sent.
  final func replace(_ value: Value) { self.value = value }

  override var answer: BatchValue { AnswerBatchValue(property: property, value: value) }

  override func remember(at address: ChannelAddress, in hub: ChannelHub) {
    hub.remember(value, of: property, at: address)
  }

  override func apply(to binding: ChannelBinding, by routes: RouteCache) {
    binding.apply(value, of: property, by: routes)
  }
  override func announce(to binding: ChannelBinding) { binding.announce(value, of: property) }
  override func passOver(_ binding: ChannelBinding) { binding.passOver(value, of: property) }
}

/// What a model has in the place of a value that was sent. Nobody answers it with a value of theirs, since
/// two models that each insist would go on for ever.
private final class AnswerBatchValue<Value>: TypedBatchValue<Value> {
  package override var isAnswer: Bool { true }

  override func apply(to binding: ChannelBinding, by routes: RouteCache) {
    binding.applyAnswer(value, of: property, by: routes)
  }
}
