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
    forEach(since: newest, excluding: sender, body, passingOver: { _ in })
  }

  /// Hands out those who take part in a delivery, and by themselves those whom its sender excludes.
  @inline(__always)
  func forEach(
    since newest: UInt64, excluding sender: AnyObject?, _ body: (ChannelBinding) -> Void,
    passingOver: (ChannelBinding) -> Void
  ) {
    func handOut(_ binding: ChannelBinding) {
      guard binding.takesPart(since: newest) else { return }
      if binding.isExcluded(by: sender) { passingOver(binding) } else { body(binding) }
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
