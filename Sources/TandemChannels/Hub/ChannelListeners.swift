/// The bindings of a channel as they were at some time.
///
/// It holds them, so that a delivery need not hold the channel: what is told of the values may end its
/// binding, and the channel with that.
struct ChannelListeners {
  let first: ChannelBinding
  let others: [ChannelBinding]?
  /// Whether one of them has something to do after all objects have their values.
  let hasAnnouncers: Bool

  /// Hands out, in the order of their registration, those who take part in a delivery that began when
  /// `newest` was the last binding.
  @inline(__always)
  func forEach(
    since newest: UInt64, excluding sender: AnyObject?, _ body: (ChannelBinding) -> Void
  ) {
    if first.takesPart(since: newest, excluding: sender) { body(first) }
    guard let others else { return }
    for binding in others where binding.takesPart(since: newest, excluding: sender) {
      body(binding)
    }
  }
}

extension ChannelBinding {
  @inline(__always)
  fileprivate final func takesPart(since newest: UInt64, excluding sender: AnyObject?) -> Bool {
    guard node != nil, serial <= newest else { return false }
    guard let sender else { return true }
    return !belongs(to: sender)
  }
}
