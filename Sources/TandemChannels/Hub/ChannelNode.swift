/// What a hub keeps of one channel: its bindings in the order of their registration, and the values
/// it remembers.
final class ChannelNode {
  let address: ChannelAddress
  /// Unsafe for speed, and safe: tokens may outlive the hub, and nodes with them, but a hub that goes
  /// detaches all bindings from their nodes, and only bindings ask for it.
  unowned(unsafe) let hub: ChannelHub
  private(set) var bindings: [ChannelBinding] = []
  private var endedCount = 0
  /// How many bindings have something to do after all objects have their values.
  var announcerCount = 0
  var remembered: RememberedValues?

  init(address: ChannelAddress, hub: ChannelHub) {
    self.address = address
    self.hub = hub
  }

  var isUnused: Bool { bindings.isEmpty && remembered == nil }

  func append(_ binding: ChannelBinding) { bindings.append(binding) }

  /// Takes note that one of the bindings has ended.
  ///
  /// Ended bindings are removed once they are the majority, so that ending all costs O(*n*).
  func bindingEnded() {
    endedCount += 1
    guard endedCount * 2 > bindings.count else { return }
    bindings.removeAll { !$0.isActive }
    endedCount = 0
    if bindings.isEmpty { bindings = [] }
    if isUnused { hub.remove(self) }
  }
}
