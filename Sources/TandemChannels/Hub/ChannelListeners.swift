/// The bindings of a channel at one time.
///
/// A delivery holds them instead of the channel, because a hook or a subscriber may end its binding, and with the
/// last binding the channel.
struct ChannelListeners {
  let first: ChannelBinding
  let others: [ChannelBinding]?
  /// True if one of them is notified after all objects have their values.
  let hasNotified: Bool

  /// Calls `body` with the bindings that take part in a delivery, in the order of their registration. Bindings
  /// that are newer than `newest` do not.
  @inline(__always)
  func forEach(
    since newest: UInt64, excluding sender: AnyObject?, _ body: (ChannelBinding) -> Void
  ) {
    forEach(since: newest, excluding: sender, body, suppressing: { _ in })
  }

  /// Calls `body` with the bindings that take part in a delivery, and `suppressing` with those that it excludes.
  @inline(__always)
  func forEach(
    since newest: UInt64, excluding sender: AnyObject?, _ body: (ChannelBinding) -> Void,
    suppressing: (ChannelBinding) -> Void
  ) {
    func handOut(_ binding: ChannelBinding) {
      guard binding.takesPart(since: newest) else { return }
      if binding.isExcluded(by: sender) { suppressing(binding) } else { body(binding) }
    }
    handOut(first)
    guard let others else { return }
    for binding in others { handOut(binding) }
  }
}

extension ChannelBinding {
  @inline(__always)
  fileprivate final func takesPart(since newest: UInt64) -> Bool { node != nil && serial <= newest }

  @inline(__always)
  fileprivate final func isExcluded(by sender: AnyObject?) -> Bool {
    guard let sender else { return false }
    return belongs(to: sender)
  }
}
