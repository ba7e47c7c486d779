import Synchronization

/// What waits for a peer: the latest value of each property of each channel.
///
/// Adding never waits. A peer that is slow gets fewer, newer values; one that is away costs at most
/// ``ChannelLinkOptions/maxWaitingChannelCount`` channels' values, of about
/// ``ChannelLinkOptions/maxWaitingByteCount`` bytes.
final class LinkOutbox: Sendable {
  fileprivate struct Address: Hashable {
    var subject: String
    var id: JSONValue
  }

  fileprivate struct State {
    /// Channels in the order in which they began to wait.
    var order: [Address] = []
    var first = 0
    var waiting: [Address: ChannelMessage] = [:]
    var byteCount = 0
    var bell: AsyncStream<Void>.Continuation?
  }

  private let state = Mutex(State())
  private let maxChannelCount: Int
  private let maxByteCount: Int

  init(maxChannelCount: Int, maxByteCount: Int) {
    self.maxChannelCount = max(1, maxChannelCount)
    self.maxByteCount = maxByteCount
  }

  /// An element now, and whenever something is added, for the one who empties the outbox from now on.
  func news() -> AsyncStream<Void> {
    let (stream, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    bell.yield()
    state.withLock { $0.bell = bell }
    return stream
  }

  /// Adds values, which take the place of older ones that wait.
  ///
  /// - Returns: what was dropped to make room: the channels that have waited longest, and these values
  ///   themselves if they alone are too large.
  func add(_ message: ChannelMessage) -> [ChannelMessage] {
    let (bell, dropped) = state.withLock { state in
      state.put(message)
      var dropped: [ChannelMessage] = []
      while state.waiting.count > maxChannelCount || state.byteCount > maxByteCount,
        let oldest = state.dropOldest()
      {
        dropped.append(oldest)
      }
      return (state.bell, dropped)
    }
    bell?.yield()
    return dropped
  }

  /// Puts back what could not be sent; what has been added since is newer.
  ///
  /// - Returns: what there was no room for.
  func putBack(_ messages: [ChannelMessage]) -> [ChannelMessage] {
    state.withLock { state in
      messages.compactMap { message in
        let newer = state.waiting[message.address]
        let older = message.removing(newer.map { Array($0.values.keys) } ?? [])
        if older.values.isEmpty { return nil }
        let hasPlace = newer != nil || state.waiting.count < maxChannelCount
        guard hasPlace, state.byteCount + older.waitingByteCount <= maxByteCount else {
          return older
        }
        state.put(older)
        return nil
      }
    }
  }

  /// Takes what waits, those that have waited longest first.
  func takeAll() -> [ChannelMessage] {
    state.withLock { state in
      defer { state = State(bell: state.bell) }
      return state.order[state.first...].compactMap { state.waiting[$0] }
    }
  }
}

extension LinkOutbox.State {
  fileprivate mutating func put(_ message: ChannelMessage) {
    let address = message.address
    let replaced = waiting[address]?.byteCount(of: message.values.keys)
    if waiting[address]?.take(message) == nil {
      waiting[address] = message
      order.append(address)
    }
    byteCount +=
      replaced.map { message.byteCount(of: message.values.keys) - $0 }
      ?? message.waitingByteCount
  }

  fileprivate mutating func dropOldest() -> ChannelMessage? {
    guard first < order.count else { return nil }
    let message = waiting.removeValue(forKey: order[first])
    byteCount -= message?.waitingByteCount ?? 0
    first += 1
    if first * 2 > order.count {
      order.removeFirst(first)
      first = 0
    }
    return message
  }
}

// MARK: - Sizes

extension ChannelMessage {
  fileprivate var address: LinkOutbox.Address { .init(subject: subject, id: id) }

  /// About how many bytes it costs to let the message wait.
  fileprivate var waitingByteCount: Int {
    subject.utf8.count + id.byteCount + byteCount(of: values.keys)
  }

  fileprivate func byteCount(of names: some Sequence<String>) -> Int {
    names.reduce(0) { count, name in
      count + (values[name].map { name.utf8.count + $0.byteCount } ?? 0)
    }
  }
}

extension JSONValue {
  /// What a value takes beside its text: the enumeration, and as much again for a table's place.
  private static let placeByteCount = 32

  fileprivate var byteCount: Int {
    switch self {
    case .null, .bool: return Self.placeByteCount
    case .number(let text), .string(let text): return Self.placeByteCount + text.utf8.count
    case .array(let elements): return elements.reduce(Self.placeByteCount) { $0 + $1.byteCount }
    case .object(let fields):
      return fields.reduce(Self.placeByteCount) { $0 + $1.key.utf8.count + $1.value.byteCount }
    }
  }
}
