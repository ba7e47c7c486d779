import Synchronization

/// What waits for a peer: the latest value of each property of each channel.
///
/// They are sent in the order in which they were added, a newer value in the place of its own, not of the
/// one that it replaces: so the stamps of each hub rise on the way to every other one, and who forgets
/// them in that order takes nothing new for old.
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
    struct Place {
      var address: Address
      var number: UInt64
    }

    /// The channels that wait in the order in which they were last added to; a place whose number is not
    /// the one that the channel has now is an earlier one.
    var order: [Place] = []
    var first = 0
    var waiting: [Address: ChannelMessage] = [:]
    var numbers: [Address: UInt64] = [:]
    var lastNumber: UInt64 = 0
    var byteCount = 0
    /// How far the hub's clock has come, if the peer has not been told.
    var counter: UInt64?
    var restamping: Restamping?
    var bell: AsyncStream<Void>.Continuation?
  }

  /// What is to be sent.
  struct Parcel: Equatable {
    var counter: UInt64?
    var messages: [ChannelMessage] = []
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

  /// Lets the peer know how far the hub's clock has come.
  func tell(_ counter: UInt64) {
    state.withLock { state in
      state.counter = counter
      return state.bell
    }?.yield()
  }

  /// Gives what waits, or is put back, new stamps.
  func apply(_ restamping: Restamping) { state.withLock { $0.restamping = restamping } }

  /// Adds values, which take the place of older ones that wait.
  ///
  /// - Returns: what was dropped to make room: the channels that have waited longest, and these values
  ///   themselves, and nothing else, if they alone are too large.
  func add(_ message: ChannelMessage) -> [ChannelMessage] {
    guard message.waitingByteCount <= maxByteCount else { return [message] }
    let (bell, dropped) = state.withLock { state in
      var dropped = state.removeOld(from: message, maxByteCount: maxByteCount)
      state.put(message)
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
      // In front of all that has been added since.
      let order = state.order[state.first...]
      (state.order, state.first) = ([], 0)
      defer { state.order += order }
      return messages.compactMap { message in
        let newer = state.waiting[message.address]
        var older = message
        if let newer { older.remove(newer.values.keys) }
        if older.values.isEmpty { return nil }
        let hasPlace = newer != nil || state.waiting.count < maxChannelCount
        guard hasPlace, state.byteCount + older.waitingByteCount <= maxByteCount else {
          return older
        }
        if newer == nil {
          state.put(older)
        } else {
          state.merge(older)
        }
        return nil
      }
    }
  }

  /// Takes what waits, those that have waited longest first.
  func takeAll() -> Parcel {
    state.withLock { state in
      defer { state = State(restamping: state.restamping, bell: state.bell) }
      var messages = state.order[state.first...].filter(state.isLast)
        .compactMap { state.waiting[$0.address] }
      if let restamping = state.restamping {
        for place in messages.indices {
          messages[place].stamps = messages[place].stamps.mapValues(restamping.applied)
        }
      }
      return Parcel(counter: state.counter, messages: messages)
    }
  }
}

extension LinkOutbox.State {
  /// Lets a message wait behind all others, together with what waits of its channel.
  fileprivate mutating func put(_ message: ChannelMessage) {
    merge(message)
    lastNumber += 1
    numbers[message.address] = lastNumber
    order.append(Place(address: message.address, number: lastNumber))
    // A channel may be added to without end while nothing is taken.
    guard order.count > 2 * waiting.count + 32 else { return }
    order = order[first...].filter(isLast)
    first = 0
  }

  /// Lets a message wait where its channel does, if it does.
  fileprivate mutating func merge(_ message: ChannelMessage) {
    let address = message.address
    let replaced = waiting[address]?.byteCount(of: message.values.keys)
    if waiting[address]?.take(message) == nil { waiting[address] = message }
    byteCount +=
      replaced.map { message.byteCount(of: message.values.keys) - $0 }
      ?? message.waitingByteCount
  }

  fileprivate func isLast(_ place: Place) -> Bool { numbers[place.address] == place.number }

  /// Makes a message's channel small enough for it, if with all that waits of it it would not be.
  fileprivate mutating func removeOld(
    from message: ChannelMessage, maxByteCount: Int
  ) -> [ChannelMessage] {
    guard var old = waiting[message.address] else { return [] }
    old.remove(message.values.keys)
    guard !old.values.isEmpty,
      old.byteCount(of: old.values.keys) + message.waitingByteCount > maxByteCount
    else { return [] }
    byteCount -= old.byteCount(of: old.values.keys)
    waiting[message.address]?.remove(old.values.keys)
    return [old]
  }

  fileprivate mutating func dropOldest() -> ChannelMessage? {
    while first < order.count {
      let place = order[first]
      first += 1
      guard isLast(place) else { continue }
      numbers[place.address] = nil
      let message = waiting.removeValue(forKey: place.address)
      byteCount -= message?.waitingByteCount ?? 0
      if first * 2 > order.count {
        order.removeFirst(first)
        first = 0
      }
      return message
    }
    return nil
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
