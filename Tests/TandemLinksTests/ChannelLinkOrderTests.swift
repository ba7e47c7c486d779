import TandemChannels
import TandemLinks
import TandemRecords
import Testing

/// Linked hubs agree, whoever wrote when, and however they are joined.
@Suite(.timeLimit(.minutes(10)))
@MainActor struct ChannelLinkOrderTests {
  let channel = Channel<LinkedUser>(id: "1")

  private func hubs(_ count: Int) -> [ChannelHub] {
    (0..<count).map { _ in ChannelHub(limits: ChannelLimits(maxRememberedValueCount: 10)) }
  }

  /// Joins each hub to the next one, and the last to the first, while `body` runs.
  private func ring(_ links: [ChannelLink], _ body: () async throws -> Void) async rethrows {
    let ends = links.enumerated().flatMap { index, link in
      let (near, far) = MemoryConnection.pair()
      return [(link, near), (links[(index + 1) % links.count], far)]
    }
    try await running(ends, body)
  }

  private func links(_ hubs: [ChannelHub]) -> [ChannelLink] {
    hubs.map { ChannelLink($0, subjects: [linkedUsers], options: .patient) }
  }

  /// Returns once all that was sent has been delivered: values overtake none that waits before them.
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

  @Test("what one hub was sent while away survives the next connection", arguments: [0, 1])
  func reconnecting(changed: Int) async throws {
    let hubs = hubs(2)
    let links = links(hubs)
    hubs[0].send(\.name, "old", on: channel)
    await ring(links) { await settle(hubs, mark: 1) }
    #expect(names(hubs) == ["old", "old"])
    hubs[changed].send(\.name, "new", on: channel)
    await ring(links) { await settle(hubs, mark: 2) }
    #expect(names(hubs) == ["new", "new"])
  }

  @Test("a link that is made later knows what was sent since the first one")
  func laterLink() async throws {
    let hubs = hubs(2)
    hubs[0].send(\.name, "old", on: channel)
    await ring(links(hubs)) { await settle(hubs, mark: 1) }
    hubs[1].send(\.name, "new", on: channel)
    await ring(links(hubs)) { await settle(hubs, mark: 2) }
    #expect(names(hubs) == ["new", "new"])
  }

  @Test("writes at the same time leave all hubs with the same value", arguments: [2, 3, 4])
  func simultaneous(count: Int) async throws {
    let hubs = hubs(count)
    // Before there is a link, too.
    for (index, hub) in hubs.enumerated() { hub.send(\.name, "first \(index)", on: channel) }
    await ring(links(hubs)) {
      for round in 1...20 {
        await settle(hubs, mark: round)
        #expect(Set(names(hubs)).count == 1, "round \(round): \(names(hubs))")
        for (index, hub) in hubs.enumerated() {
          hub.send(\.name, "\(round) \(index)", on: channel)
        }
      }
    }
  }

