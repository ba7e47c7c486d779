import TandemChannels
import TandemLinks
import Testing

/// A hub that was started again, and has forgotten how far its clock had come, is heard all the same.
@Suite(.timeLimit(.minutes(10)))
@MainActor struct ChannelLinkRestartTests {
  let channel = Channel<LinkedUser>(id: "1")

  private func hub(remembers: Bool = false) -> ChannelHub {
    ChannelHub(limits: ChannelLimits(maxRememberedValueCount: remembers ? 10 : 0))
  }

  private func link(_ hub: ChannelHub) -> ChannelLink {
    ChannelLink(hub, subjects: [linkedUsers], options: .patient)
  }

  /// Joins two hubs while `body` runs; both links are attached when it begins.
  private func joined(
    _ first: ChannelLink, _ second: ChannelLink, _ body: () async throws -> Void
  ) async rethrows {
    let (near, far) = MemoryConnection.pair()
    try await running([(first, near), (second, far)], body)
  }

  /// A link whose hub has five values of another that has gone.
  private func linkAfterPredecessor(of hub: ChannelHub) async -> ChannelLink {
    let link = link(hub)
    var ages = hub.values(of: \LinkedUser.age, on: channel).makeAsyncIterator()
    let predecessor = self.hub()
    await joined(self.link(predecessor), link) {
      for age in 1...5 {
        predecessor.send(\.age, age, on: channel)
        await expect(age, from: &ages)
      }
    }
    return link
  }

  @Test("what it sends arrives", arguments: [true, false])
  func sending(remembers: Bool) async {
    let (hub, other) = (hub(remembers: remembers), hub(remembers: remembers))
    let otherLink = await linkAfterPredecessor(of: other)
    var ages = other.values(of: \LinkedUser.age, on: channel, maxBufferedValueCount: 1)
      .makeAsyncIterator()
    // What is remembered comes first.
    if remembers { await expect(5, from: &ages) }
    await joined(link(hub), otherLink) {
      for age in 101...104 {
        hub.send(\.age, age, on: channel)
        await expect(age, from: &ages)
      }
    }
    #expect(hub.diagnostics.isEmpty && other.diagnostics.isEmpty)
    if remembers {
      for hub in [hub, other] { #expect(hub.latest(\.age, on: channel) == 104) }
    }
  }

  @Test(
    "what it has sent and remembers when it is connected is newer than what its predecessor sent")
  func remembering() async {
    let (hub, other) = (hub(remembers: true), hub(remembers: true))
    let otherLink = await linkAfterPredecessor(of: other)
    let link = link(hub)
    for age in 101...103 { hub.send(\.age, age, on: channel) }
    var names = hub.values(of: \LinkedUser.name, on: channel).makeAsyncIterator()
    var others = other.values(of: \LinkedUser.age, on: channel).makeAsyncIterator()
    // What was remembered comes first.
    await expect(5, from: &others)
    await joined(link, otherLink) {
      await expect(103, from: &others)
      other.send(\.name, "mark", on: channel)
      await expect("mark", from: &names)
    }
    for hub in [hub, other] { #expect(hub.latest(\.age, on: channel) == 103) }
  }

  @Test("what waits for its first connection is new, too")
  func waiting() async throws {
    let (hub, other) = (hub(), hub())
    let otherLink = await linkAfterPredecessor(of: other)
    var ages = other.values(of: \LinkedUser.age, on: channel).makeAsyncIterator()
    let (connections, connection) = AsyncStream.makeStream(of: MemoryConnection.self)
    let (breaks, broken) = AsyncStream.makeStream(of: Void.self)
    let link = link(hub)
    let task = Task {
      await link.run(onBreak: { _ in broken.yield() }) {
        for await connection in connections { return connection }
        throw CancellationError()
      }
    }
    // The link is attached once it has had a connection.
    let (broken1, end) = MemoryConnection.pair()
    end.close()
    connection.yield(broken1)
    for await _ in breaks { break }
    hub.send(\.age, 100, on: channel)
    let (near, far) = MemoryConnection.pair()
    let serving = Task { try await otherLink.run(on: far) }
    connection.yield(near)
    await expect(100, from: &ages)
    task.cancel()
    await task.value
    serving.cancel()
    _ = await serving.result
  }

  @Test("a clock that leaps is told of to the others, and so is one whose values were dropped")
  func leaping() async throws {
    let hub = hub()
    let link = ChannelLink(
      hub, subjects: [linkedUsers],
      options: ChannelLinkOptions(maxWaitingChannelCount: 1, maxGreetingWait: .patient))
    let ends = (0..<2).map { _ in MemoryConnection.pair() }
    let tasks = ends.map { end in Task { try await link.run(on: end.0) } }
    var readers = ends.map { _ in LinkFrameReader(maxFrameByteCount: 1_000) }
    func next(_ place: Int, until: (LinkFrame) -> Bool) async throws {
      while let bytes = try await ends[place].1.receive() {
        if try readers[place].frames(adding: bytes).contains(where: until) { return }
      }
      Issue.record("the connection has ended")
    }
    for place in 0..<2 { try await next(place) { $0 == .hello(counter: 0) } }
    // Before the peers have greeted, nothing is taken out of their outboxes.
    for id in ["1", "2"] { hub.send(\.age, 1, on: Channel<LinkedUser>(id: id)) }
    #expect(hub.diagnostics.map(\.kind) == [.peerTooSlow, .peerTooSlow])
    try await ends[0].1.greet(counter: 0)
    try await next(0) { $0 == .hello(counter: 2) }
    try await ends[1].1.greet(counter: 50)
    try await next(0) { $0 == .hello(counter: 50) }
    try await next(1) { $0 == .hello(counter: 2) }
    for task in tasks { task.cancel() }
    for task in tasks { _ = await task.result }
  }
}
