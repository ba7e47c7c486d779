import TandemRecords

/// The values that wait for one peer: the latest of each property of each channel.
///
/// A newer value replaces an older one, and is sent in its own turn, not in that of the older one. Values that
/// were added together are taken together: if a value has replaced one of an earlier batch, all batches from
/// that one on are taken as one, because the earlier batch would be incomplete otherwise.
///
/// **Limits.** At most ``ChannelLinkOptions/maxWaitingChannelCount`` channels wait, or those of the last batch if
/// they are more, with ``ChannelLinkOptions/maxWaitingByteCount`` bytes. Beyond that, the channel that has
/// waited longest is dropped. If the hub remembers no fewer values than channels may wait, the outbox
/// keeps the names of the dropped values, at most as many as the hub remembers, and the values are read
/// from the hub's memory later. Otherwise they are lost, and reported.
package struct LinkOutbox: Hashable, Sendable {
  private struct Waiting: Hashable {
    var message: ChannelMessage
    /// The first and the last batch of which a value waits here, or did before it was replaced.
    var firstBatch: Int
    var lastBatch: Int
  }

  private struct Dropped: Hashable {
    var names: Set<String>
    var batch: Int
  }

  /// Channels in the order of their last batches. A turn is outdated if its channel has a later one or none.
  private struct Turns: Hashable {
    struct Turn: Hashable {
      var address: ChannelMessage.Address
      var batch: Int
    }

    private var turns: [Turn] = []
    private var firstIndex = 0

    /// The number of turns that are kept beyond twice as many as there are channels.
    static let spareCount = 32

    /// The number of turns in memory.
    var count: Int { turns.count }

    /// Adds a turn; removes the outdated ones from time to time.
    mutating func append(_ turn: Turn, channelCount: Int, isCurrent: (Turn) -> Bool) {
      turns.append(turn)
      guard turns.count > 2 * channelCount + Self.spareCount else { return }
      turns = turns[firstIndex...].filter(isCurrent)
      firstIndex = 0
    }

    mutating func removeFirst(where isCurrent: (Turn) -> Bool) -> ChannelMessage.Address? {
      while firstIndex < turns.count {
        firstIndex += 1
        if isCurrent(turns[firstIndex - 1]) { return turns[firstIndex - 1].address }
      }
      return nil
    }

    mutating func removeAll() -> ArraySlice<Turn> {
      defer { self = Turns() }
      return turns[firstIndex...]
    }
  }

  /// A value that will not be sent.
  package struct Loss: Hashable, Sendable {
    package var message: ChannelMessage
    /// True if the value was added just now, so that its batch is too large, however fast the peer is.
    package var isNew: Bool
  }

  private let maxChannelCount: Int
  private let maxByteCount: Int
  private let maxDroppedValueCount: Int
  private var waiting: [ChannelMessage.Address: Waiting] = [:]
  private var order = Turns()
  private var byteCount = 0
  private var lastBatch = 0
  /// The names of the values that are to be read from the hub's memory.
  private var dropped: [ChannelMessage.Address: Dropped] = [:]
  /// The channels in the order in which they were dropped.
  private var dropOrder = Turns()
  private var droppedValueCount = 0

  package init(options: ChannelLinkOptions, maxRememberedValueCount: Int) {
    maxChannelCount = max(1, options.maxWaitingChannelCount)
    maxByteCount = options.maxWaitingByteCount
    maxDroppedValueCount =
      maxRememberedValueCount >= options.maxWaitingChannelCount ? maxRememberedValueCount : 0
  }

  /// True if all that is left has to be read from the hub's memory.
  var needsMemory: Bool { waiting.isEmpty && !dropped.isEmpty }

  /// The number of channels of which the outbox keeps the order, those that do not wait any more included.
  var turnCount: Int { order.count + dropOrder.count }

  /// True if a value of a property waits, or is to be read from the hub's memory.
  func contains(_ name: String, of address: ChannelMessage.Address) -> Bool {
    waiting[address]?.message.values[name] != nil || dropped[address]?.names.contains(name) == true
  }
}

// MARK: - Adding

extension LinkOutbox {
  /// Adds values that were sent together, one message for each channel.
  ///
  /// - Returns: the values that are lost.
  /// - Complexity: O(values of the batch), amortized.
  package mutating func add(_ batch: [ChannelMessage]) -> [Loss] {
    let maxCount = max(maxChannelCount, batch.count)
    var losses: [Loss] = []
    lastBatch += 1
    for message in batch {
      forgetDropped(message)
      guard message.waitingByteCount <= maxByteCount else {
        remove(message)
        losses += drop(message, isNew: true)
        continue
      }
      losses += put(message)
      while waiting.count > maxCount || byteCount > maxByteCount, let oldest = removeOldest() {
        losses += drop(oldest.message, isNew: oldest.lastBatch == lastBatch)
      }
    }
    return losses
  }

  /// Adds batches that are older than all that waits.
  ///
  /// - Returns: the values that are lost.
  mutating func putBack(_ batches: [[ChannelMessage]]) -> [Loss] {
    guard !batches.isEmpty else { return [] }
    let newer = takeAll()
    return (batches + newer).flatMap { add($0) }
  }

