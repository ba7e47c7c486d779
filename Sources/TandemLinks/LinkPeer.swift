import TandemChannels

/// The other end of a connection, or of one that is made again and again.
final class LinkPeer: Sendable {
  let outbox: LinkOutbox

  init(_ options: ChannelLinkOptions) {
    outbox = LinkOutbox(
      maxChannelCount: options.maxWaitingChannelCount, maxByteCount: options.maxWaitingByteCount)
  }
}

extension ChannelHub {
  /// Takes note of how far the clock of a peer has come. If that is news, others may need it to tell
  /// that what is sent here is later than what they have.
  func hear(_ counter: UInt64, from peer: LinkPeer) throws(ChannelLinkError) {
    guard let clock = linkClock else { return }
    try clock.check(counter)
    let old = clock.counter
    let restamping = clock.hear(counter)
    guard clock.counter > old else { return }
    for other in taps.values.joined().compactMap({ $0 as? any PeerTap }).flatMap(\.peers) {
      if let restamping { other.outbox.apply(restamping) }
      if other !== peer || clock.counter > counter { other.outbox.tell(clock.counter) }
    }
  }

  /// Delivers what is later than what the hub has.
  func receive(_ received: StampedBatch, from peer: LinkPeer) throws(ChannelLinkError) {
    guard let clock = linkClock else { return }
    for case let stamp? in received.stamps { try clock.check(stamp.counter) }
    let news = zip(received.batch.entries, received.stamps).compactMap { entry, stamp in
      // A value without a stamp counts as sent here.
      guard let stamp else { return entry }
      guard clock.accept(entry, stamp) else { return nil as BatchEntry? }
      return BatchEntry(address: entry.address, value: entry.value, mark: stamp)
    }
    if !news.isEmpty { send(news, excluding: peer) }
  }
}
