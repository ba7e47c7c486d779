import TandemChannels
import TandemLinks
import TandemRecords
import Testing

struct LinkedCar {
  var speed: Int
}

private let linkedCars = LinkedSubject(
  "Car", of: LinkedCar.self, id: Int.self,
  properties: [LinkedProperty("speed", \LinkedCar.speed)])

/// What was sent together arrives together, and all of it.
@Suite(.timeLimit(.minutes(20)))
@MainActor struct ChannelLinkBatchTests {
  private final class Car {
    var speed = 0
  }

  private func user(_ id: Int) -> Channel<LinkedUser> { Channel(id: "\(id)") }

  private func ages(_ value: Int, of ids: Range<Int>) -> ChannelBatch {
    ids.reduce(into: ChannelBatch()) { $0.set(\LinkedUser.age, to: value, on: user($1)) }
  }

  private func hub(remembering count: Int = 0) -> ChannelHub {
    ChannelHub(limits: ChannelLimits(maxRememberedValueCount: count))
  }

  private func link(
    _ hub: ChannelHub, maxWaitingChannelCount: Int = 65_536, maxWaitingByteCount: Int = 16 << 20
  ) -> ChannelLink {
    ChannelLink(
      hub, subjects: [linkedUsers, linkedCars],
      options: ChannelLinkOptions(
        maxWaitingChannelCount: maxWaitingChannelCount, maxWaitingByteCount: maxWaitingByteCount,
        handshakeTimeout: .patient))
  }

