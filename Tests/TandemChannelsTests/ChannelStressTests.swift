import TandemChannels
import Testing

/// A hub in an actor of its own, whose models come, hear and go while others send.
private actor Hall {
  private let hub = ChannelHub()
  private var models: [Int: UserModel1] = [:]
  /// What each model was told, in order.
  private(set) var heard: [Int: [Int]] = [:]

  func sender() -> ChannelSender { hub.sender() }

  func enter(_ id: Int) {
    let model = UserModel1()
    models[id] = model
    hub.bind(
      model, to: Channel<User>(id: id),
      through: KeyPathMap().mapping(
        \.age, to: \.age, equalValues: .delivered,
        didChange: { [unowned self] _, change in
          assumeIsolated { $0.heard[id, default: []].append(change.new) }
        }))
  }

  func leave(_ id: Int) { models[id] = nil }

  func ages(of id: Int) -> some AsyncSequence<Int, Never> & Sendable {
    hub.values(of: \.age, on: Channel<User>(id: id))
  }

  func channelCount() -> Int {
    hub.releaseEnded()
    return hub.channelCount
  }
}

@Suite(.timeLimit(.minutes(20)))
struct ChannelStressTests {
  private static let taskCount = 8
  private static let objectCount = 10_000

  @Test(
    "8 tasks bind, send in batches and drop 10,000 objects; each heard its own values, in order")
  func tasks() async {
    let hall = Hall()
    let sender = await hall.sender()
    await withTaskGroup { group in
      for task in 0..<Self.taskCount {
        group.addTask {
          for id in stride(from: task, to: Self.objectCount, by: Self.taskCount) {
            let channel = Channel<User>(id: id)
            await sender.send(\.age, -1, on: channel)
            await hall.enter(id)
            await sender.send(\.age, 1, on: channel)
            await sender.send(
              ChannelBatch().setting(\.age, to: 2, on: channel)
                .setting(\.name, to: "Tom", on: channel))
            await hall.leave(id)
            await sender.send(\.age, 3, on: channel)
          }
        }
      }
    }
    let heard = await hall.heard
    #expect(heard.count == Self.objectCount && heard.values.allSatisfy { $0 == [1, 2] })
    #expect(await hall.channelCount() == 0)
  }

  @Test("every reader of a channel that 8 tasks send on ends with the value that was sent last")
  func readers() async {
    let hall = Hall()
    let sender = await hall.sender()
    await hall.enter(1)
    let channel = Channel<User>(id: 1)
    let sentCount = 200
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        let ages = await hall.ages(of: 1)
        group.addTask { for await age in ages where age == .max { break } }
      }
      await withTaskGroup { senders in
        for task in 0..<Self.taskCount {
          senders.addTask {
            for number in 0..<sentCount {
              await sender.send(\.age, task * sentCount + number, on: channel)
            }
          }
        }
      }
      await sender.send(\.age, .max, on: channel)
    }
    let heard = await hall.heard[1] ?? []
    #expect(heard.count == Self.taskCount * sentCount + 1)
    for task in 0..<Self.taskCount {
      let own = heard.dropLast().filter { $0 / sentCount == task }
      #expect(own == Array(task * sentCount..<(task + 1) * sentCount), "task \(task)")
    }
  }
}
