import TandemChannels
import TandemRecords

/// The driver of a link's sessions: turns what happens on the hub into events, and performs the actions.
///
/// Lives where the hub lives. A link that listens keeps its feed, and with it the epoch, as long as the link
/// exists; a link that connects keeps it while it runs.
final class LinkFeed: SendObserver {
  /// Values of these peers go to the hub, and values of the hub to them.
  private final class Peer {
    var session: any LinkSession
    var output: AsyncStream<[LinkFrame]>.Continuation?

    init(_ session: any LinkSession) { self.session = session }
  }

  private weak var link: ChannelLink?
  let role: ChannelLinkRole
  private let subjects: [ObjectIdentifier: LinkedSubject]
  private let options: ChannelLinkOptions
  private var log = LinkLog(epoch: .random(in: .min ... .max))
  private var peers: [Int: Peer] = [:]
  private var lastPeerNumber = 0
  /// The number of calls of the link's `run` functions that have not returned.
  fileprivate var runCount = 0

  fileprivate init(_ link: ChannelLink, role: ChannelLinkRole) {
    self.link = link
    self.role = role
    subjects = Dictionary(uniqueKeysWithValues: link.subjects.values.map { ($0.type, $0) })
    options = link.options
  }

  var isNeeded: Bool { runCount > 0 || role == .listening && link != nil }

  fileprivate func sharesSubjects(with other: LinkFeed) -> Bool {
    subjects.keys.contains { other.subjects[$0] != nil }
  }
}

// MARK: - Peers

extension LinkFeed {
  /// Adds a peer: from now on, values that the hub sends wait for it.
  ///
  /// - Returns: the number of the peer.
  func attach(in hub: ChannelHub) -> Int {
    lastPeerNumber += 1
    let maxCount = hub.limits.maxRememberedValueCount
    let session: any LinkSession =
      switch role {
      case .listening: ListeningSession(options: options, maxRememberedValueCount: maxCount)
      case .connecting:
        ConnectingSession(
          client: .random(in: .min ... .max), options: options, maxRememberedValueCount: maxCount)
      }
    peers[lastPeerNumber] = Peer(session)
    return lastPeerNumber
  }

  func detach(_ number: Int) { peers[number] = nil }

  /// Begins a connection to a peer.
  ///
  /// - Returns: the frames to write. ``LinkEvent/written`` follows each element.
  func open(_ number: Int, in hub: ChannelHub) throws(ChannelLinkError) -> AsyncStream<[LinkFrame]>
  {
    let (frames, output) = AsyncStream.makeStream(of: [LinkFrame].self)
    peers[number]?.output = output
    try handle(.opened, of: number, in: hub)
    return frames
  }

  /// Handles an event of a peer's session.
  ///
  /// - Throws: the reason why the connection has to end.
  func handle(
    _ event: LinkEvent, of number: Int, in hub: ChannelHub
  ) throws(ChannelLinkError) {
    guard let peer = peers[number] else { return }
    for action in peer.session.handle(event, log: &log) {
      switch action {
      case .send(let frames): peer.output?.yield(frames)
      case .deliver(let messages): try deliver(messages, of: number, in: hub)
      case .readMemory:
        let entries = hub.rememberedEntries()
        try handle(.memoryRead(messages(for: entries, in: hub)), of: number, in: hub)
      case .report(let losses):
        for loss in losses {
          hub.report(loss.message.diagnostic(loss.isNew ? .batchTooLarge : .peerTooSlow))
        }
      case .close(let error): throw error
      }
    }
  }

  /// Delivers values of a peer; offered values only if the hub remembers none.
  private func deliver(
    _ messages: [ChannelMessage], of number: Int, in hub: ChannelHub
  ) throws(ChannelLinkError) {
    guard let peer = peers[number] else { return }
    var accepted: [BatchEntry] = []
    for message in messages {
      guard let subject = link?.subjects[message.subject] else { continue }
      do {
        for (name, entry) in try subject.decode(message)
        where !message.offers.contains(name) || hub.rememberedEntry(for: entry) == nil {
          accepted.append(entry)
        }
      } catch {
        throw ChannelLinkError(
          .malformed, "the peer sent a value that is no \(message.subject): \(error)")
      }
    }
    if !accepted.isEmpty { hub.send(accepted, excluding: peer) }
    try handle(.delivered, of: number, in: hub)
  }
}

