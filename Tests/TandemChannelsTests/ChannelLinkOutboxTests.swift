import Testing

@testable import TandemChannels

struct LinkOutboxTests {
  private func message(_ id: Int, _ values: [String: Int]) -> ChannelMessage {
    ChannelMessage(
      subject: "User", id: .number("\(id)"), values: values.mapValues { .number("\($0)") })
  }

  private func outbox(maxChannelCount: Int, maxByteCount: Int = 1 << 20) -> LinkOutbox {
    LinkOutbox(maxChannelCount: maxChannelCount, maxByteCount: maxByteCount)
  }

  @Test("the latest value of each property waits, channels in the order in which they began to")
  func coalescing() {
    let outbox = outbox(maxChannelCount: 10)
    #expect(outbox.add(message(2, ["a": 1])).isEmpty)
    #expect(outbox.add(message(1, ["a": 1])).isEmpty)
    #expect(outbox.add(message(2, ["a": 2, "b": 3])).isEmpty)
    #expect(outbox.takeAll() == [message(2, ["a": 2, "b": 3]), message(1, ["a": 1])])
    #expect(outbox.takeAll().isEmpty)
  }

  @Test(
    "beyond the bound, the channel that has waited longest is dropped, and told of",
    arguments: [1, 2, 7])
  func bound(_ bound: Int) {
    let outbox = outbox(maxChannelCount: bound)
    let dropped = (0..<100).map { outbox.add(message($0, ["a": $0])) }
    #expect(dropped == (0..<100).map { $0 < bound ? [] : [message($0 - bound, ["a": $0 - bound])] })
    #expect(outbox.takeAll() == (100 - bound..<100).map { message($0, ["a": $0]) })
  }

  @Test("what is put back is older than what was added since, and told of if there is no room")
  func puttingBack() {
    let outbox = outbox(maxChannelCount: 2)
    #expect(outbox.add(message(1, ["a": 2])).isEmpty)
    let dropped = outbox.putBack(
      [message(1, ["a": 1, "b": 1]), message(2, ["a": 1]), message(3, ["a": 1])])
    #expect(dropped == [message(3, ["a": 1])])
    #expect(outbox.takeAll() == [message(1, ["a": 2, "b": 1]), message(2, ["a": 1])])
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
    #expect(outbox.takeAll() == [message(["a": 2, "b": 1, "c": 0])])
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
    // What is too large alone takes all others with it, and itself.
    #expect(outbox.add(message(5, "a", byteCount: 10_000)).count == 2)
    #expect(outbox.takeAll().isEmpty)
    #expect(outbox.add(message(6, "a", byteCount: 9_000)).isEmpty)
  }
}
