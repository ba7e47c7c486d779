import Synchronization
import TandemChannels

/// What waits for a peer: the latest value of each property of each channel.
///
/// They are sent in the order in which they were added, a newer value in the place of its own, not of the
/// one that it replaces: so the stamps of each hub rise on the way to every other one, and who forgets
/// them in that order takes nothing new for old.
///
/// What was added together is taken together. Where a value has taken the place of one of an earlier
/// batch, all from that batch on are: without it, what is left of the batch would be half of it.
///
/// Adding never waits. A peer that is slow gets fewer, newer values; one that is away costs at most
/// ``ChannelLinkOptions/maxWaitingChannelCount`` channels' values, or those of the last batch, if they are
/// more, of about ``ChannelLinkOptions/maxWaitingByteCount`` bytes.
final class LinkOutbox: Sendable {
  fileprivate struct Waiting {
    var message: ChannelMessage
    /// The first batch of which a value waits here or did, before it was replaced; and the last.
    var firstBatch: Int
    var lastBatch: Int
  }

  fileprivate struct State {
    var queue = LatestQueue<ChannelMessage.Address, Waiting>()
    var byteCount = 0
    /// The numbers of the batches since the outbox was emptied last: what was put back has those below 0.
    var lowestBatch = 0
    var lastBatch = 0
    /// How far the hub's clock has come, if the peer has not been told.
    var counter: UInt64?
    var hasBacklog = false
    var restamping: Restamping?
    var bell: AsyncStream<Void>.Continuation?
  }

  /// What is to be sent.
  struct Parcel: Equatable {
    var counter: UInt64?
    /// The values that are to arrive together.
    var batches: [[ChannelMessage]] = []
    /// Whether the hub has more for the peer once this has been sent.
    var hasBacklog = false
  }

  /// What was dropped.
  struct Loss: Equatable {
    var message: ChannelMessage
    /// Whether it was to be added just now, and is not one that had waited.
    var isNew: Bool
  }

  private let state = Mutex(State())
  private let maxChannelCount: Int
  private let maxByteCount: Int

  init(maxChannelCount: Int, maxByteCount: Int) {
    self.maxChannelCount = max(1, maxChannelCount)
    self.maxByteCount = maxByteCount
  }

  /// Whether no values wait here.
  var isEmpty: Bool { state.withLock { $0.queue.isEmpty } }

  /// How much more may wait here.
  struct Room {
    var channelCount: Int
    var byteCount: Int
    /// Whether nothing waits.
    var isAll: Bool
  }

  var room: Room {
    state.withLock { state in
      Room(
        channelCount: max(0, maxChannelCount - state.queue.count),
        byteCount: max(0, maxByteCount - state.byteCount), isAll: state.queue.isEmpty)
    }
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

  /// Takes note of whether the hub has more for the peer than waits here.
  func setBacklog(_ hasBacklog: Bool) {
    state.withLock { state in
      state.hasBacklog = hasBacklog
      return hasBacklog ? state.bell : nil
    }?.yield()
  }

  /// Gives what waits, or is put back, new stamps.
  func apply(_ restamping: Restamping) { state.withLock { $0.restamping = restamping } }
}

// MARK: - Adding

extension LinkOutbox {
  /// Adds values that were sent together, one message for each channel, which take the place of older ones
  /// that wait.
  ///
  /// - Returns: what was dropped to make room: the channels that have waited longest, and messages that
  ///   alone are too large.
  func add(_ batch: [ChannelMessage]) -> [Loss] {
    let maxCount = max(maxChannelCount, batch.count)
    let (bell, losses) = state.withLock { state in
      var losses: [Loss] = []
      state.lastBatch += 1
      for message in batch {
        guard message.waitingByteCount <= maxByteCount else {
          losses.append(Loss(message: message, isNew: true))
          continue
        }
        losses += state.removeOld(from: message, maxByteCount: maxByteCount)
        state.put(message)
        while state.queue.count > maxCount || state.byteCount > maxByteCount,
          let oldest = state.dropOldest()
        {
          losses.append(oldest)
        }
      }
      return (state.bell, losses)
    }
    bell?.yield()
    return losses
  }

  /// Adds values as ``add(_:)`` does if nothing is dropped for them; otherwise none of them.
  ///
  /// - Returns: whether they were added.
  func addIfRoom(for batch: [ChannelMessage]) -> Bool {
    let (bell, isAdded) = state.withLock { state in
      let newCount = batch.count { state.queue[$0.address] == nil }
      let byteCount = batch.reduce(state.byteCount) { $0 + $1.waitingByteCount }
      guard state.queue.count + newCount <= maxChannelCount, byteCount <= maxByteCount else {
        return (nil as AsyncStream<Void>.Continuation?, false)
      }
      state.lastBatch += 1
      for message in batch { state.put(message) }
      return (state.bell, true)
    }
    bell?.yield()
    return isAdded
  }

  /// Removes values that wait, whatever they are.
  func remove(_ message: ChannelMessage) { state.withLock { $0.remove(message) } }

