import TandemChannels
import TandemLinks
import Testing

/// Values of a hub that was started again arrive as before.
@Suite("A link after its predecessor", .timeLimit(.minutes(20)))
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
    await joined(link, self.link(predecessor)) {
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
    await joined(otherLink, link(hub)) {
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
    "on the first connection, values of the listening hub win, and it takes those that it lacks")
  func remembering() async {
    let (hub, other) = (hub(remembers: true), hub(remembers: true))
    let otherLink = await linkAfterPredecessor(of: other)
    hub.send(\.age, 103, on: channel)
    hub.send(\.name, "Tom", on: channel)
    var names = other.values(of: \LinkedUser.name, on: channel).makeAsyncIterator()
    var ages = hub.values(of: \LinkedUser.age, on: channel).makeAsyncIterator()
    await expect(103, from: &ages)
    await joined(otherLink, link(hub)) {
      await expect("Tom", from: &names)
      await expect(5, from: &ages)
    }
    for hub in [hub, other] {
      #expect(hub.latest(\.age, on: channel) == 5 && hub.latest(\.name, on: channel) == "Tom")
    }
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
    let serving = Task { try await otherLink.run(on: far, as: .listening) }
    connection.yield(near)
    await expect(100, from: &ages)
    task.cancel()
    await task.value
    serving.cancel()
    _ = await serving.result
  }
}
