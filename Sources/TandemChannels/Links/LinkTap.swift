/// Puts what a hub sends of a subject into the outboxes of a link's peers.
final class LinkTap: SubjectTap {
  fileprivate let link: ObjectIdentifier
  fileprivate let subject: LinkedSubject
  private let maxFrameByteCount: Int
  fileprivate var attached: [LinkPeer] = []

  init(_ link: ChannelLink, _ subject: LinkedSubject) {
    self.link = ObjectIdentifier(link)
    self.subject = subject
    maxFrameByteCount = link.options.maxFrameByteCount
  }

  override var peers: [LinkPeer] { attached }

  override func sent(
    _ entries: inout [BatchEntry], excluding sender: AnyObject?, in hub: ChannelHub
  ) {
    put(entries, for: attached.filter { $0 !== sender }, of: hub)
  }

  /// Lets a peer have all that the hub remembers, in the order in which it was sent: what is sent later
  /// would make those who forget take the rest for old.
  fileprivate func refresh(_ peer: LinkPeer, from hub: ChannelHub) {
    guard let clock = hub.linkClock else { return }
    let remembered = hub.rememberedEntries(of: subject.type)
      .map { (entry: $0, stamp: clock.stamp(of: $0)) }.sorted { $0.stamp < $1.stamp }
    put(
      remembered.map { BatchEntry(address: $0.address, value: $0.value, stamp: $1) }, for: [peer],
      of: hub)
  }

  /// Encodes each value once. A property that was sent twice is put there once, with the newest value and
  /// stamp.
  private func put(_ entries: [BatchEntry], for peers: [LinkPeer], of hub: ChannelHub) {
    guard !peers.isEmpty else { return }
    var batch = EncodedBatch()
    for entry in entries { add(entry, to: &batch) }
    for peer in peers {
      let dropped = batch.messages.flatMap(peer.outbox.add)
      // What the peer sends after it has missed these is to be later all the same.
      if !dropped.isEmpty, let clock = hub.linkClock { peer.outbox.tell(clock.counter) }
      batch.failures += dropped.map { $0.diagnostic(.peerTooSlow) }
    }
    // Last, because whoever is told may send.
    for failure in batch.failures { hub.report(failure) }
  }

  private func add(_ entry: BatchEntry, to batch: inout EncodedBatch) {
    do {
      guard let stamp = entry.stamp, let message = try subject.encode(entry, stamp) else { return }
      if LinkFrame.values(message).fits(maxByteCount: maxFrameByteCount) {
        batch.add(message)
      } else {
        batch.failures.append(message.diagnostic(.tooLargeForLink))
      }
    } catch {
      batch.failures.append(entry.diagnostic(.notEncodable))
    }
  }
}

/// Values of one subject for peers, those of one channel together.
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

// MARK: - Peers

extension ChannelLink {
  /// Lets a peer have what the hub sends from now on.
  func attach(_ peer: LinkPeer, to hub: ChannelHub) {
    for subject in subjects.values {
      let tap = tap(for: subject, of: hub) ?? LinkTap(self, subject)
      if tap.attached.isEmpty { hub.taps[subject.type, default: []].append(tap) }
      tap.attached.append(peer)
    }
  }

  func detach(_ peer: LinkPeer, from hub: ChannelHub) {
    for subject in subjects.values {
      guard let tap = tap(for: subject, of: hub) else { continue }
      tap.attached.removeAll { $0 === peer }
      if tap.attached.isEmpty { hub.taps[subject.type]?.removeAll { $0 === tap } }
    }
  }

  /// Lets a peer that is attached have all that the hub remembers.
  func refresh(_ peer: LinkPeer, from hub: ChannelHub) {
    for subject in subjects.values { tap(for: subject, of: hub)?.refresh(peer, from: hub) }
  }

  private func tap(for subject: LinkedSubject, of hub: ChannelHub) -> LinkTap? {
    let taps = hub.taps[subject.type] ?? []
    return taps.lazy.compactMap { $0 as? LinkTap }
      .first { $0.link == ObjectIdentifier(self) && $0.subject.name == subject.name }
  }
}

// MARK: - Diagnostics

extension BatchEntry {
  func diagnostic(_ kind: ChannelDiagnostic.Kind) -> ChannelDiagnostic {
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
