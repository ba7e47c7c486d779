import TandemChannels
import TestRandom
import Testing

/// A hub that lives in an actor of its own.
private actor Room {
  let hub = ChannelHub()
  private var models: [Int: UserModel1] = [:]
  private var tokens: [Int: ChannelBinding] = [:]
  private(set) var deliveryCount = 0
  private(set) var expectedCount = 0

  func sender() -> ChannelSender { hub.sender() }

  func bind(_ id: Int) {
    let model = UserModel1()
    models[id] = model
    tokens[id] = hub.bind(
      model, to: Channel<User>(id: id),
      through: KeyPathMap().mapping(
        \.age, to: \.age, equalValues: .delivered,
        didChange: { [unowned self] _, _ in self.assumeIsolated { $0.deliveryCount += 1 } }))
  }

  func send(_ id: Int, _ age: Int) {
    if models[id] != nil, tokens[id] != nil { expectedCount += 1 }
    hub.send(\.age, age, on: Channel<User>(id: id))
  }

  func drop(_ id: Int) { models[id] = nil }

  func cancel(_ id: Int) { tokens.removeValue(forKey: id)?.cancel() }

  func released() -> Int {
    hub.releaseEnded()
    return hub.channelCount
  }

  func age(_ id: Int) -> Int? { models[id]?.age }
}

@Suite(.timeLimit(.minutes(20)))
struct ChannelIsolationTests {
  @Test("10,000 objects bound, sent to and dropped from 8 tasks get exactly what was sent to them")
  func manyTasks() async {
    let room = Room()
    await withTaskGroup { group in
      for task in 0..<8 {
        group.addTask {
          var generator = SplitMix64(seed: task)
          for id in stride(from: task, to: 10_000, by: 8) {
            await room.bind(id)
            await room.send(Int.random(in: 0..<10_000, using: &generator), id)
            await room.send(id, id)
            if id % 3 == 0 { await room.drop(id) }
            if id % 3 == 1 { await room.cancel(id) }
            await room.send(id, -id)
          }
        }
      }
    }
    #expect(await room.deliveryCount == room.expectedCount)
    #expect(await room.expectedCount >= 13_333)
    #expect(await room.released() == 3_333)
  }

  @Test("a sender reaches the hub from elsewhere, and returns when everybody has the values")
  func sender() async {
    let room = Room()
    await room.bind(1)
    let sender = await room.sender()
    await Task.detached { await sender.send(\.age, 77, on: Channel<User>(id: 1)) }.value
    #expect(await room.age(1) == 77)
  }

  @Test("values are read as a sequence, the newest ones if the reader is slow")
  @MainActor func values() async {
    var hub: ChannelHub? = ChannelHub()
    let channel = Channel<User>(id: 1)
    guard let all = hub?.values(of: \.age, on: channel),
      let newest = hub?.values(of: \.age, on: channel, maxBufferedValueCount: 2)
    else { return }
    for age in [1, 2, 2, 3, 4] { hub?.send(\.age, age, on: channel) }
    hub = nil
    var seen: [Int] = []
    for await age in all { seen.append(age) }
    for await age in newest { seen.append(age) }
    #expect(seen == [1, 2, 3, 4, 3, 4])
  }

  @Test("a hub stops collecting when the reader has stopped")
  @MainActor func readerStops() async {
    let hub = ChannelHub()
    let channel = Channel<User>(id: 1)
    withExtendedLifetime(hub.values(of: \.age, on: channel)) {
      hub.releaseEnded()
      #expect(hub.channelCount == 1)
    }
    hub.releaseEnded()
    #expect(hub.channelCount == 0)
  }
}
