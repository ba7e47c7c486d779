/// One connection of a hub that listens; see ``LinkSession`` for the protocol.
package struct ListeningSession: LinkSession, Hashable {
  private enum State {
    /// The peer has not greeted.
    case greeting
    case exchanging
    case ended
  }

  private struct Client: Hashable {
    var number: UInt64
    var connection: UInt64
  }

  private let options: ChannelLinkOptions
  private var state = State.greeting
  private var client: Client?
  /// The number of the last frame of a peer without a client number. It is not remembered: a script does not
  /// connect again to send what was not acknowledged.
  private var scriptFrameCount: UInt64 = 0
  /// The peer's values that wait, all newer than its own writes that have been ordered.
  private var outbox: LinkOutbox
  private var isWriting = false
  private var isReadingMemory = false
  private var needsSnapshot = false
  /// True once values were lost, which the peer does not get before its next connection.
  private var hasLosses = false
  /// The number of the peer's last frame, while it is being ordered.
  private var frameInDelivery: UInt64?
  /// The number of the peer's last frame, if the peer has not got the acknowledgement.
  private var acknowledgement: UInt64?

  /// A session for a new connection.
  ///
  /// - Parameter maxRememberedValueCount: the number of values that the hub remembers.
  package init(options: ChannelLinkOptions, maxRememberedValueCount: Int) {
    self.options = options
    outbox = LinkOutbox(options: options, maxRememberedValueCount: maxRememberedValueCount)
  }

  package mutating func handle(_ event: LinkEvent, log: inout LinkLog) -> [LinkAction] {
    switch (event, state) {
    case (_, .ended), (.opened, _): return []
    case (.received(.hello(let greeting)), _): return greet(greeting, log: &log)
    case (.received(.values(let values)), .exchanging): return order(values, log: &log)
    case (.received(.values), .greeting): return [.close(.valuesBeforeGreeting)]
    case (.written, _): isWriting = false
    case (.sent(let messages), _):
      let losses = outbox.add(messages)
      return report(losses) + next(log)
    case (.ordered(let messages), _):
      for message in messages { outbox.remove(message) }
      // Now, because models of the hub may answer before the delivery is complete.
      acknowledgeFrameInDelivery()
    // Nothing was ordered if the hub knows none of the values.
    case (.delivered, _): acknowledgeFrameInDelivery()
    case (.memoryRead(let memory), _): return send(memory, log: log)
    case (.handshakeTimedOut, .greeting): return [.close(.handshakeTimeout(options))]
    // The greeting was read while the time ran out.
    case (.handshakeTimedOut, .exchanging): break
    case (.closed, _):
      if let client { log.disconnect(client.number, on: client.connection) }
      state = .ended
      return []
    }
    return next(log)
  }

  // MARK: Receiving

  private mutating func greet(_ greeting: LinkGreeting, log: inout LinkLog) -> [LinkAction] {
    guard case .greeting = state else { return [.close(.secondGreeting)] }
    guard case .connecting(let number, let epoch, let sequence) = greeting else {
      return [
        .close(ChannelLinkError(.role, "the peer listens, too: one of the two must connect"))
      ]
    }
    var frameCount: UInt64 = 0
    if let number {
      let known = log.connect(number)
      client = Client(number: number, connection: known.connection)
      frameCount = known.frameCount
    }
    needsSnapshot = epoch != log.epoch || sequence != log.sequence
    state = .exchanging
    isWriting = true
    return [.send([.hello(.listening(epoch: log.epoch, acknowledged: frameCount))])]
  }

  private mutating func order(_ values: LinkValues, log: inout LinkLog) -> [LinkAction] {
    if let number = values.number {
      let isNext =
        client.map { log.accept(number, from: $0.number, on: $0.connection) }
        ?? (number == scriptFrameCount &+ 1)
      scriptFrameCount = number
      guard isNext else {
        return [.close(ChannelLinkError(.malformed, "the peer sent a frame out of order"))]
      }
      frameInDelivery = number
    }
    return [.deliver(values.messages)]
  }

  private mutating func acknowledgeFrameInDelivery() {
    guard let number = frameInDelivery else { return }
    (frameInDelivery, acknowledgement) = (nil, number)
  }

  // MARK: Sending

  private mutating func report(_ losses: [LinkOutbox.Loss]) -> [LinkAction] {
    guard !losses.isEmpty else { return [] }
    hasLosses = true
    return [.report(losses)]
  }

  private mutating func next(_ log: LinkLog) -> [LinkAction] {
    guard case .exchanging = state, !isWriting, !isReadingMemory else { return [] }
    isReadingMemory = needsSnapshot || outbox.needsMemory
    if isReadingMemory { return [.readMemory] }
    return send(outbox.takeAll(), log: log)
  }

  private mutating func send(_ memory: [ChannelMessage], log: LinkLog) -> [LinkAction] {
    isReadingMemory = false
    let (batch, losses) = outbox.takeAll(with: memory, andRest: needsSnapshot ? .values : .none)
    needsSnapshot = false
    return report(losses) + send(batch.isEmpty ? [] : [batch], log: log)
  }

  private mutating func send(_ batches: [[ChannelMessage]], log: LinkLog) -> [LinkAction] {
    guard !batches.isEmpty || acknowledgement != nil else { return [] }
    var parts = batches.flatMap { LinkFrame.parts(of: $0, maxByteCount: options.maxFrameByteCount) }
    if parts.isEmpty { parts = [[]] }
    var frames = parts.map { LinkValues($0) }
    frames[0].acknowledged = acknowledgement
    if !hasLosses { frames[frames.count - 1].sequence = log.sequence }
    acknowledgement = nil
    isWriting = true
    return [.send(frames.map(LinkFrame.values))]
  }
}
