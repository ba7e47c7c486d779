import TandemChannels

extension ChannelLink {
  /// Exchanges values over a connection until it ends, and closes it.
  func exchange(on connection: any ChannelConnection, with peer: LinkPeer) async throws {
    defer { connection.close() }
    let greeting = PeerGreeting()
    try await withTaskCancellationHandler {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await self.write(to: connection, from: peer, after: greeting) }
        group.addTask { try await self.read(from: connection, for: peer, greeting) }
        // Whichever ends first ends the other, which may wait for the connection.
        defer { connection.close() }
        _ = try await group.next()
        connection.close()
        group.cancelAll()
      }
    } onCancel: {
      connection.close()
    }
  }

  // MARK: Writing

  private func write(
    to connection: any ChannelConnection, from peer: LinkPeer, after greeting: PeerGreeting
  ) async throws {
    let counter = await sender.perform { $0.linkClock?.counter }
    try await connection.send(bytes(.hello(counter: counter)))
    try await wait(for: greeting)
    // What waits may get later stamps by the peer's greeting.
    await greeting.untilFollowed()
    for await _ in peer.outbox.news() {
      if Task.isCancelled { return }
      let parcel = peer.outbox.takeAll()
      let bytes = await bytes(of: parcel)
      do {
        if !bytes.isEmpty { try await connection.send(bytes) }
      } catch {
        await reportMissed(peer.outbox.putBack(parcel.batches))
        throw error
      }
      if parcel.hasBacklog {
        await sender.perform { feed(of: $0)?.fill(peer, from: $0) }
      }
    }
  }

  /// Waits until the peer has greeted, at most ``ChannelLinkOptions/maxGreetingWait``.
  private func wait(for greeting: PeerGreeting) async throws {
    let isInTime = await withTaskGroup { group in
      group.addTask {
        await greeting.untilHeard()
        return true
      }
      group.addTask {
        await self.wait(self.options.maxGreetingWait)
        return false
      }
      defer { group.cancelAll() }
      return await group.next() ?? false
    }
    guard isInTime || Task.isCancelled else {
      throw ChannelLinkError(.silent, "the peer has not greeted within \(options.maxGreetingWait)")
    }
  }

  private func bytes(_ frame: LinkFrame) throws -> [UInt8] {
    try frame.bytes(maxByteCount: options.maxFrameByteCount)
  }

  private func bytes(of parcel: LinkOutbox.Parcel) async -> [UInt8] {
    var result: [UInt8] = []
    if let counter = parcel.counter, let bytes = try? bytes(.hello(counter: counter)) {
      result += bytes
    }
    var misfits: [ChannelMessage] = []
    for batch in parcel.batches {
      let packed = LinkFrame.frames(for: batch, maxByteCount: options.maxFrameByteCount)
      for frame in packed.frames { if let bytes = try? bytes(frame) { result += bytes } }
      misfits += packed.misfits
    }
    await report(misfits, .tooLargeForLink)
    return result
  }

  /// Tells the hub what will not be sent for want of room; what it remembers will be, on the next connection.
  private func reportMissed(_ messages: [ChannelMessage]) async {
    guard !messages.isEmpty else { return }
    await report(
      sender.perform { hub in
        messages.filter { message in
          subjects[message.subject].map { !hub.remembers(message, of: $0) } ?? true
        }
      }, .peerTooSlow)
  }

  /// Tells the hub what was not sent.
  private func report(_ messages: [ChannelMessage], _ kind: ChannelDiagnostic.Kind) async {
    guard !messages.isEmpty else { return }
    await sender.perform { hub in
      for message in messages { hub.report(message.diagnostic(kind)) }
    }
  }

  // MARK: Reading

  /// What came in a frame.
  private enum Received: Sendable {
    case hello(UInt64?)
    case values(StampedBatch)
  }

  private func read(
    from connection: any ChannelConnection, for peer: LinkPeer, _ greeting: PeerGreeting
  ) async throws {
    var reader = LinkFrameReader(maxFrameByteCount: options.maxFrameByteCount)
    var hasGreeted = false
    while let bytes = try await connection.receive() {
      let received = try reader.frames(adding: bytes).compactMap(received)
      guard !received.isEmpty else { continue }
      // The hub may take longer than a peer is waited for.
      greeting.isHeard()
      let isFirst = !hasGreeted
      try await sender.perform { hub in
        for received in received { try take(received, for: hub, from: peer) }
        if isFirst { feed(of: hub)?.refresh(peer, from: hub) }
      }
      hasGreeted = true
      greeting.isFollowed()
    }
    guard reader.isComplete else {
      throw ChannelLinkError(.malformed, "the peer ended within a message")
    }
  }

  private func take(
    _ received: Received, for hub: ChannelHub, from peer: LinkPeer
  ) throws(ChannelLinkError) {
    switch received {
    case .hello(let counter?): try hub.hear(counter, from: peer)
    case .hello(nil): break
    case .values(let batch): try hub.receive(batch, from: peer)
    }
  }

  /// What is in a frame, or `nil` if none of its subjects is known here.
  @Sendable private func received(_ frame: LinkFrame) throws -> Received? {
    if case .hello(let counter) = frame { return .hello(counter) }
    var batch = StampedBatch()
    for message in frame.messages {
      guard let subject = subjects[message.subject] else { continue }
      do {
        batch.append(try subject.decode(message))
      } catch {
        throw ChannelLinkError(.malformed, "the peer sent what is no \(message.subject): \(error)")
      }
    }
    return batch.stamps.isEmpty ? nil : .values(batch)
  }
}
