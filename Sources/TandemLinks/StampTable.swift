import TandemChannels
import TandemRecords

/// The stamps of the values that were sent last, and how late those were that have been forgotten.
struct StampTable {
  /// How many stamps are always known; never more than twice as many.
  var maxCount = 1
  /// Once it is full, it takes the place of the older ones, which are forgotten: so the stamps of the
  /// `maxCount` values that were sent last are always known.
  private var recent: [StampKey: LinkStamp] = [:]
  private var older: [StampKey: LinkStamp] = [:]
  private var forgotten = ForgottenStamps()

  /// The last stamp of a value, if it is known.
  subscript(key: StampKey) -> LinkStamp? { recent[key] ?? older[key] }

  /// Whether a stamp is later than all that a value may have had: one that is not known counts as
  /// having had the last that was forgotten of the same hub.
  func isNew(_ stamp: LinkStamp, for key: StampKey) -> Bool {
    if let last = self[key] { return stamp > last }
    return !forgotten.covers(stamp)
  }

  mutating func set(_ stamp: LinkStamp, for key: StampKey) {
    recent[key] = stamp
    guard recent.count >= maxCount else { return }
    for (key, stamp) in older where recent[key] == nil { forgotten.add(stamp) }
    older = recent
    recent = [:]
  }

  /// Gives the stamps that a hub has given new ones in their place.
  mutating func apply(_ restamping: Restamping) {
    recent = recent.mapValues(restamping.applied)
    older = older.mapValues(restamping.applied)
    forgotten.apply(restamping)
  }
}

/// Which value a stamp is of: a property of a channel.
///
/// Ids come from peers and may be long, so there is a digest in their place: 128 bits of SipHash, with a
/// key that nobody knows, over what the id is on the wire. Hashing the id itself would trust its type to
/// hash all of it.
struct StampKey: Hashable {
  fileprivate var channel: ChannelDigest
  fileprivate var property: AnyKeyPath

  init(_ channel: ChannelDigest, _ property: AnyKeyPath) {
    self.channel = channel
    self.property = property
  }
}

/// Which channel it is, in 16 bytes.
struct ChannelDigest: Hashable {
  private var halves: SIMD2<Int>

  init(_ address: ChannelAddress) {
    let id = address.id
    let text = (id as? any Encodable).flatMap { try? JSONValue(encoding: $0).description }
    halves = [0, 1]
    for index in 0..<2 {
      var hasher = Hasher()
      hasher.combine(index)
      hasher.combine(ObjectIdentifier(address.subject))
      hasher.combine(ObjectIdentifier(type(of: id as Any)))
      // An id that cannot be encoded is never on the wire.
      if let text { hasher.combine(text) } else { hasher.combine(AnyHashable(id)) }
      halves[index] = hasher.finalize()
    }
  }
}

/// How late the stamps were that have been forgotten, by the hub that gave them: each hub's stamps rise,
/// so whatever it sends later is later than these.
struct ForgottenStamps {
  private var counters: [UInt64: UInt64] = [:]
  /// Of all other hubs together.
  private var rest: UInt64?

  /// How many hubs are told apart. Each start of a process makes a new one; beyond, the half with the
  /// lowest counters is taken together.
  static let maxHubCount = 1024

  /// Whether no less late a stamp of the same hub has been forgotten.
  func covers(_ stamp: LinkStamp) -> Bool {
    guard let last = counters[stamp.hub] ?? rest else { return false }
    return stamp.counter <= last
  }

  mutating func add(_ stamp: LinkStamp) {
    let last = counters[stamp.hub] ?? rest ?? 0
    counters[stamp.hub] = max(last, stamp.counter)
    guard counters.count > Self.maxHubCount else { return }
    let ordered = counters.sorted { $0.value < $1.value }
    let (lower, higher) = (ordered.prefix(ordered.count / 2), ordered.dropFirst(ordered.count / 2))
    rest = lower.last.map { max($0.value, rest ?? 0) }
    counters = Dictionary(uniqueKeysWithValues: higher.map { ($0.key, $0.value) })
  }

  mutating func apply(_ restamping: Restamping) {
    guard let last = counters[restamping.hub] else { return }
    counters[restamping.hub] =
      restamping.applied(to: LinkStamp(counter: last, hub: restamping.hub)).counter
  }
}
