import TandemChannels
import TandemLinks
import TandemRecords
import Testing

/// Linked hubs agree, whoever wrote when. `LinkSessionTests` explores the protocol; this is about hubs.
@Suite(.timeLimit(.minutes(20)))
@MainActor struct ChannelLinkOrderTests {
  let channel = Channel<LinkedUser>(id: "1")

  private func hubs(_ count: Int) -> [ChannelHub] {
    (0..<count).map { _ in ChannelHub(limits: ChannelLimits(maxRememberedValueCount: 10)) }
  }

  private func link(_ hub: ChannelHub) -> ChannelLink {
    ChannelLink(hub, subjects: [linkedUsers], options: .patient)
  }

  /// Joins the first hub to all others while `body` runs.
  private func star(_ hubs: [ChannelHub], _ body: () async throws -> Void) async rethrows {
    let center = link(hubs[0])
    let ends = hubs.dropFirst().flatMap { hub in
      let (near, far) = MemoryConnection.pair()
      return [(center, near), (link(hub), far)]
    }
    try await running(ends, body)
  }

  /// Returns once all values that were sent have been delivered: each hub sends a mark that all others get.
  private func settle(_ hubs: [ChannelHub], mark: Int) async {
    for (sending, hub) in hubs.enumerated() {
      let channel = Channel<LinkedUser>(id: "mark \(mark) \(sending)")
      var others = hubs.filter { $0 !== hub }.map {
        $0.values(of: \LinkedUser.age, on: channel).makeAsyncIterator()
      }
      hub.send(\.age, mark, on: channel)
      for index in others.indices { await expect(mark, from: &others[index]) }
    }
  }

  private func names(_ hubs: [ChannelHub]) -> [String?] {
    hubs.map { $0.latest(\LinkedUser.name, on: channel) }
  }

  @Test("writes at the same time leave all hubs with the same value", arguments: [2, 3, 4])
  func simultaneous(count: Int) async throws {
    let hubs = hubs(count)
    // Before there is a link, too.
    for (index, hub) in hubs.enumerated() { hub.send(\.name, "first \(index)", on: channel) }
    await star(hubs) {
      for round in 1...20 {
        await settle(hubs, mark: round)
        #expect(Set(names(hubs)).count == 1, "round \(round): \(names(hubs))")
        for (index, hub) in hubs.enumerated() {
          hub.send(\.name, "\(round) \(index)", on: channel)
        }
      }
    }
  }

  @Test("no hub gets a value twice", arguments: [2, 3, 4])
  func once(count: Int) async throws {
    let hubs = hubs(count)
    var ages: [[Int]] = hubs.map { _ in [] }
    for (index, hub) in hubs.enumerated() {
      hub.observe(\LinkedUser.age, on: channel, equalValues: .delivered) { ages[index].append($0) }
    }
    await star(hubs) {
      await settle(hubs, mark: 0)
      for round in 1...20 {
        hubs[round % count].send(\.age, round, on: channel)
        await settle(hubs, mark: round)
      }
    }
    for received in ages { #expect(received == Array(1...20)) }
  }

  @Test("a property that is sent twice together arrives with its last value")
  func twice() async throws {
    let hubs = hubs(2)
    await star(hubs) {
      await settle(hubs, mark: 0)
      hubs[0].send(
        ChannelBatch().setting(\.name, to: "a", on: channel)
          .setting(\.name, to: "other", on: Channel<LinkedUser>(id: "2")).setting(
            \.name, to: "b", on: channel))
      await settle(hubs, mark: 1)
    }
    #expect(names(hubs) == ["b", "b"])
  }

  @Test("a value without a number, as a script sends it, is ordered when it arrives")
  func scripts() async throws {
    let hub = hubs(1)[0]
    let (near, far) = MemoryConnection.pair()
    let link = link(hub)
    hub.send(\.age, 1, on: channel)
    let task = Task { try await link.run(on: near, as: .listening) }
    var ages = hub.values(of: \LinkedUser.age, on: channel).makeAsyncIterator()
    await expect(1, from: &ages)
    try await far.greet()
    for age in [2, 3] {
      let message = ChannelMessage(
        subject: "User", id: .string("1"), values: ["age": .number("\(age)")])
      try await far.send(.values(LinkValues([message])))
      await expect(age, from: &ages)
    }
    task.cancel()
    _ = await task.result
  }

  @Test("two links of one hub may listen; chains of links are refused")
  func shapes() async throws {
    let hubs = hubs(3)
    let (first, firstEnd) = MemoryConnection.pair()
    let (second, secondEnd) = MemoryConnection.pair()
    let links = [link(hubs[0]), link(hubs[1]), link(hubs[0]), link(hubs[2])]
    await running(Array(zip(links, [first, firstEnd, second, secondEnd]))) {
      await settle(hubs, mark: 1)
      for (hub, role) in [(0, ChannelLinkRole.connecting), (1, .connecting), (1, .listening)] {
        let result = await #expect(throws: ChannelLinkError.self) {
          try await link(hubs[hub]).run(on: MemoryConnection.pair().0, as: role)
        }
        #expect(result?.code == .role)
      }
      await settle(hubs, mark: 2)
    }
    // Later, a hub may have another role.
    let (third, thirdEnd) = MemoryConnection.pair()
    await running([(links[1], third), (links[0], thirdEnd)]) {
      await settle(Array(hubs.prefix(2)), mark: 3)
    }
  }

  @Test("a write during a break survives, exactly once, and replaces the values of the other side")
  func writesDuringBreak() async throws {
    let hubs = hubs(2)
    var ages: [Int] = []
    hubs[0].observe(\LinkedUser.age, on: channel, equalValues: .delivered) { ages.append($0) }
    let (connections, connection) = AsyncStream.makeStream(of: MemoryConnection.self)
    let (breaks, broken) = AsyncStream.makeStream(of: Void.self)
    let (center, client) = (link(hubs[0]), link(hubs[1]))
    let connecting = Task {
      await client.run(onBreak: { _ in broken.yield() }) {
        for await connection in connections { return connection }
        throw CancellationError()
      }
    }
    var breakings = breaks.makeAsyncIterator()
    for round in 1...3 {
      let (near, far) = MemoryConnection.pair()
      let serving = Task { try await center.run(on: far, as: .listening) }
      connection.yield(near)
      await settle(hubs, mark: round)
      #expect(hubs[0].latest(\LinkedUser.age, on: channel) == (round == 1 ? nil : 10 * round))
      #expect(hubs[1].latest(\LinkedUser.age, on: channel) == (round == 1 ? nil : 10 * round))
      near.close()
      _ = await serving.result
      await breakings.next()
      hubs[1].send(\.age, 10 * round + 10, on: channel)
      hubs[0].send(\.age, 10 * round + 9, on: channel)
    }
    #expect(ages == [19, 20, 29, 30, 39])
    connecting.cancel()
    await connecting.value
  }
}
