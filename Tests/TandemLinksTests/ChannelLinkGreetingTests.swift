import TandemChannels
import TandemLinks
import TandemRecords
import TestHTTPServer
import Testing

/// A peer that does not greet in time is disconnected; one that has may be silent for as long as it likes.
@Suite(.timeLimit(.minutes(20)))
@MainActor struct ChannelLinkGreetingTests {
  private let hub = ChannelHub()
  private let channel = Channel<LinkedUser>(id: "1")
  private let options = ChannelLinkOptions(handshakeTimeout: .seconds(7))

  /// A link whose handshake times out when `ends` has an element.
  private func link(until ends: AsyncStream<Void>) -> ChannelLink {
    ChannelLink(
      hub, subjects: [linkedUsers], options: options, now: { .now },
      waiting: { [options] duration in
        guard duration == options.handshakeTimeout else { return }
        for await _ in ends { return }
      })
  }

  @Test("a connection on which nothing comes, or half a greeting, is closed")
  func silence() async throws {
    for bytes in [
      [], [0, 0, 0, 9],
      try LinkFrame.hello(.listening(epoch: 1, acknowledged: 0)).bytes(maxByteCount: 100)
        .dropLast(),
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

  @Test(
    "a connection that greeted and is idle loses its place to a new one, one that is not keeps it")
  func idlePlaces() async throws {
    let clock = StandingClock()
    let listener = try SocketListener(at: temporarySocket())
    let options = ChannelLinkOptions(
      maxConnectionCount: 1, maxIdleDuration: .seconds(60), handshakeTimeout: .patient)
    let link = ChannelLink(
      hub, subjects: [linkedUsers], options: options, now: clock.now,
      waiting: { try? await Task.sleep(for: $0) })
    let (breaks, broken) = AsyncStream.makeStream(of: ChannelLinkError.Code?.self)
    let serving = Task { try await link.run(accepting: listener) { broken.yield($0?.code) } }

    /// Connects and greets; returns the connection if it is served.
    func connect() async throws -> SocketConnection? {
      let connection = try await SocketConnection.connect(to: listener.address)
      try? await connection.greet()
      return try? await connection.receive() == nil ? nil : connection
    }
    let first = try #require(try await connect())
    for seconds in [0, 59] {
      clock.move(by: .seconds(seconds))
      #expect(try await connect() == nil, "the first one is not idle for long enough")
    }
    clock.move(by: .seconds(1))
    let second = try #require(try await connect())
    let rest = try? await first.receive()
    #expect((rest ?? nil) == nil, "the first one is closed")
    for await code in breaks {
      #expect(code == .timedOut)
      break
    }
    clock.move(by: .seconds(40))
    try await second.send(.values(LinkValues([], number: 1)))
    #expect(try await second.receive() != nil, "the frame is acknowledged")
    clock.move(by: .seconds(40))
    #expect(try await connect() == nil, "the second one was heard 40 seconds ago")
    clock.move(by: .seconds(20))
    let third = try #require(try await connect())
    first.close()
    third.close()
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
