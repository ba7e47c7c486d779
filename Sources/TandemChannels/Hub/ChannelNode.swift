/// One channel of a hub: its bindings in the order of their registration, and its remembered values.
final class ChannelNode {
  let address: ChannelAddress
  /// Most channels have one binding or two, and the first needs no array.
  private var first: ChannelBinding?
  private var others: [ChannelBinding] = [] { didSet { hasOthers = !others.isEmpty } }
  // A flag, because reading the array costs a check of exclusive access on each send to a single binding.
  private var hasOthers = false
  private var endedCount: Int32 = 0
  /// The number of bindings that are notified after all objects have their values.
  var notifiedCount: Int32 = 0
  var remembered: RememberedValues?

  init(address: ChannelAddress) { self.address = address }

  var isUnused: Bool { first == nil && remembered == nil }

  /// The bindings in the order of their registration.
  var bindings: [ChannelBinding] { first.map { [$0] + others } ?? [] }

  /// The current bindings, if there are any.
  @inline(__always)
  var listeners: ChannelListeners? {
    guard let first else { return nil }
    return ChannelListeners(
      first: first, others: hasOthers ? others : nil, hasNotified: notifiedCount > 0)
  }

  func append(_ binding: ChannelBinding) {
    if first == nil { first = binding } else { others.append(binding) }
  }

  /// Takes note that one of the bindings has ended.
  ///
  /// Ended bindings are removed once they are the majority, so ending all of them costs O(*n*).
  func bindingEnded() {
    endedCount += 1
    guard Int(endedCount) * 2 > others.count + 1 else { return }
    let lasting = bindings.filter { $0.node != nil }
    first = lasting.first
    others = Array(lasting.dropFirst())
    endedCount = 0
  }
}
