import TandemChannels
import TandemRecords
import Testing

@testable import TandemLinks

extension LinkOutbox {
  /// Adds a message that was sent alone; returns what was dropped.
  fileprivate func add(_ message: ChannelMessage) -> [ChannelMessage] {
    add([message]).map(\.message)
  }

  fileprivate func putBack(_ batch: [ChannelMessage]) -> [ChannelMessage] { putBack([batch]) }
}

extension LinkOutbox.Parcel {
  fileprivate var messages: [ChannelMessage] { batches.flatMap(\.self) }
}

struct LinkOutboxTests {
  private func message(_ id: Int, _ values: [String: Int]) -> ChannelMessage {
    ChannelMessage(
      subject: "User", id: .number("\(id)"), values: values.mapValues { .number("\($0)") })
  }

  private func outbox(maxChannelCount: Int, maxByteCount: Int = 1 << 20) -> LinkOutbox {
    LinkOutbox(maxChannelCount: maxChannelCount, maxByteCount: maxByteCount)
  }

  @Test("the latest value of each property waits, channels in the order of their latest values")
  func coalescing() {
    let outbox = outbox(maxChannelCount: 10)
    #expect(outbox.add(message(2, ["a": 1])).isEmpty)
    #expect(outbox.add(message(1, ["a": 1])).isEmpty)
    #expect(outbox.add(message(2, ["a": 2, "b": 3])).isEmpty)
    #expect(outbox.takeAll().messages == [message(1, ["a": 1]), message(2, ["a": 2, "b": 3])])
    #expect(outbox.takeAll() == .init())
  }

  @Test("the order holds however often channels are added to", arguments: [1, 5, 100])
  func order(channelCount: Int) {
    let outbox = outbox(maxChannelCount: 100)
    var latest: [Int: Int] = [:]
    for number in 0..<1_000 {
      let id = number * number % channelCount
      latest[id] = number
      #expect(outbox.add(message(id, ["a": number])).isEmpty)
    }
    let expected = latest.sorted { $0.value < $1.value }.map { message($0, ["a": $1]) }
    #expect(outbox.takeAll().messages == expected)
  }

  @Test(
    "beyond the bound, the channel that has waited longest is dropped, and told of",
    arguments: [1, 2, 7])
  func bound(_ bound: Int) {
    let outbox = outbox(maxChannelCount: bound)
    let dropped = (0..<100).map { outbox.add(message($0, ["a": $0])) }
    #expect(dropped == (0..<100).map { $0 < bound ? [] : [message($0 - bound, ["a": $0 - bound])] })
    #expect(outbox.takeAll().messages == (100 - bound..<100).map { message($0, ["a": $0]) })
  }

  @Test("what is put back is older than what was added since, and told of if there is no room")
  func puttingBack() {
    let outbox = outbox(maxChannelCount: 2)
    #expect(outbox.add(message(1, ["a": 2])).isEmpty)
    let dropped = outbox.putBack(
      [message(1, ["a": 1, "b": 1]), message(2, ["a": 1]), message(3, ["a": 1])])
    #expect(dropped == [message(3, ["a": 1])])
    #expect(outbox.takeAll().messages == [message(2, ["a": 1]), message(1, ["a": 2, "b": 1])])
  }

  @Test("stamps wait with their values")
  func stamps() {
    func message(_ values: [String: Int]) -> ChannelMessage {
      var message = self.message(1, values)
      message.stamps = values.mapValues { LinkStamp(counter: UInt64($0), hub: 1) }
      return message
    }
    let outbox = outbox(maxChannelCount: 2)
    #expect(outbox.add(message(["a": 1, "b": 1])).isEmpty)
    #expect(outbox.add(message(["a": 2])).isEmpty)
    #expect(outbox.putBack([message(["b": 0, "c": 0])]).isEmpty)
    #expect(outbox.takeAll().messages == [message(["a": 2, "b": 1, "c": 0])])
  }

  @Test("beyond the bound in bytes, the channels that have waited longest are dropped, and told of")
  func bytes() {
    let outbox = outbox(maxChannelCount: 1000, maxByteCount: 10_000)
    func message(_ id: Int, _ name: String, byteCount: Int) -> ChannelMessage {
      ChannelMessage(
        subject: "User", id: .number("\(id)"),
        values: [name: .array([.string(String(repeating: "x", count: byteCount))])])
    }
    // The same property again replaces what waits, and takes no more room.
    for _ in 0..<100 { #expect(outbox.add(message(1, "a", byteCount: 3_000)).isEmpty) }
    #expect(outbox.add(message(2, "a", byteCount: 3_000)).isEmpty)
    #expect(outbox.add(message(3, "a", byteCount: 3_000)).isEmpty)
    #expect(
      outbox.add(message(3, "b", byteCount: 5_000))
        == [message(1, "a", byteCount: 3_000), message(2, "a", byteCount: 3_000)])
    #expect(
      outbox.putBack([message(3, "a", byteCount: 1), message(4, "a", byteCount: 2_000)])
        == [message(4, "a", byteCount: 2_000)])
    // What is too large alone takes nothing with it.
    let large = message(5, "a", byteCount: 10_000)
    #expect(outbox.add(large) == [large])
    // Nor does what is too large with the rest of its channel, except that rest.
    #expect(
      outbox.add(message(3, "c", byteCount: 4_000)).map { $0.values.keys.sorted() } == [["a", "b"]])
    #expect(outbox.takeAll().messages.map(\.id) == [.number("3")])
    #expect(outbox.add(message(6, "a", byteCount: 5_000)).isEmpty)
    #expect(outbox.add(message(7, "a", byteCount: 500)).isEmpty)
    #expect(outbox.add(message(6, "b", byteCount: 9_000)).map { Array($0.values.keys) } == [["a"]])
    #expect(
      outbox.takeAll().messages
        == [message(7, "a", byteCount: 500), message(6, "b", byteCount: 9_000)])
    #expect(outbox.add(message(6, "a", byteCount: 9_800)).isEmpty, "nothing is counted any more")
  }

  @Test("what waits, and what is put back, gets new stamps; the clock's counter goes out once")
  func restamping() {
    func message(_ id: Int, counter: UInt64) -> ChannelMessage {
      ChannelMessage(
        subject: "User", id: .number("\(id)"), values: ["a": .null],
        stamps: ["a": LinkStamp(counter: counter, hub: 1)])
    }
    let outbox = outbox(maxChannelCount: 10)
    let early = message(0, counter: 1)
    #expect(outbox.add(message(1, counter: 2)).isEmpty)
    outbox.tell(8)
    outbox.apply(Restamping(hub: 1, lastCounter: 3, distance: 5))
    #expect(outbox.putBack([early]).isEmpty)
    #expect(outbox.add(message(2, counter: 9)).isEmpty)
    let parcel = outbox.takeAll()
    #expect(parcel.counter == 8)
    #expect(
      parcel.messages == [message(0, counter: 6), message(1, counter: 7), message(2, counter: 9)])
    #expect(outbox.putBack([message(0, counter: 6)]).isEmpty)
    #expect(outbox.takeAll() == .init(counter: nil, batches: [[message(0, counter: 6)]]))
  }
}
