import TandemChannels

/// Gives and compares the stamps of the values of a hub, for all of its links.
///
/// Lives where the hub lives.
final class LinkClock {
  private let hub: UInt64
  /// The highest that has been given or seen.
  private(set) var counter: UInt64 = 0
  private var stamps = StampTable()
  /// Whether another clock has been heard of.
  private var hasHeard = false
  /// The digest that was needed last: values of one channel often come together.
  private var latest: (address: ChannelAddress, digest: ChannelDigest)?

  init(hub: UInt64) { self.hub = hub }

  /// Knows as many stamps from now on, if it has not known more.
  func keep(atLeast count: Int) { stamps.maxCount = max(stamps.maxCount, count) }

  /// The stamp of a value that was sent here, or accepted, and is remembered; so it is known.
  func stamp(of entry: BatchEntry) -> LinkStamp { stamps[key(entry)] ?? oldest }

  /// Stamps a value that is sent here, later than all that is known; `nil` once there is no later stamp.
  @discardableResult
  func stampSent(_ entry: BatchEntry) -> LinkStamp? {
    guard counter < LinkStamp.maxCounter else { return nil }
    counter += 1
    let stamp = LinkStamp(counter: counter, hub: hub)
    stamps.set(stamp, for: key(entry))
    return stamp
  }

  /// Stamps a value that was sent before anybody stamped: it is older than all others.
  func stampUnknown(_ entry: BatchEntry) {
    let key = key(entry)
    if stamps[key] == nil { stamps.set(oldest, for: key) }
  }

  /// Takes note of a value from a peer.
  ///
  /// - Returns: whether it is later than what was sent before, so that it is to be delivered.
  func accept(_ entry: BatchEntry, _ stamp: LinkStamp) -> Bool {
    hasHeard = true
    counter = max(counter, stamp.counter)
    let key = key(entry)
    guard stamps.isNew(stamp, for: key) else { return false }
    stamps.set(stamp, for: key)
    return true
  }

  /// Takes note of how far the clock of a peer has come: what is sent here from now on is later.
  ///
  /// What was sent here before any other clock was heard of, as by a process that has started again, may
  /// have been sent later than all that others know, and not be known to them: it is stamped anew. After
  /// that, others may have answered to what is sent here, so stamps remain.
  ///
  /// - Returns: how stamps that were given have changed, if they have.
  func hear(_ other: UInt64) -> Restamping? {
    let (isFirst, last) = (!hasHeard, counter)
    hasHeard = true
    guard other > last else { return nil }
    counter = other
    guard isFirst, last > 0, other + last <= LinkStamp.maxCounter else { return nil }
    counter += last
    let restamping = Restamping(hub: hub, lastCounter: last, distance: other)
    stamps.apply(restamping)
    return restamping
  }

  /// Refuses a counter that is further ahead than a clock can be that counts.
  func check(_ other: UInt64) throws(ChannelLinkError) {
    guard other > counter, other - counter > LinkStamp.maxLead else { return }
    throw ChannelLinkError(.malformed, "the peer's clock is at \(other), far ahead of \(counter)")
  }

  private var oldest: LinkStamp { LinkStamp(counter: 0, hub: hub) }

  private func key(_ entry: BatchEntry) -> StampKey {
    if let latest, latest.address === entry.address {
      return StampKey(latest.digest, entry.value.property)
    }
    let digest = ChannelDigest(entry.address)
    latest = (entry.address, digest)
    return StampKey(digest, entry.value.property)
  }
}

extension BatchEntry {
  var stamp: LinkStamp? {
    get { mark as? LinkStamp }
    set { mark = newValue }
  }
}

extension ChannelHub {
  var linkClock: LinkClock? { linkState as? LinkClock }

  /// The clock of the hub's links, which from now on stamps what is sent of these subjects.
  func startClock(for subjects: some Collection<LinkedSubject>, maxStampCount: Int) {
    let clock = linkClock ?? LinkClock(hub: .random(in: .min ... .max))
    linkState = clock
    clock.keep(atLeast: max(maxStampCount, limits.maxRememberedValueCount))
    for subject in subjects where taps[subject.type]?.first is StampingTap == false {
      for entry in rememberedEntries(of: subject.type) { clock.stampUnknown(entry) }
      taps[subject.type, default: []].insert(StampingTap(clock), at: 0)
    }
  }
}

/// Stamps what is sent on the hub itself, before the taps of peers are told of it.
///
/// It stays when the links have gone, so that one that is made later knows what is newer.
private final class StampingTap: SubjectTap {
  private let clock: LinkClock

  init(_ clock: LinkClock) { self.clock = clock }

  package func finishBatch(in hub: ChannelHub) {}

  package func sent(
    _ entries: inout [BatchEntry], excluding sender: AnyObject?, in hub: ChannelHub
  ) {
    // What a peer sent with a stamp has it.
    for place in entries.indices where entries[place].stamp == nil {
      entries[place].stamp = clock.stampSent(entries[place])
      if entries[place].stamp == nil { hub.report(entries[place].diagnostic(.linkClockAtEnd)) }
    }
  }
}
