import TandemChannels

/// What a link sends to its peers; lives where the hub lives.
///
/// Values go to the outboxes of the peers. Of a hub that remembers more than an outbox holds, those for
/// which there is no room wait in a backlog instead, as what they are in the memory of the hub; so do all
/// that follow, to stay behind them, and what a new peer is to have. The backlog is brought to the outbox in
/// portions, whenever that has been emptied. It is bounded by what the hub remembers: what it drops, the
/// hub has forgotten.
final class LinkFeed {
  let link: ObjectIdentifier
  private let subjects: [LinkedSubject]
  private let options: ChannelLinkOptions
  private var attached: [FedPeer] = []
  private var collected: [LinkEntry] = []
  private var sender: AnyObject?

  init(_ link: ChannelLink) {
    self.link = ObjectIdentifier(link)
    subjects = Array(link.subjects.values)
    options = link.options
  }

  var peers: [LinkPeer] { attached.map(\.peer) }

  func attach(_ peer: LinkPeer) { attached.append(FedPeer(peer)) }

  func detach(_ peer: LinkPeer) { attached.removeAll { $0.peer === peer } }
}

/// A value of a subject that a link carries.
struct LinkEntry {
  var subject: LinkedSubject
  var value: BatchEntry

  /// Which value it is.
  struct Key: Hashable {
    var subject: String
    var address: ChannelAddress
    var property: AnyKeyPath
  }

  var key: Key {
    Key(subject: subject.name, address: value.address, property: value.value.property)
  }
}

/// A peer, and what waits for it beyond its outbox.
private final class FedPeer {
  let peer: LinkPeer
  var backlog = LatestQueue<LinkEntry.Key, LinkEntry>()

  init(_ peer: LinkPeer) { self.peer = peer }

  var isBehind: Bool { !backlog.isEmpty }
}

// MARK: - What is sent

extension LinkFeed {
  /// Takes note of values that are sent. They go to the peers once the batch is complete.
  func collect(_ entries: [BatchEntry], of subject: LinkedSubject, excluding sender: AnyObject?) {
    collected += entries.map { LinkEntry(subject: subject, value: $0) }
    self.sender = sender
  }

  /// Sends what was collected.
  func finishBatch(in hub: ChannelHub) {
    guard !collected.isEmpty else { return }
    let peers = attached.filter { $0.peer !== sender }
    let entries = collected
    (collected, sender) = ([], nil)
    if !peers.isEmpty { send(entries, to: peers, of: hub) }
  }

  /// Encodes each value once for all peers that are not behind.
  private func send(_ entries: [LinkEntry], to peers: [FedPeer], of hub: ChannelHub) {
    var failures: [ChannelDiagnostic] = []
    let current = peers.filter { !$0.isBehind }
    var behind = peers.filter(\.isBehind)
    if !current.isEmpty {
      var batch = EncodedBatch(maxFrameByteCount: options.maxFrameByteCount)
      for entry in entries { batch.add(entry) }
      failures = batch.failures
      if hub.limits.maxRememberedValueCount >= options.maxWaitingChannelCount {
        behind += current.filter { !$0.peer.outbox.addIfRoom(for: batch.messages) }
      } else {
        for fed in current { failures += add(batch.messages, to: fed, of: hub) }
      }
    }
    for fed in behind { failures += owe(entries, to: fed, of: hub) }
    // Last, because whoever is told may send.
    for failure in failures { hub.report(failure) }
  }

  /// Adds values to an outbox, whatever it drops for them.
  private func add(
    _ messages: [ChannelMessage], to fed: FedPeer, of hub: ChannelHub
  ) -> [ChannelDiagnostic] {
    let losses = fed.peer.outbox.add(messages)
    // What the peer sends after it has missed these is to be later all the same.
    if !losses.isEmpty, let clock = hub.linkClock { fed.peer.outbox.tell(clock.counter) }
    return losses.map { $0.message.diagnostic($0.isNew ? .batchTooLarge : .peerTooSlow) }
  }
}

// MARK: - What is remembered

extension LinkFeed {
  /// Lets a peer have all that the hub remembers, and what else waits for it, in the order in which it was
  /// sent: what is sent later would make those who forget take the rest for old.
  func refresh(_ peer: LinkPeer, from hub: ChannelHub) {
    guard let clock = hub.linkClock, let fed = attached.first(where: { $0.peer === peer }) else {
      return
    }
    let remembered = subjects.flatMap { subject in
      hub.rememberedEntries(of: subject.type).map { entry in
        var entry = entry
        entry.stamp = clock.stamp(of: entry)
        return LinkEntry(subject: subject, value: entry)
      }
    }
    if !peer.outbox.isEmpty {
      // What waits there goes first, and is older than all that is remembered, or among it.
      for message in remembered.compactMap(\.message) { peer.outbox.remove(message) }
    }
    let keys = Set(fed.isBehind ? remembered.map(\.key) : [])
    let all = fed.backlog.removeAll().filter { !keys.contains($0.key) } + remembered
    let failures = owe(all.sorted { $0.value.isOlder(than: $1.value) }, to: fed, of: hub)
    for failure in failures { hub.report(failure) }
    fill(peer, from: hub)
  }

