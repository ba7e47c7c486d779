import TandemChannels
import TandemLinks
import TandemRecords
import Testing

/// A peer that does not greet in time is disconnected; one that has may be silent for as long as it likes.
@Suite(.timeLimit(.minutes(10)))
@MainActor struct ChannelLinkGreetingTests {
  private let hub = ChannelHub()
  private let channel = Channel<LinkedUser>(id: "1")
  private let options = ChannelLinkOptions(handshakeTimeout: .seconds(7))

  /// A link whose handshake times out when `ends` has an element.
  private func link(until ends: AsyncStream<Void>, begun: AsyncStream<Void>.Continuation? = nil)
    -> ChannelLink
  {
    ChannelLink(
      hub, subjects: [linkedUsers], options: options, now: { .now },
      waiting: { [options] duration in
        guard duration == options.handshakeTimeout else { return }
        begun?.yield()
        for await _ in ends { return }
      })
  }

  @Test("a connection on which nothing comes, or half a greeting, is closed")
  func silence() async throws {
    for bytes in [
      [], [0, 0, 0, 9], try LinkFrame.hello(.listening(epoch: 1, acknowledged: 0)).bytes(maxByteCount: 100).dropLast(),
    ]
      as [[UInt8]]
    {
      let (ends, end) = AsyncStream.makeStream(of: Void.self)
      let (near, far) = MemoryConnection.pair()
      try await far.send(bytes)
      let link = link(until: ends)
      let task = Task { try await link.run(on: near, as: .listening) }
      end.yield()
      let result = await task.result
      let error = #expect(throws: ChannelLinkError.self) { try result.get() }
      #expect(error?.code == .timedOut)
      let rest = try await far.receive()
      #expect(rest == nil, "the connection is closed")
    }
  }

  @Test("idle connections give their places back")
  func places() async throws {
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let (begins, begun) = AsyncStream.makeStream(of: Void.self)
    let listener = try SocketListener(at: temporarySocket())
    var options = options
    options.maxConnectionCount = 1
    let link = ChannelLink(
      hub, subjects: [linkedUsers], options: options, now: { .now },
      waiting: { _ in
        begun.yield()
        for await _ in ends { return }
      })
    let (breaks, broken) = AsyncStream.makeStream(of: ChannelLinkError.Code?.self)
    let serving = Task { try await link.run(accepting: listener) { broken.yield($0?.code) } }
    let idle = try await SocketConnection.connect(to: listener.address)
    for await _ in begins { break }
    end.yield()
    for await code in breaks {
      #expect(code == .timedOut)
      break
    }
    let next = try await SocketConnection.connect(to: listener.address)
    try await next.greet()
    let hello = try await next.receive()
    #expect(hello != nil)
    idle.close()
    next.close()
    serving.cancel()
    _ = await serving.result
  }

  @Test("a link that connects tells of it, and tries again; a peer that has greeted is left alone")
  func connecting() async throws {
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let (breaks, broken) = AsyncStream.makeStream(of: ChannelLinkError.Code?.self)
    let (connections, connected) = AsyncStream.makeStream(of: MemoryConnection.self)
    let link = link(until: ends)
    let task = Task {
      await link.run(onBreak: { broken.yield($0?.code) }) {
        let (near, far) = MemoryConnection.pair()
        connected.yield(far)
        return near
      }
    }
    var peers = connections.makeAsyncIterator()
    var breakings = breaks.makeAsyncIterator()
    let first = await peers.next()
    end.yield()
    #expect(await breakings.next() == .timedOut)
    hub.send(\.age, 3, on: channel)
    let second = try #require(await peers.next())
    var reader = LinkFrameReader(maxFrameByteCount: 1_000)
    try await second.greetAsListener()
    let written = try await second.values(by: &reader)
    #expect(written?.messages.map(\.values) == [["age": .number("3")]])
    // The time is up, and nothing comes of it.
    end.yield()
    hub.send(\.age, 4, on: channel)
    var acknowledgement = LinkValues([])
    acknowledgement.acknowledged = written?.number
    try await second.send(.values(acknowledgement))
    let more = try await second.messages(by: &reader)
    #expect(more.map(\.values) == [["age": .number("4")]])
    first?.close()
    task.cancel()
    await task.value
  }
}
