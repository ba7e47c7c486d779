import Synchronization

/// What waits for a peer: the latest value of each property of each channel.
///
/// Adding never waits. A peer that is slow gets fewer, newer values; one that is away costs at most
/// ``ChannelLinkOptions/maxWaitingChannelCount`` channels' values.
final class LinkOutbox: Sendable {
  struct Address: Hashable {
    var subject: String
    var id: JSONValue
  }

  fileprivate struct State {
    /// Channels in the order in which they began to wait; those that no longer do are skipped.
    var order: [Address] = []
    var first = 0
    var waiting: [Address: ChannelMessage] = [:]
    var bell: AsyncStream<Void>.Continuation?
  }

  private let state = Mutex(State())
  private let maxChannelCount: Int

  init(maxChannelCount: Int) { self.maxChannelCount = max(1, maxChannelCount) }

  /// An element now, and whenever something is added, for the one who empties the outbox from now on.
  func news() -> AsyncStream<Void> {
    let (stream, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    bell.yield()
    state.withLock { $0.bell = bell }
    return stream
  }

  /// Adds values, which take the place of older ones that wait.
  ///
  /// - Returns: what was dropped to make room.
  func add(_ message: ChannelMessage) -> ChannelMessage? {
    let (bell, dropped) = state.withLock { state in
      var dropped: ChannelMessage?
      let address = Address(subject: message.subject, id: message.id)
      if state.waiting[address]?.take(message) == nil {
        if state.waiting.count >= maxChannelCount { dropped = state.dropOldest() }
        state.waiting[address] = message
        state.order.append(address)
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
      messages.filter { message in
        let address = Address(subject: message.subject, id: message.id)
        if let newer = state.waiting[address] {
          state.waiting[address] = message.taking(newer)
          return false
        }
        if state.waiting.count >= maxChannelCount { return true }
        state.waiting[address] = message
        state.order.append(address)
        return false
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
  fileprivate mutating func dropOldest() -> ChannelMessage? {
    let address = order[first]
    let message = waiting.removeValue(forKey: address)
    first += 1
    if first * 2 > order.count {
      order.removeFirst(first)
      first = 0
    }
    return message
  }
}
