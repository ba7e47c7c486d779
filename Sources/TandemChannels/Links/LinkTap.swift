import Synchronization

/// The other end of a connection, or of one that is made again and again.
final class LinkPeer: Sendable {
  let outbox: LinkOutbox
  /// Whether the connection has brought a message.
  let hasReceived = Atomic(false)

  init(_ options: ChannelLinkOptions) {
    outbox = LinkOutbox(
      maxChannelCount: options.maxWaitingChannelCount, maxByteCount: options.maxWaitingByteCount)
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
    var batch = EncodedBatch()
    for entry in entries {
      do {
        if let message = try subject.encode(entry, clock.stamp(of: entry)) { batch.add(message) }
      } catch {
        batch.failures.append(entry.diagnostic(.notEncodable))
      }
    }
    let dropped = batch.messages.flatMap(peer.outbox.add)
    // Last, because whoever is told may send.
    for failure in batch.failures { hub.report(failure) }
    for message in dropped { hub.report(message.diagnostic(.peerTooSlow)) }
  }
}

/// Values of one subject for a peer, those of one channel together.
private struct EncodedBatch {
  private(set) var messages: [ChannelMessage] = []
  var failures: [ChannelDiagnostic] = []
  private var places: [JSONValue: Int] = [:]

  mutating func add(_ message: ChannelMessage) {
    if let place = places[message.id] {
      messages[place].take(message)
    } else {
      places[message.id] = messages.count
      messages.append(message)
    }
  }
}

extension BatchEntry {
  fileprivate func diagnostic(_ kind: ChannelDiagnostic.Kind) -> ChannelDiagnostic {
    ChannelDiagnostic(kind: kind, channel: "\(address)", property: "\(value.property)")
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