  /// Adds values to a backlog; tells of those which the hub has forgotten before they could be sent.
  private func owe(
    _ entries: [LinkEntry], to fed: FedPeer, of hub: ChannelHub
  ) -> [ChannelDiagnostic] {
    var failures: [ChannelDiagnostic] = []
    for entry in entries {
      fed.backlog.append(entry, for: entry.key)
      guard fed.backlog.count > hub.limits.maxRememberedValueCount,
        let oldest = fed.backlog.removeFirst()
      else { continue }
      // An older value of the same property would be taken for the last one.
      if let message = oldest.message { fed.peer.outbox.remove(message) }
      failures.append(oldest.value.diagnostic(.peerTooSlow))
    }
    if !failures.isEmpty, let clock = hub.linkClock { fed.peer.outbox.tell(clock.counter) }
    fed.peer.outbox.setBacklog(fed.isBehind)
    return failures
  }

  /// Brings of what waits for a peer as much to its outbox as there is room for.
  func fill(_ peer: LinkPeer, from hub: ChannelHub) {
    guard let fed = attached.first(where: { $0.peer === peer }) else { return }
    let room = peer.outbox.room
    var portion = EncodedBatch(
      maxFrameByteCount: options.maxFrameByteCount, maxByteCount: room.byteCount,
      takesOneOfAnySize: room.isAll)
    for _ in 0..<room.channelCount {
      guard fed.backlog.removeFirst(if: { portion.add($0) }) != nil else { break }
    }
    peer.outbox.setBacklog(fed.isBehind)
    var failures = portion.failures
    if !portion.messages.isEmpty { failures += add(portion.messages, to: fed, of: hub) }
    for failure in failures { hub.report(failure) }
  }
}

extension BatchEntry {
  fileprivate func isOlder(than other: BatchEntry) -> Bool {
    guard let stamp, let other = other.stamp else { return false }
    return stamp < other
  }
}

extension ChannelHub {
  /// Whether all values of a message are remembered, or newer ones in their place.
  func remembers(_ message: ChannelMessage, of subject: LinkedSubject) -> Bool {
    guard let entries = try? subject.decode(message).batch.entries else { return false }
    return entries.allSatisfy { entry in
      remembers(entry.value.property, at: entry.address)
    }
  }
}

// MARK: - Encoding

extension LinkEntry {
  /// The value on the wire, if it can be encoded and travels.
  fileprivate var message: ChannelMessage? {
    value.stamp.flatMap { try? subject.encode(value, $0) }
  }
}

/// Values for peers, those of one channel together. A property that was sent twice is there once, with the
/// newest value and stamp.
private struct EncodedBatch {
  let maxFrameByteCount: Int
  let maxByteCount: Int
  let takesOneOfAnySize: Bool
  private(set) var messages: [ChannelMessage] = []
  private(set) var failures: [ChannelDiagnostic] = []
  /// About how many bytes it takes to let them wait.
  private var byteCount = 0
  private var places: [ChannelMessage.Address: Int] = [:]

  /// - Parameters:
  ///   - maxByteCount: about how many bytes they may have that wait.
  ///   - takesOneOfAnySize: whether a single one may have more.
  init(maxFrameByteCount: Int, maxByteCount: Int = .max, takesOneOfAnySize: Bool = true) {
    self.maxFrameByteCount = maxFrameByteCount
    self.maxByteCount = maxByteCount
    self.takesOneOfAnySize = takesOneOfAnySize
  }

  /// Adds a value, or the reason why it is not; returns `false` if there is no room for it.
  @discardableResult
  mutating func add(_ entry: LinkEntry) -> Bool {
    do {
      guard let stamp = entry.value.stamp,
        let message = try entry.subject.encode(entry.value, stamp)
      else { return true }
      guard LinkFrame.values(message).fits(maxByteCount: maxFrameByteCount) else {
        failures.append(message.diagnostic(.tooLargeForLink))
        return true
      }
      return add(message)
    } catch {
      failures.append(entry.value.diagnostic(.notEncodable))
      return true
    }
  }

  private mutating func add(_ message: ChannelMessage) -> Bool {
    let count = message.waitingByteCount
    guard takesOneOfAnySize && messages.isEmpty || count <= maxByteCount - byteCount else {
      return false
    }
    byteCount += count
    if let place = places[message.address] {
      messages[place].take(message)
    } else {
      places[message.address] = messages.count
      messages.append(message)
    }
    return true
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