// MARK: - Values of the hub

extension LinkFeed {
  /// Hands values that the hub has sent to all peers. Each value is encoded once.
  func sent(_ entries: [BatchEntry], excluding sender: AnyObject?, in hub: ChannelHub) {
    guard isNeeded else { return hub.stopObservingSends(self) }
    let linked = entries.filter { subjects[ObjectIdentifier($0.address.subject)] != nil }
    guard !linked.isEmpty else { return }
    log.advance()
    guard !peers.isEmpty else { return }
    let messages = messages(for: linked, in: hub)
    guard !messages.isEmpty else { return }
    for (number, peer) in peers {
      // Only frames of the peer end its connection.
      try? handle(peer === sender ? .ordered(messages) : .sent(messages), of: number, in: hub)
    }
  }

  /// The values on the wire, those of one channel together. Values that do not travel are reported.
  private func messages(for entries: [BatchEntry], in hub: ChannelHub) -> [ChannelMessage] {
    var messages: [ChannelMessage] = []
    var indices: [ChannelMessage.Address: Int] = [:]
    var failures: [ChannelDiagnostic] = []
    for entry in entries {
      guard let subject = subjects[ObjectIdentifier(entry.address.subject)] else { continue }
      do {
        guard let message = try subject.encode(entry) else { continue }
        if !LinkFrame.fits(message, maxByteCount: options.maxFrameByteCount) {
          failures.append(message.diagnostic(.tooLargeForLink))
        } else if let index = indices[message.address] {
          messages[index].merge(message)
        } else {
          indices[message.address] = messages.count
          messages.append(message)
        }
      } catch {
        failures.append(
          ChannelDiagnostic(
            kind: .notEncodable, channel: "\(entry.address)", property: "\(entry.value.property)"))
      }
    }
    // Last, because the closure that gets them may send.
    for failure in failures { hub.report(failure) }
    return messages
  }
}

extension ChannelMessage {
  fileprivate func diagnostic(_ kind: ChannelDiagnostic.Kind) -> ChannelDiagnostic {
    ChannelDiagnostic(
      kind: kind, channel: "\(subject) \(id)",
      property: values.keys.sorted().joined(separator: ", "))
  }
}

// MARK: - Feeds of a hub

extension ChannelHub {
  private var feeds: [LinkFeed] { sendObservers.compactMap { $0 as? LinkFeed } }

  /// The feed of a link that runs.
  func feed(of link: ChannelLink) -> LinkFeed? { feeds.first { $0.belongs(to: link) } }

  /// Begins a run of a link.
  ///
  /// - Throws: an error if the hub would not be the center or the end of a star any more.
  func beginRun(of link: ChannelLink, as role: ChannelLinkRole) throws(ChannelLinkError) {
    var feed = feed(of: link)
    if let old = feed, old.role != role, old.runCount == 0 {
      stopObservingSends(old)
      feed = nil
    }
    let new = feed ?? LinkFeed(link, role: role)
    let others = feeds.filter { $0.runCount > 0 && $0.sharesSubjects(with: new) }
    guard others.allSatisfy({ $0.role == .listening && role == .listening }) else {
      throw ChannelLinkError(
        .role,
        "a hub that connects for a subject has no other link for it: let one hub listen, and all others "
          + "connect to it")
    }
    new.runCount += 1
    if feed == nil { sendObservers.append(new) }
  }

  /// Ends a run of a link.
  func endRun(of link: ChannelLink) {
    guard let feed = feed(of: link) else { return }
    feed.runCount -= 1
    if !feed.isNeeded { stopObservingSends(feed) }
  }
}

extension LinkFeed {
  fileprivate func belongs(to link: ChannelLink) -> Bool { self.link === link }
}
