import TandemChannels

/// Listens for peers.
protocol PeerTap: SubjectTap {
  var peers: [LinkPeer] { get }
}

/// Lets a link's feed know what a hub sends of a subject.
final class LinkTap: PeerTap {
  fileprivate let feed: LinkFeed
  private let subject: LinkedSubject

  fileprivate init(_ feed: LinkFeed, _ subject: LinkedSubject) {
    self.feed = feed
    self.subject = subject
  }

  var peers: [LinkPeer] { feed.peers }

  package func sent(
    _ entries: inout [BatchEntry], excluding sender: AnyObject?, in hub: ChannelHub
  ) {
    feed.collect(entries, of: subject, excluding: sender)
  }

  package func finishBatch(in hub: ChannelHub) { feed.finishBatch(in: hub) }
}

// MARK: - Peers

extension ChannelLink {
  /// Lets a peer have what the hub sends from now on.
  func attach(_ peer: LinkPeer, to hub: ChannelHub) {
    let feed = feed(of: hub) ?? LinkFeed(self)
    if feed.peers.isEmpty {
      for subject in subjects.values {
        hub.taps[subject.type, default: []].append(LinkTap(feed, subject))
      }
    }
    feed.attach(peer)
  }

  func detach(_ peer: LinkPeer, from hub: ChannelHub) {
    guard let feed = feed(of: hub) else { return }
    feed.detach(peer)
    guard feed.peers.isEmpty else { return }
    for subject in subjects.values {
      hub.taps[subject.type]?.removeAll { ($0 as? LinkTap)?.feed === feed }
    }
  }

  /// What the link sends to its peers, while it has any.
  func feed(of hub: ChannelHub) -> LinkFeed? {
    hub.taps.values.joined().lazy.compactMap { ($0 as? LinkTap)?.feed }
      .first { $0.link == ObjectIdentifier(self) }
  }
}