  @Test("in a ring, and over two links, nobody gets a value twice", arguments: [2, 3, 4])
  func circles(count: Int) async throws {
    let hubs = hubs(count)
    var ages: [[Int]] = hubs.map { _ in [] }
    for (index, hub) in hubs.enumerated() {
      hub.observe(\LinkedUser.age, on: channel, equalValues: .delivered) { ages[index].append($0) }
    }
    await ring(links(hubs)) {
      await settle(hubs, mark: 0)
      for round in 1...20 {
        hubs[round % count].send(\.age, round, on: channel)
        await settle(hubs, mark: round)
      }
    }
    for heard in ages { #expect(heard == Array(1...20)) }
  }

  @Test("a property that is sent twice together arrives with its last value")
  func twice() async throws {
    let hubs = hubs(2)
    await ring(links(hubs)) {
      await settle(hubs, mark: 0)
      hubs[0].send(
        ChannelBatch().setting(\.name, to: "a", on: channel)
          .setting(\.name, to: "other", on: Channel<LinkedUser>(id: "2")).setting(
            \.name, to: "b", on: channel))
      await settle(hubs, mark: 1)
    }
    #expect(names(hubs) == ["b", "b"])
  }

  @Test("a value without a stamp is a new one, and older than none")
  func unstamped() async throws {
    let hub = hubs(1)[0]
    let (near, far) = MemoryConnection.pair()
    let link = ChannelLink(hub, subjects: [linkedUsers], options: .patient)
    hub.send(\.age, 1, on: channel)
    let task = Task { try await link.run(on: near) }
    var ages = hub.values(of: \LinkedUser.age, on: channel).makeAsyncIterator()
    await expect(1, from: &ages)
    func send(_ age: Int, _ stamp: LinkStamp?) async throws {
      try await far.send(age: age, stamp: stamp)
    }
    try await far.greet(counter: 0)
    try await send(2, nil)
    try await send(3, LinkStamp(counter: 0, hub: .max))
    try await send(4, LinkStamp(counter: 100, hub: .max))
    await expect(2, from: &ages)
    await expect(4, from: &ages)
    hub.send(\.age, 5, on: channel)
    try await send(6, nil)
    await expect(5, from: &ages)
    await expect(6, from: &ages)
    task.cancel()
    _ = await task.result
  }

  @Test("a peer's claim of a stamp beyond all others ends its connection, and nothing else")
  func implausible() async throws {
    let hubs = hubs(2)
    let links = links(hubs)
    for counter in [LinkStamp.maxCounter, LinkStamp.maxLead + 1_000] {
      let (near, far) = MemoryConnection.pair()
      let task = Task { [links] in try await links[0].run(on: near) }
      try await far.greet(counter: 0)
      try await far.send(age: 1, stamp: LinkStamp(counter: counter, hub: .max))
      let result = await task.result
      #expect(throws: ChannelLinkError.self) { try result.get() }
    }
    await ring(links) {
      for (round, sender) in [0, 0, 1, 1, 0].enumerated() {
        hubs[sender].send(\.name, "\(round)", on: channel)
        await settle(hubs, mark: round + 1)
        #expect(names(hubs) == ["\(round)", "\(round)"])
      }
    }
    #expect(hubs.allSatisfy { $0.diagnostics.isEmpty })
  }

  @Test(
    "a clock that was led to its end is told of, and peers are not sent what they would not take")
  func endOfTime() async throws {
    let hub = hubs(1)[0]
    let link = links([hub])[0]
    let (near, far) = MemoryConnection.pair()
    let task = Task { try await link.run(on: near) }
    var counter: UInt64 = 0
    while counter < LinkStamp.maxCounter {
      counter = min(counter + LinkStamp.maxLead, LinkStamp.maxCounter)
      try await far.greet(counter: counter)
    }
    try await far.send(age: 7, stamp: nil)
    var ages = hub.values(of: \LinkedUser.age, on: channel).makeAsyncIterator()
    await expect(7, from: &ages)
    hub.send(\.age, 8, on: channel)
    await expect(8, from: &ages)
    #expect(hub.diagnostics.map(\.kind) == [.linkClockAtEnd, .linkClockAtEnd])
    task.cancel()
    _ = await task.result
    far.close()
    var reader = LinkFrameReader(maxFrameByteCount: 1000)
    let messages = try await far.messages(by: &reader)
    #expect(messages.isEmpty)
  }

  @Test(
    "more values than stamps are kept arrive once each, over two links and in a ring",
    arguments: [2, 3])
  func manyValues(count: Int) async throws {
    let hubs = hubs(count)
    let links = hubs.map {
      ChannelLink(
        $0, subjects: [linkedUsers],
        options: .init(maxStampCount: 500, maxGreetingWait: .patient))
    }
    let channels = (0..<2_000).map { Channel<LinkedUser>(id: "\($0)") }
    var heard = hubs.map { _ in channels.map { _ in [Int]() } }
    for (place, hub) in hubs.enumerated() {
      for (index, channel) in channels.enumerated() {
        hub.observe(\LinkedUser.age, on: channel, equalValues: .delivered) {
          heard[place][index].append($0)
        }
      }
    }
    await ring(links) {
      await settle(hubs, mark: 0)
      for round in 1...3 {
        var batch = ChannelBatch()
        for channel in channels { batch.set(\.age, to: round, on: channel) }
        hubs[round % count].send(batch)
        await settle(hubs, mark: round)
      }
    }
    for ages in heard.joined() { #expect(ages == [1, 2, 3]) }
    #expect(hubs.allSatisfy { $0.diagnostics.isEmpty })
  }
}

extension MemoryConnection {
  /// Sends an age of user 1.
  fileprivate func send(age: Int, stamp: LinkStamp?) async throws {
    let message = ChannelMessage(
      subject: "User", id: .string("1"), values: ["age": .number("\(age)")],
      stamps: stamp.map { ["age": $0] } ?? [:])
    try await send(LinkFrame.values(message).bytes(maxByteCount: 1000))
  }
}
