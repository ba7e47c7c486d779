/// What a hub keeps of one channel: its bindings in the order of their registration, and the values
/// it remembers.
final class ChannelNode {
  let address: ChannelAddress
  /// Most channels have one binding or two, and the first needs no array.
  private var first: ChannelBinding?
  private var others: [ChannelBinding] = [] { didSet { hasOthers = !others.isEmpty } }
  // The flag spares a send to one binding the check of exclusive access that the array costs.
  private var hasOthers = false
  private var endedCount: Int32 = 0
  /// How many bindings have something to do after all objects have their values.
  var announcerCount: Int32 = 0
  var remembered: RememberedValues?

  init(address: ChannelAddress) { self.address = address }

  var isUnused: Bool { first == nil && remembered == nil }

  /// The bindings in the order of their registration.
  var bindings: [ChannelBinding] { first.map { [$0] + others } ?? [] }

  /// The bindings there are now, if there are any.
  @inline(__always)
  var listeners: ChannelListeners? {
    guard let first else { return nil }
    return ChannelListeners(
      first: first, others: hasOthers ? others : nil, hasAnnouncers: announcerCount > 0)
  }

  func append(_ binding: ChannelBinding) {
    if first == nil { first = binding } else { others.append(binding) }
  }

  /// Takes note that one of the bindings has ended.
  ///
  /// Ended bindings are removed once they are the majority, so that ending all costs O(*n*).
  func bindingEnded() {
    endedCount += 1
    guard Int(endedCount) * 2 > others.count + 1 else { return }
    let lasting = bindings.filter { $0.node != nil }
    first = lasting.first
    others = Array(lasting.dropFirst())
    endedCount = 0
  }
}
