import Synchronization
import TandemChannels

extension ChannelLink {
  /// Exchanges frames with a peer over a connection until it ends, and closes it.
  func exchange(on connection: any ChannelConnection, with peer: Int) async throws {
    defer { connection.close() }
    do {
      try await exchangeFrames(on: connection, with: peer)
    } catch {
      try await handle(.closed, of: peer)
      throw error
    }
    try await handle(.closed, of: peer)
  }

  private func exchangeFrames(on connection: any ChannelConnection, with peer: Int) async throws {
    guard let frames = try await sender.perform({ try $0.feed(of: self)?.open(peer, in: $0) })
    else { return }
    try await withTaskCancellationHandler {
      let greeting = PeerGreeting()
      try await withThrowingTaskGroup(of: Bool.self) { group in
        group.addTask { try await self.write(frames, to: connection, for: peer) }
        group.addTask { try await self.read(from: connection, for: peer, greeting) }
        group.addTask { try await self.timeHandshake(with: peer, greeting) }
        // A task that waits for the connection ends when it is closed.
        defer { connection.close() }
        while let endsConnection = try await group.next(), !endsConnection {}
        connection.close()
        group.cancelAll()
      }
    } onCancel: {
      connection.close()
    }
  }

  /// Lets a peer's session handle an event, where the hub lives.
  private func handle(_ event: LinkEvent, of peer: Int) async throws {
    try await sender.perform { try $0.feed(of: self)?.handle(event, of: peer, in: $0) }
  }

  /// The number of bytes that are written together, about; frames are longer or shorter.
  private static let writeByteCount = 64 << 10

  private func write(
    _ frames: AsyncStream<[LinkFrame]>, to connection: any ChannelConnection, for peer: Int
  ) async throws -> Bool {
    for await frames in frames {
      var bytes: [UInt8] = []
      for frame in frames {
        bytes += try frame.bytes(maxByteCount: options.maxFrameByteCount)
        if bytes.count < Self.writeByteCount { continue }
        try await connection.send(bytes)
        bytes = []
      }
      if !bytes.isEmpty { try await connection.send(bytes) }
      try await handle(.written, of: peer)
    }
    return true
  }

  private func read(
    from connection: any ChannelConnection, for peer: Int, _ greeting: PeerGreeting
  ) async throws -> Bool {
    var reader = LinkFrameReader(maxFrameByteCount: options.maxFrameByteCount)
    while let bytes = try await connection.receive() {
      let frames = try reader.frames(adding: bytes)
      guard !frames.isEmpty else { continue }
      greeting.hasArrived.store(true, ordering: .relaxed)
      try await sender.perform { hub in
        guard let feed = hub.feed(of: self) else { return }
        for frame in frames { try feed.handle(.received(frame), of: peer, in: hub) }
      }
    }
    guard reader.isComplete else {
      throw ChannelLinkError(.malformed, "the peer ended within a message")
    }
    return true
  }

  /// Reports the handshake timeout, unless the peer has greeted: the hub may take longer to handle a greeting
  /// than the peer took to send it.
  private func timeHandshake(with peer: Int, _ greeting: PeerGreeting) async throws -> Bool {
    await wait(options.handshakeTimeout)
    if !Task.isCancelled, !greeting.hasArrived.load(ordering: .relaxed) {
      try await handle(.handshakeTimedOut, of: peer)
    }
    return false
  }
}

/// True once a frame of a peer has been read.
private final class PeerGreeting: Sendable {
  let hasArrived = Atomic(false)
}
