/// Values that are sent together, on one channel or several.
///
/// All objects have all values of a batch before any hook or subscriber is notified of one. A batch contains
/// Sendable values only, so it can be made anywhere, and sent to a hub in another isolation domain.
///
/// <!-- Snippets/CodeInComments.swift batch -->
/// ```swift
/// hub.send(
///   ChannelBatch().setting(\.name, to: "Tom", on: channel).setting(\.age, to: 30, on: channel))
/// ```
public struct ChannelBatch: @unchecked Sendable {
  // Sendable: only `set` makes entries, and it requires a Sendable key path and a Sendable value. An entry refers
  // to an address and to a batch value; both are immutable objects, and copies of the array may share them.
  private(set) var entries: [BatchEntry] = []

  /// A batch without values.
  public init() {}

  /// The number of values.
  public var count: Int { entries.count }

  /// True if there are no values.
  public var isEmpty: Bool { entries.isEmpty }

  /// Adds a value. Values are sent in the order in which they were added.
  public mutating func set<Subject, Value: Sendable>(
    _ property: any KeyPath<Subject, Value> & Sendable, to value: Value,
    on channel: Channel<Subject>
  ) {
    entries.append(
      BatchEntry(
        address: channel.address, value: TypedBatchValue(property: property, value: value)))
  }

  /// Returns this batch with one more value.
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
}

extension ChannelBatch: CustomStringConvertible {
  /// The number of values and the channels.
  public var description: String {
    let channels = Set(entries.map { "\($0.address)" }).sorted().joined(separator: ", ")
    return isEmpty ? "no values" : "\(count) values for \(channels)"
  }
}

/// A value for a property of a channel.
package struct BatchEntry {
  package var address: ChannelAddress
  package var value: BatchValue

  package init(address: ChannelAddress, value: BatchValue) {
    self.address = address
    self.value = value
  }
}

/// A value on its way, without its type, which only the sender and the receivers know. Immutable.
package class BatchValue {
  package let property: AnyKeyPath
  /// True for a value that a model has taken in place of one that was sent. No model answers it with a value of
  /// its own: two models that replace each other's values would do so without end.
  package let isAnswer: Bool

  fileprivate init(property: AnyKeyPath, isAnswer: Bool) {
    self.property = property
    self.isAnswer = isAnswer
  }

  /// The same value as an answer.
  var answer: BatchValue { preconditionFailure("Only typed values are made") }

  func remember(at address: ChannelAddress, in hub: ChannelHub) {
    preconditionFailure("Only typed values are made")
  }
  func apply(to binding: ChannelBinding, by routes: RouteCache) {
    preconditionFailure("Only typed values are made")
  }
  func isAccepted(by binding: ChannelBinding, _ routes: RouteCache) -> Bool {
    preconditionFailure("Only typed values are made")
  }
  func notify(_ binding: ChannelBinding) { preconditionFailure("Only typed values are made") }
  func suppress(_ binding: ChannelBinding) { preconditionFailure("Only typed values are made") }
}

package final class TypedBatchValue<Value>: BatchValue {
  package let value: Value

  package init(property: AnyKeyPath, value: Value, isAnswer: Bool = false) {
    self.value = value
    super.init(property: property, isAnswer: isAnswer)
  }

  override var answer: BatchValue {
    TypedBatchValue(property: property, value: value, isAnswer: true)
  }

  override func remember(at address: ChannelAddress, in hub: ChannelHub) {
    hub.remember(value, of: property, at: address)
  }

  override func apply(to binding: ChannelBinding, by routes: RouteCache) {
    if isAnswer {
      binding.applyAnswer(value, of: property, by: routes)
    } else {
      binding.apply(value, of: property, by: routes)
    }
  }

  override func isAccepted(by binding: ChannelBinding, _ routes: RouteCache) -> Bool {
    binding.accepts(property, Value.self, by: routes)
  }

  override func notify(_ binding: ChannelBinding) { binding.notify(value, of: property) }
  override func suppress(_ binding: ChannelBinding) { binding.suppress(value, of: property) }
}