  /// Puts back what could not be sent; what has been added since is newer.
  ///
  /// - Returns: what there was no room for.
  func putBack(_ batches: [[ChannelMessage]]) -> [ChannelMessage] {
    state.withLock { state in
      state.lowestBatch -= batches.count
      var losses: [ChannelMessage] = []
      var returned: [(key: ChannelMessage.Address, value: Waiting)] = []
      let numbered = zip(state.lowestBatch..., batches).flatMap { number, batch in
        batch.map { (number, $0) }
      }
      for (number, message) in numbered {
        let hasRoom = state.byteCount + message.waitingByteCount <= maxByteCount
        if state.queue[message.address] != nil {
          losses += state.join(message, from: number, maxByteCount: maxByteCount)
        } else if hasRoom, state.queue.count + returned.count < maxChannelCount {
          state.byteCount += message.waitingByteCount
          let waiting = Waiting(message: message, firstBatch: number, lastBatch: number)
          returned.append((message.address, waiting))
        } else {
          losses.append(message)
        }
      }
      // In front of all that has been added since.
      state.queue.prepend(returned)
      return losses
    }
  }

  /// Takes what waits, those that have waited longest first.
  func takeAll() -> Parcel {
    state.withLock { state in
      defer { state = State(restamping: state.restamping, bell: state.bell) }
      return Parcel(
        counter: state.counter, batches: state.takeBatches(), hasBacklog: state.hasBacklog)
    }
  }
}

extension LinkOutbox.State {
  /// Lets a message wait behind all others, together with what waits of its channel.
  fileprivate mutating func put(_ message: ChannelMessage) {
    var (added, replaced) = (message.waitingByteCount, 0)
    queue.append(
      .init(message: message, firstBatch: lastBatch, lastBatch: lastBatch), for: message.address
    ) { old, new in
      added = message.byteCount(of: message.values.keys)
      replaced = old.message.byteCount(of: message.values.keys)
      old.message.take(new.message)
      old.lastBatch = new.lastBatch
    }
    byteCount += added - replaced
  }

  /// Adds values to newer ones that wait of their channel, where these do. What is left of their batch is
  /// to arrive together with what has replaced some of it.
  ///
  /// - Returns: what there was no room for.
  fileprivate mutating func join(
    _ message: ChannelMessage, from batch: Int, maxByteCount: Int
  ) -> [ChannelMessage] {
    var older = message
    let room = maxByteCount - byteCount
    var added = 0
    queue.update(message.address) { waiting in
      older.remove(waiting.message.values.keys)
      waiting.firstBatch = min(waiting.firstBatch, batch)
      let count = older.byteCount(of: older.values.keys)
      guard count <= room else { return true }
      added = count
      waiting.message.take(older)
      older.values = [:]
      return true
    }
    byteCount += added
    return older.values.isEmpty ? [] : [older]
  }

  fileprivate mutating func remove(_ message: ChannelMessage) {
    var removed = 0
    queue.update(message.address) { waiting in
      let before = waiting.message.waitingByteCount
      waiting.message.remove(message.values.keys)
      let isEmpty = waiting.message.values.isEmpty
      removed = before - (isEmpty ? 0 : waiting.message.waitingByteCount)
      return !isEmpty
    }
    byteCount -= removed
  }

  /// Makes a message's channel small enough for it, if with all that waits of it it would not be.
  fileprivate mutating func removeOld(
    from message: ChannelMessage, maxByteCount: Int
  ) -> [LinkOutbox.Loss] {
    guard var old = queue[message.address]?.message else { return [] }
    old.remove(message.values.keys)
    guard !old.values.isEmpty,
      old.byteCount(of: old.values.keys) + message.waitingByteCount > maxByteCount
    else { return [] }
    remove(old)
    return [.init(message: old, isNew: false)]
  }

  fileprivate mutating func dropOldest() -> LinkOutbox.Loss? {
    guard let waiting = queue.removeFirst() else { return nil }
    byteCount -= waiting.message.waitingByteCount
    return .init(message: waiting.message, isNew: waiting.lastBatch == lastBatch)
  }

  /// What waits, cut where no batch is cut.
  fileprivate mutating func takeBatches() -> [[ChannelMessage]] {
    let waiting = queue.removeAll()
    var batches: [[ChannelMessage]] = []
    var batch: [ChannelMessage] = []
    var firstBatch = Int.max
    for place in waiting.indices.reversed() {
      batch.append(restamped(waiting[place].message))
      firstBatch = min(firstBatch, waiting[place].firstBatch)
      guard place == 0 || waiting[place - 1].lastBatch < firstBatch else { continue }
      batches.append(batch.reversed())
      batch = []
    }
    return batches.reversed()
  }

  private func restamped(_ message: ChannelMessage) -> ChannelMessage {
    guard let restamping else { return message }
    var message = message
    message.stamps = message.stamps.mapValues(restamping.applied)
    return message
  }
}