  private mutating func put(_ message: ChannelMessage) -> [Loss] {
    let address = message.address
    var losses: [Loss] = []
    if var old = waiting.removeValue(forKey: address) {
      byteCount -= old.message.waitingByteCount
      old.message.remove(message.values.keys)
      if old.message.waitingByteCount + message.waitingByteCount > maxByteCount {
        losses = drop(old.message, isNew: false)
        old.message.remove(Array(old.message.values.keys))
      }
      old.message.merge(message)
      old.lastBatch = lastBatch
      waiting[address] = old
    } else {
      waiting[address] = Waiting(message: message, firstBatch: lastBatch, lastBatch: lastBatch)
    }
    byteCount += waiting[address]?.message.waitingByteCount ?? 0
    order.append(.init(address: address, batch: lastBatch), channelCount: waiting.count) {
      waiting[$0.address]?.lastBatch == $0.batch
    }
    return losses
  }

  private mutating func removeOldest() -> Waiting? {
    guard
      let address = order.removeFirst(where: { waiting[$0.address]?.lastBatch == $0.batch }),
      let oldest = waiting.removeValue(forKey: address)
    else { return nil }
    byteCount -= oldest.message.waitingByteCount
    return oldest
  }

  /// Keeps the names of values that are to be read from memory.
  ///
  /// Beyond the number of values that the hub remembers, the names that were dropped first are removed: the hub
  /// has forgotten these values, because all others were sent later.
  ///
  /// - Returns: the values that are lost.
  private mutating func drop(_ message: ChannelMessage, isNew: Bool) -> [Loss] {
    guard maxDroppedValueCount > 0 else {
      return message.values.isEmpty ? [] : [Loss(message: message, isNew: isNew)]
    }
    let names = (dropped[message.address]?.names ?? []).union(message.values.keys)
    droppedValueCount += names.count - (dropped[message.address]?.names.count ?? 0)
    dropped[message.address] = Dropped(names: names, batch: lastBatch)
    dropOrder.append(.init(address: message.address, batch: lastBatch), channelCount: dropped.count)
    {
      dropped[$0.address]?.batch == $0.batch
    }
    var losses: [Loss] = []
    while droppedValueCount > maxDroppedValueCount,
      let address = dropOrder.removeFirst(where: { dropped[$0.address]?.batch == $0.batch })
    {
      losses += forget(address).map { [$0] } ?? []
    }
    return losses
  }

  /// Removes the names of dropped values of a channel.
  private mutating func forget(_ address: ChannelMessage.Address) -> Loss? {
    guard let names = dropped.removeValue(forKey: address)?.names else { return nil }
    droppedValueCount -= names.count
    return Loss(
      message: ChannelMessage(
        subject: address.subject, id: address.id,
        values: Dictionary(uniqueKeysWithValues: names.map { ($0, .null) })), isNew: false)
  }

  private mutating func forgetDropped(_ message: ChannelMessage) {
    guard var known = dropped[message.address] else { return }
    let count = known.names.count
    known.names.subtract(message.values.keys)
    droppedValueCount -= count - known.names.count
    dropped[message.address] = known.names.isEmpty ? nil : known
  }

  /// Removes values that wait.
  mutating func remove(_ message: ChannelMessage) {
    forgetDropped(message)
    guard var old = waiting.removeValue(forKey: message.address) else { return }
    byteCount -= old.message.waitingByteCount
    old.message.remove(message.values.keys)
    guard !old.message.values.isEmpty else { return }
    byteCount += old.message.waitingByteCount
    waiting[message.address] = old
  }
}

// MARK: - Taking

extension LinkOutbox {
  /// Takes all values that wait, in batches that are not cut, least recently added first.
  package mutating func takeAll() -> [[ChannelMessage]] {
    let entries = order.removeAll().compactMap { turn in
      waiting[turn.address].flatMap { $0.lastBatch == turn.batch ? $0 : nil }
    }
    (waiting, byteCount) = ([:], 0)
    var batches: [[ChannelMessage]] = []
    var batch: [ChannelMessage] = []
    var firstBatch = Int.max
    for index in entries.indices.reversed() {
      batch.append(entries[index].message)
      firstBatch = min(firstBatch, entries[index].firstBatch)
      guard index == 0 || entries[index - 1].lastBatch < firstBatch else { continue }
      batches.append(batch.reversed())
      batch = []
    }
    return batches.reversed()
  }

  /// The treatment of remembered values that are neither in the outbox nor dropped.
  enum Rest {
    case none, values, offers
  }

  /// Takes all values that wait, those that were dropped, and possibly the rest of the hub's memory, as one
  /// batch with one message for each channel.
  ///
  /// - Returns: also the dropped values that the hub has forgotten.
  mutating func takeAll(
    with memory: [ChannelMessage], andRest rest: Rest
  ) -> (batch: [ChannelMessage], losses: [Loss]) {
    let own = Dictionary(uniqueKeysWithValues: waiting.map { ($0, $1.message) })
    var batch: [ChannelMessage] = []
    var indices: [ChannelMessage.Address: Int] = [:]
    func add(_ message: ChannelMessage) {
      guard !message.values.isEmpty else { return }
      if let index = indices[message.address] { return batch[index].merge(message) }
      indices[message.address] = batch.count
      batch.append(message)
    }
    for message in memory {
      var message = message
      if let own = own[message.address] { message.remove(own.values.keys) }
      let names = dropped[message.address]?.names ?? []
      switch rest {
      case .none: message.remove(message.values.keys.filter { !names.contains($0) })
      case .values: break
      case .offers: message.offers = Set(message.values.keys).subtracting(names)
      }
      forgetDropped(message)
      add(message)
    }
    for message in takeAll().joined() { add(message) }
    let losses = dropOrder.removeAll().compactMap { forget($0.address) }
    return (batch, losses)
  }
}
