/// The link of a hub that connects, over all of its successive connections; see ``LinkSession``.
package struct ConnectingSession: LinkSession, Hashable {
  private enum State {
    /// There is no connection.
    case away
    /// There is a connection, and the peer has not greeted.
    case greeting
    case exchanging
  }

  /// A frame that has been sent and is not acknowledged.
  private struct Frame: Hashable {
    var number: UInt64
    var messages: [ChannelMessage]
  }

  private let client: UInt64
  private let options: ChannelLinkOptions
  private var state = State.away
  private var epoch: UInt64?
  private var sequence: UInt64?
  private var outbox: LinkOutbox
  private var isWriting = false
  private var isReadingMemory = false
  private var needsOffers = false
  /// True once writes were lost. The peer's values for their properties come with the next snapshot.
  private var hasLosses = false
  private var sentFrameCount: UInt64 = 0
  private var unacknowledged: [Frame] = []
  /// The number of the last frame with a write to a property, while frames are unacknowledged.
  private var frameNumbers: [ChannelMessage.Address: [String: UInt64]] = [:]

  /// A session that has had no connection.
  ///
  /// - Parameters:
  ///   - client: a random number that no other client has.
  ///   - maxRememberedValueCount: the number of values that the hub remembers.
  package init(client: UInt64, options: ChannelLinkOptions, maxRememberedValueCount: Int) {
    self.client = client
    self.options = options
    outbox = LinkOutbox(options: options, maxRememberedValueCount: maxRememberedValueCount)
  }

  package mutating func handle(_ event: LinkEvent, log: inout LinkLog) -> [LinkAction] {
    switch (event, state) {
    case (.opened, _):
      state = .greeting
      isWriting = true
      if hasLosses { (sequence, hasLosses) = (nil, false) }
      return [.send([.hello(.connecting(client: client, epoch: epoch, sequence: sequence))])]
    case (.received, .away): return []
    case (.received(.hello(let greeting)), .greeting): return greet(greeting)
    case (.received(.hello), .exchanging): return [.close(.secondGreeting)]
    case (.received(.values), .greeting): return [.close(.valuesBeforeGreeting)]
    case (.received(.values(let values)), .exchanging): return receive(values)
    case (.written, _): isWriting = false
    case (.sent(let messages), _):
      let losses = outbox.add(messages)
      return report(losses) + next()
    // Values of the peer do not wait here.
    case (.ordered, _), (.delivered, _): return []
    case (.memoryRead(let memory), _): return send(memory)
    case (.handshakeTimedOut, .greeting): return [.close(.handshakeTimeout(options))]
    // The greeting was read, or the connection ended, while the time ran out.
    case (.handshakeTimedOut, _): return []
    case (.closed, _):
      state = .away
      isWriting = false
      return []
    }
    return next()
  }

  private mutating func report(_ losses: [LinkOutbox.Loss]) -> [LinkAction] {
    guard !losses.isEmpty else { return [] }
    hasLosses = true
    return [.report(losses)]
  }

  // MARK: Receiving

  private mutating func greet(_ greeting: LinkGreeting) -> [LinkAction] {
    guard case .listening(let epoch, let frameCount) = greeting else {
      return [.close(ChannelLinkError(.role, "the peer connects, too: one of the two must listen"))]
    }
    guard frameCount <= sentFrameCount else { return [.close(.unsentAcknowledged)] }
    let rest = unacknowledged.filter { $0.number > frameCount }.map(\.messages)
    if epoch != self.epoch || rest.joined().contains(where: { !$0.offers.isEmpty }) {
      needsOffers = true
    }
    if epoch != self.epoch { (self.epoch, sequence) = (epoch, nil) }
    let losses = outbox.putBack(rest.map { $0.compactMap(\.withoutOffers) })
    (unacknowledged, frameNumbers, sentFrameCount) = ([], [:], frameCount)
    state = .exchanging
    return report(losses) + next()
  }

  private mutating func receive(_ values: LinkValues) -> [LinkAction] {
    if let number = values.acknowledged {
      guard number <= sentFrameCount else { return [.close(.unsentAcknowledged)] }
      unacknowledged.removeAll { $0.number <= number }
      if unacknowledged.isEmpty { frameNumbers = [:] }
    }
    if let sequence = values.sequence { self.sequence = sequence }
    let news = values.messages.compactMap(withoutPending)
    return (news.isEmpty ? [] : [.deliver(news)]) + next()
  }

  /// The values of a message that no pending write will replace.
  private func withoutPending(_ message: ChannelMessage) -> ChannelMessage? {
    var message = message
    let acknowledged = (unacknowledged.first?.number ?? .max) - 1
    let numbers = frameNumbers[message.address] ?? [:]
    message.remove(
      message.values.keys.filter {
        numbers[$0].map { $0 > acknowledged } ?? false
          || outbox.contains($0, of: message.address)
      })
    return message.values.isEmpty ? nil : message
  }

  // MARK: Sending

  private mutating func next() -> [LinkAction] {
    guard case .exchanging = state, !isWriting, !isReadingMemory, unacknowledged.isEmpty else {
      return []
    }
    isReadingMemory = needsOffers || outbox.needsMemory
    if isReadingMemory { return [.readMemory] }
    return send(outbox.takeAll())
  }

  private mutating func send(_ memory: [ChannelMessage]) -> [LinkAction] {
    isReadingMemory = false
    let (batch, losses) = outbox.takeAll(with: memory, andRest: needsOffers ? .offers : .none)
    needsOffers = false
    return report(losses) + send(batch.isEmpty ? [] : [batch])
  }

  private mutating func send(_ batches: [[ChannelMessage]]) -> [LinkAction] {
    for part in batches.flatMap({
      LinkFrame.parts(of: $0, maxByteCount: options.maxFrameByteCount)
    }) {
      sentFrameCount += 1
      unacknowledged.append(Frame(number: sentFrameCount, messages: part))
      for message in part {
        for name in message.values.keys where !message.offers.contains(name) {
          frameNumbers[message.address, default: [:]][name] = sentFrameCount
        }
      }
    }
    guard !unacknowledged.isEmpty else { return [] }
    isWriting = true
    return [
      .send(unacknowledged.map { .values(LinkValues($0.messages, number: $0.number)) })
    ]
  }
}
