/// The stamps of the values that were sent last on a hub, shared by its links.
///
/// Lives where the hub lives.
final class LinkClock {
  private struct Key: Hashable {
    var address: ChannelAddress
    var property: AnyKeyPath

    init(_ entry: BatchEntry) { (address, property) = (entry.address, entry.value.property) }
  }

  private let hub: UInt64
  private var counter: UInt64 = 0
  /// Once it is full, it takes the place of the older ones, which are forgotten: so the stamps of the
  /// `maxCount` values that were sent last are always known, and never more than twice as many.
  private var recent: [Key: LinkStamp] = [:]
  private var older: [Key: LinkStamp] = [:]
  private var maxCount = 1

  init(hub: UInt64) { self.hub = hub }

  /// Knows as many stamps from now on, if it has not known more.
  func keep(atLeast count: Int) { maxCount = max(maxCount, count) }

  /// The stamp of a value that was sent here, or accepted. One that was forgotten since counts as sent
  /// now.
  func stamp(of entry: BatchEntry) -> LinkStamp { known(Key(entry)) ?? stampSent(entry) }

  /// Stamps a value that is sent here, later than all that is known.
  @discardableResult
  func stampSent(_ entry: BatchEntry) -> LinkStamp {
    counter = min(counter + 1, LinkStamp.maxCounter)
    let stamp = LinkStamp(counter: counter, hub: hub)
    set(stamp, for: Key(entry))
    return stamp
  }

  /// Stamps a value that was sent before anybody stamped: it is older than all others.
  func stampUnknown(_ entry: BatchEntry) {
    let key = Key(entry)
    if known(key) == nil { set(LinkStamp(counter: 0, hub: hub), for: key) }
  }

  /// Takes note of a value from a peer; one without a stamp counts as sent here.
  ///
  /// - Returns: whether it is later than what was sent before, so that it is to be delivered.
  func accept(_ entry: BatchEntry, _ stamp: LinkStamp?) -> Bool {
    guard let stamp else {
      stampSent(entry)
      return true
    }
    counter = max(counter, stamp.counter)
    let key = Key(entry)
    if let known = known(key), stamp <= known { return false }
    set(stamp, for: key)
    return true
  }

  private func known(_ key: Key) -> LinkStamp? { recent[key] ?? older[key] }

  private func set(_ stamp: LinkStamp, for key: Key) {
    recent[key] = stamp
    guard recent.count >= maxCount else { return }
    older = recent
    recent = [:]
  }
}

extension ChannelHub {
  /// The clock of the hub's links, which from now on stamps what is sent of these subjects.
  func startClock(for subjects: some Collection<LinkedSubject>, maxStampCount: Int) {
    let clock = linkClock ?? LinkClock(hub: .random(in: .min ... .max))
    linkClock = clock
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

  override func sent(_ entries: [BatchEntry], excluding sender: AnyObject?, in hub: ChannelHub) {
    // What a peer sent has its stamp.
    if sender is LinkPeer { return }
    for entry in entries { clock.stampSent(entry) }
  }
}
