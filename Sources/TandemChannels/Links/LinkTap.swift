/// The other end of a connection, or of one that is made again and again.
final class LinkPeer: Sendable {
  let outbox: LinkOutbox

  init(_ options: ChannelLinkOptions) {
    outbox = LinkOutbox(maxChannelCount: options.maxWaitingChannelCount)
  }
}

/// Puts what a hub sends into the outbox of a peer.
final class LinkTap: SubjectTap {
  private let subject: LinkedSubject
  private let peer: LinkPeer

  init(_ subject: LinkedSubject, _ peer: LinkPeer) {
    self.subject = subject
    self.peer = peer
  }

  override func isFor(_ listener: AnyObject) -> Bool { peer === listener }

  override func sent(_ entries: [BatchEntry], excluding sender: AnyObject?, in hub: ChannelHub) {
    if sender !== peer { put(entries, of: hub) }
  }

  /// Lets the peer have all that the hub remembers.
  func refresh(from hub: ChannelHub) { put(hub.rememberedEntries(of: subject.type), of: hub) }

  /// A property that was sent twice is put there once, with the newest value and stamp.
  private func put(_ entries: [BatchEntry], of hub: ChannelHub) {
    guard let clock = hub.linkClock else { return }
    var messages: [ChannelMessage] = []
    var places: [JSONValue: Int] = [:]
    for entry in entries {
      guard let message = subject.encode(entry, clock.stamp(of: entry)) else { continue }
      if let place = places[message.id] {
        messages[place].take(message)
      } else {
        places[message.id] = messages.count
        messages.append(message)
      }
    }
    for message in messages {
      if let dropped = peer.outbox.add(message) { hub.report(dropped.diagnostic(.peerTooSlow)) }
    }
  }
}

extension ChannelMessage {
  /// Says that these values were not sent.
  func diagnostic(_ kind: ChannelDiagnostic.Kind) -> ChannelDiagnostic {
    ChannelDiagnostic(
      kind: kind, channel: "\(subject) \(id)",
      property: values.keys.sorted().joined(separator: ", "))
  }
}