  /// Runs `body` with the other end of a connection of a link, which is attached to its hub and waits for a greeting.
  private func withPeer(
    of link: ChannelLink, _ body: (MemoryConnection, inout LinkFrameReader) async throws -> Void
  ) async throws {
    let (near, far) = MemoryConnection.pair()
    let (attachments, attached) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      try await link.run(on: WatchedConnection(near) { attached.yield() }, as: .listening)
    }
    for await _ in attachments { break }
    var reader = LinkFrameReader(maxFrameByteCount: 1 << 20)
    try await body(far, &reader)
    task.cancel()
    _ = await task.result
  }

  /// The messages that arrive until a channel's has.
  private func messages(
    from connection: MemoryConnection, by reader: inout LinkFrameReader, until id: Int
  ) async throws -> [ChannelMessage] {
    var messages: [ChannelMessage] = []
    while !messages.contains(where: { $0.id == .string("\(id)") }) {
      let more = try await connection.messages(by: &reader)
      try #require(!more.isEmpty)
      messages += more
    }
    return messages
  }

  @Test("who is told of one value finds the others there, on other channels and of other subjects")
  func together() async throws {
    let (near, far) = (hub(remembering: 10), hub())
    let (nearEnd, farEnd) = MemoryConnection.pair()
    let (first, second) = (LinkedModel(), LinkedModel())
    let car = Car()
    let map = KeyPathMap<LinkedUser, LinkedModel>().mapping(\.age, to: \.age)
    far.bind(first, to: user(1), through: map)
    far.bind(second, to: user(2), through: map)
    far.bind(car, to: Channel(id: 1), through: KeyPathMap().mapping(\LinkedCar.speed, to: \.speed))
    var seen: [[Int]] = []
    let (endings, ended) = AsyncStream.makeStream(of: Void.self)
    func look() {
      seen.append([first.age, second.age, car.speed])
      if seen.count % 3 == 0 { ended.yield() }
    }
    far.observe(\LinkedUser.age, on: user(1)) { _ in look() }
    far.observe(\LinkedUser.age, on: user(2)) { _ in look() }
    far.observe(\LinkedCar.speed, on: Channel<LinkedCar>(id: 1)) { _ in look() }
    let links = [(link(near), nearEnd), (link(far), farEnd)]
    func send(_ value: Int) {
      near.send(
        ChannelBatch().setting(\.age, to: value, on: user(1))
          .setting(\.speed, to: value, on: Channel<LinkedCar>(id: 1))
          .setting(\.age, to: value, on: user(2)))
    }
    send(1)
    let tasks = links.enumerated().map { index, link in
      Task { try await link.0.run(on: link.1, as: index == 0 ? .listening : .connecting) }
    }
    var turns = endings.makeAsyncIterator()
    await turns.next()
    for value in 2...20 {
      send(value)
      await turns.next()
    }
    #expect(seen == (1...20).flatMap { value in (0..<3).map { _ in [value, value, value] } })
    for task in tasks { task.cancel() }
    for task in tasks { _ = await task.result }
  }

  @Test("of a batch within which the connection breaks, nothing arrives; the next one brings all")
  func breaking() async throws {
    let hub = hub(remembering: 10)
    let link = link(hub)
    let frame = try LinkFrame.values(
      LinkValues(
        ["1", "2"].map {
          ChannelMessage(subject: "User", id: .string($0), values: ["age": .number("5")])
        })
    ).bytes(maxByteCount: 1_000)
    for cut in [frame.count / 2, frame.count - 1] {
      let (near, far) = MemoryConnection.pair()
      let task = Task { try await link.run(on: near, as: .listening) }
      try await far.greet()
      try await far.send(Array(frame[..<cut]))
      far.close()
      let result = await task.result
      #expect(throws: ChannelLinkError.self) { try result.get() }
      #expect(hub.channelCount == 0)
    }
    try await withPeer(of: link) { far, _ in
      var ages = hub.values(of: \LinkedUser.age, on: user(2)).makeAsyncIterator()
      try await far.greet()
      try await far.send(frame)
      await expect(5, from: &ages)
      #expect(hub.latest(\.age, on: user(1)) == 5)
    }
  }

  @Test("a new peer gets all that is remembered, and one batch of all of it, whatever may wait")
  func remembered() async throws {
    let hub = hub(remembering: 9_000)
    let link = link(hub, maxWaitingChannelCount: 10, maxWaitingByteCount: 2_000)
    for id in 0..<9_000 { hub.send(\.age, 1, on: user(id)) }
    try await withPeer(of: link) { far, reader in
      try await far.greet()
      let messages = try await messages(from: far, by: &reader, until: 8_999)
      #expect(messages.map(\.id) == (0..<9_000).map { .string("\($0)") })
      hub.send(ages(2, of: 0..<9_000))
      hub.send(\.age, 3, on: user(9_000))
      // The first one was forgotten for the last before it was sent.
      var ages: [JSONValue: JSONValue] = [:]
      while ages.count < 9_000 {
        for message in try await far.messages(by: &reader) {
          ages[message.id] = message.values["age"]
        }
      }
      #expect(Set(ages.keys) == Set((1...9_000).map { .string("\($0)") }))
      #expect(ages.count { $0.value == .number("2") } == 8_999)
    }
    #expect(hub.diagnostics.map(\.kind) == [.peerTooSlow])
    #expect(hub.diagnostics.map(\.channel) == ["User \"0\""])
  }

  @Test("a slow peer gets the latest of all that is remembered; what was forgotten is told")
  func slow() async throws {
    let hub = hub(remembering: 50)
    var told: [String] = []
    hub.onDiagnostic = { told.append($0.channel) }
    let link = link(hub, maxWaitingChannelCount: 10)
    try await withPeer(of: link) { far, reader in
      for age in 1...100 { for id in 0..<50 { hub.send(\.age, age, on: user(id)) } }
      #expect(told.isEmpty)
      for id in 50..<80 { hub.send(\.age, 1, on: user(id)) }
      try await far.greet()
      var messages = try await messages(from: far, by: &reader, until: 79)
      while messages.count < 50 { messages += try await far.messages(by: &reader) }
      #expect(told == (0..<30).map { "User \"\($0)\"" })
      let latest = Dictionary(messages.map { ($0.id, $0.values["age"]) }) { $1 }
      for id in 0..<30 { #expect(latest[.string("\(id)")] == nil, "an old value of user \(id)") }
      for id in 30..<50 { #expect(latest[.string("\(id)")] == .number("100")) }
      for id in 50..<80 { #expect(latest[.string("\(id)")] == .number("1")) }
    }
  }

  @Test("a hub that remembers less than may wait keeps the newest of what waits")
  func smallMemory() async throws {
    let hub = hub(remembering: 5)
    let link = link(hub, maxWaitingChannelCount: 10)
    try await withPeer(of: link) { far, reader in
      for age in 1...3 { for id in 0..<14 { hub.send(\.age, age, on: user(id)) } }
      try await far.greet()
      let messages = try await messages(from: far, by: &reader, until: 13)
      #expect(messages.map(\.id) == (4..<14).map { .string("\($0)") })
      #expect(messages.allSatisfy { $0.values == ["age": .number("3")] })
    }
    #expect(hub.diagnostics.allSatisfy { $0.kind == .peerTooSlow } && hub.diagnostics.count == 16)
  }

  @Test("what waits for a peer that was away comes once, though it is remembered")
  func once() async throws {
    let hub = hub(remembering: 100)
    let link = link(hub, maxWaitingChannelCount: 20)
    let (connections, connection) = AsyncStream.makeStream(of: MemoryConnection.self)
    let (breaks, broken) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      await link.run(onBreak: { _ in broken.yield() }) {
        for await connection in connections { return connection }
        throw CancellationError()
      }
    }
    let (first, other) = MemoryConnection.pair()
    other.close()
    connection.yield(first)
    var breakings = breaks.makeAsyncIterator()
    await breakings.next()
    // The last 20 wait in the outbox, the others are read from the hub's memory; user 0 is forgotten.
    hub.send(\.name, "Tom", on: user(0))
    for id in 0..<101 { hub.send(\.age, id, on: user(id)) }
    let (near, far) = MemoryConnection.pair()
    connection.yield(near)
    var reader = LinkFrameReader(maxFrameByteCount: 1 << 20)
    try await far.greetAsListener()
    let messages = try await messages(from: far, by: &reader, until: 100)
    #expect(messages.map(\.id) == (1..<101).map { .string("\($0)") })
    #expect(messages.allSatisfy { $0.offers.isEmpty }, "all were written during the break")
    #expect(hub.diagnostics.map(\.channel) == ["User \"0\""])
    task.cancel()
    await task.value
  }

  @Test(
    "of a hub that remembers nothing, one batch of any count arrives; one of too many bytes is told"
  )
  func forgetful() async throws {
    let hub = hub()
    let link = link(hub, maxWaitingChannelCount: 10, maxWaitingByteCount: 100_000)
    try await withPeer(of: link) { far, reader in
      hub.send(ages(1, of: 0..<500))
      try await far.greet()
      let messages = try await messages(from: far, by: &reader, until: 499)
      #expect(messages.count == 500 && hub.diagnostics.isEmpty)
    }
    try await withPeer(of: link) { far, reader in
      hub.send(ages(2, of: 0..<2_000))
      #expect(Set(hub.diagnostics.map(\.kind)) == [.batchTooLarge])
      try await far.greet()
      let messages = try await messages(from: far, by: &reader, until: 1_999)
      #expect(messages.count > 500 && messages.count < 2_000)
    }
  }
}
