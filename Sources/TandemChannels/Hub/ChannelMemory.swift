/// A remembered value of a property. A newer value replaces it in place, without an allocation.
class RememberedValue {
  let property: AnyKeyPath

  fileprivate init(property: AnyKeyPath) { self.property = property }

  /// The value as it is sent.
  var batchValue: BatchValue { preconditionFailure("Only typed values are made") }
}

private final class TypedRememberedValue<Value>: RememberedValue {
  var value: Value

  init(property: AnyKeyPath, value: Value) {
    self.value = value
    super.init(property: property)
  }

  override var batchValue: BatchValue { TypedBatchValue(property: property, value: value) }
}

/// The values that a channel remembers, in the order in which their properties were first sent.
struct RememberedValues {
  private(set) var values: [RememberedValue]
  /// The place of each value in ``Recency``.
  private(set) var places: [Int]

  init(_ value: RememberedValue, at place: Int) {
    values = [value]
    places = [place]
  }

  /// The values as they are sent.
  var batchValues: [BatchValue] { values.map(\.batchValue) }

  func index(of property: AnyKeyPath) -> Int? {
    values.firstIndex { $0.property === property } ?? values.firstIndex { $0.property == property }
  }

  mutating func append(_ value: RememberedValue, at place: Int) {
    values.append(value)
    places.append(place)
  }

  mutating func remove(at index: Int) {
    values.remove(at: index)
    places.remove(at: index)
  }
}

extension ChannelHub {
  /// The last value of a property that was sent on a channel, if the hub remembers it.
  public func latest<Subject, Value>(
    _ property: KeyPath<Subject, Value>, on channel: Channel<Subject>
  ) -> Value? {
    guard let remembered = node(at: channel.address)?.remembered,
      let index = remembered.index(of: property)
    else { return nil }
    return unsafeDowncast(remembered.values[index], to: TypedRememberedValue<Value>.self).value
  }

  /// Forgets the values of a channel. Its bindings stay.
  public func forget<Subject>(_ channel: Channel<Subject>) {
    guard let node = node(at: channel.address), let remembered = node.remembered else { return }
    for place in remembered.places { memory.remove(place) }
    node.remembered = nil
    if node.isUnused { remove(node) }
  }

  /// The remembered value of the property of another entry, if there is one.
  package func rememberedEntry(for entry: BatchEntry) -> BatchEntry? {
    guard let remembered = node(at: entry.address)?.remembered,
      let index = remembered.index(of: entry.value.property)
    else { return nil }
    return BatchEntry(address: entry.address, value: remembered.values[index].batchValue)
  }

  /// All remembered values, least recently sent first.
  package func rememberedEntries() -> [BatchEntry] {
    memory.entries.compactMap { entry in
      entry.node.remembered.flatMap { remembered in
        remembered.index(of: entry.property).map {
          BatchEntry(address: entry.node.address, value: remembered.values[$0].batchValue)
        }
      }
    }
  }

  /// Remembers a value. Beyond the limit, the hub forgets the value that was sent longest ago.
  func remember<Value>(_ value: Value, of property: AnyKeyPath, at address: ChannelAddress) {
    if let remembered = node(at: address)?.remembered, let index = remembered.index(of: property) {
      // Equal key paths have equal value types.
      unsafeDowncast(remembered.values[index], to: TypedRememberedValue<Value>.self).value = value
      return memory.touch(remembered.places[index])
    }
    if memory.count >= limits.maxRememberedValueCount { forgetOldest() }
    let node = nodeOrNew(at: address)
    let place = memory.append(.init(node: node, property: property))
    let remembered = TypedRememberedValue(property: property, value: value)
    if node.remembered?.append(remembered, at: place) == nil {
      node.remembered = RememberedValues(remembered, at: place)
    }
  }

  private func forgetOldest() {
    guard let (node, property) = memory.removeOldest().map({ ($0.node, $0.property) }),
      let index = node.remembered?.index(of: property)
    else { return }
    node.remembered?.remove(at: index)
    if node.remembered?.values.isEmpty == true { node.remembered = nil }
    if node.isUnused { remove(node) }
  }
}
