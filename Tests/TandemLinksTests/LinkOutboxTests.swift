import TandemRecords
import TestRandom
import Testing

@testable import TandemLinks

struct LinkOutboxTests {
  private func message(_ id: Int, _ values: [String: Int]) -> ChannelMessage {
    ChannelMessage(
      subject: "User", id: .number("\(id)"), values: values.mapValues { .number("\($0)") })
  }

  private func batch(_ ids: Int..., value: Int = 1) -> [ChannelMessage] {
    ids.map { message($0, ["a": value]) }
  }

  private func outbox(
    maxChannelCount: Int = 100, maxByteCount: Int = 1 << 20, remembering count: Int = 0
  ) -> LinkOutbox {
    LinkOutbox(
      options: ChannelLinkOptions(
        maxWaitingChannelCount: maxChannelCount, maxWaitingByteCount: maxByteCount),
      maxRememberedValueCount: count)
  }

  @Test("the latest value of each property waits, channels in the order of their latest values")
  func coalescing() {
    var outbox = outbox()
    for message in [message(2, ["a": 1]), message(1, ["a": 1]), message(2, ["a": 2, "b": 3])] {
      #expect(outbox.add([message]).isEmpty)
    }
    #expect(outbox.contains("b", of: message(2, [:]).address))
    #expect(!outbox.contains("b", of: message(1, [:]).address))
    #expect(
      Array(outbox.takeAll().joined()) == [message(1, ["a": 1]), message(2, ["a": 2, "b": 3])])
    #expect(outbox.takeAll() == [])
  }

  @Test("the order holds however often channels are added to", arguments: [1, 5, 100])
  func order(channelCount: Int) {
    var outbox = outbox()
    var latest: [Int: Int] = [:]
    for number in 0..<1_000 {
      let id = number * number % channelCount
      latest[id] = number
      #expect(outbox.add([message(id, ["a": number])]).isEmpty)
    }
    let expected = latest.sorted { $0.value < $1.value }.map { message($0, ["a": $1]) }
    #expect(Array(outbox.takeAll().joined()) == expected)
  }

  @Test("beyond the limit, the channel that has waited longest is lost", arguments: [1, 2, 7])
  func limit(_ limit: Int) {
    var outbox = outbox(maxChannelCount: limit)
    let lost = (0..<100).map { outbox.add([message($0, ["a": $0])]).map(\.message) }
    #expect(lost == (0..<100).map { $0 < limit ? [] : [message($0 - limit, ["a": $0 - limit])] })
    #expect(
      Array(outbox.takeAll().joined()) == (100 - limit..<100).map { message($0, ["a": $0]) })
  }

  @Test("of a hub that remembers enough, dropped values are read from its memory")
  func memory() {
    var outbox = outbox(maxChannelCount: 2, remembering: 5)
    for id in 0..<7 { #expect(outbox.add(batch(id)).isEmpty) }
    #expect(outbox.contains("a", of: message(0, [:]).address))
    let forgotten = ChannelMessage(subject: "User", id: .number("0"), values: ["a": .null])
    #expect(outbox.add(batch(7)).map(\.message) == [forgotten], "the hub remembers 3 to 7")
    outbox.remove(message(1, ["a": 0]))
    #expect(outbox.add(batch(2, value: 9)).map(\.message) == [])
    #expect(!outbox.needsMemory)
    #expect(outbox.takeAll().joined().map(\.id) == [.number("7"), .number("2")])
    #expect(outbox.needsMemory)
    // The hub has forgotten 5; 1 has been removed; 6 was dropped for 2.
    let memory =
      [message(1, ["a": 1]), message(3, ["a": 1, "b": 2]), message(4, ["a": 4])] + batch(6)
    let (batch, losses) = outbox.takeAll(with: memory, andRest: .none)
    #expect(batch == [message(3, ["a": 1]), message(4, ["a": 4])] + self.batch(6))
    #expect(losses.map(\.message.id) == [.number("5")] && !outbox.needsMemory)
  }

  @Test("the order takes no more memory, however many channels are dropped", arguments: [0, 50])
  func boundedOrder(remembering count: Int) {
    var outbox = outbox(maxChannelCount: 10, remembering: count)
    for id in 0..<10_000 {
      _ = outbox.add([message(id, ["a": id]), message(-id, ["a": id, "b": id])])
    }
    #expect(outbox.turnCount < 300)
  }

  @Test("the rest of the memory is taken with what waits, as values or as offers")
  func rest() {
    for isOffer in [false, true] {
      var outbox = outbox()
      #expect(outbox.add([message(1, ["a": 5]), message(9, ["a": 5])]).isEmpty)
      let (batch, losses) = outbox.takeAll(
        with: [message(2, ["a": 1]), message(1, ["a": 4, "b": 3])],
        andRest: isOffer ? .offers : .values)
      var expected = [message(2, ["a": 1]), message(1, ["a": 5, "b": 3]), message(9, ["a": 5])]
      if isOffer { (expected[0].offers, expected[1].offers) = (["a"], ["b"]) }
      #expect(batch == expected && losses.isEmpty && outbox.takeAll() == [])
    }
  }

  @Test("beyond the limit in bytes, the channels that have waited longest are lost")
  func bytes() {
    var outbox = outbox(maxChannelCount: 1000, maxByteCount: 10_000)
    func message(_ id: Int, _ name: String, byteCount: Int) -> ChannelMessage {
      ChannelMessage(
        subject: "User", id: .number("\(id)"),
        values: [name: .array([.string(String(repeating: "x", count: byteCount))])])
    }
    func add(_ message: ChannelMessage) -> [ChannelMessage] { outbox.add([message]).map(\.message) }
    // The same property again replaces the value that waits, and takes no more room.
    for _ in 0..<100 { #expect(add(message(1, "a", byteCount: 3_000)).isEmpty) }
    #expect(add(message(2, "a", byteCount: 3_000)).isEmpty)
    #expect(add(message(3, "a", byteCount: 3_000)).isEmpty)
    #expect(
      add(message(3, "b", byteCount: 5_000))
        == [message(1, "a", byteCount: 3_000), message(2, "a", byteCount: 3_000)])
    // A value that is too large alone takes no other one with it.
    let large = message(5, "a", byteCount: 10_000)
    #expect(outbox.add([large]) == [.init(message: large, isNew: true)])
    // A value that is too large together with the rest of its channel takes that rest.
    #expect(add(message(3, "c", byteCount: 4_000)).map { $0.values.keys.sorted() } == [["a", "b"]])
    #expect(outbox.takeAll().joined().map(\.id) == [.number("3")])
    #expect(add(message(6, "a", byteCount: 9_800)).isEmpty, "nothing is counted any more")
  }

  // MARK: Batches

  @Test("batches are taken as they were added; those that share a value are one")
  func batches() {
    var outbox = outbox()
    for batch in [batch(1, 2), batch(3), batch(4, 5)] { #expect(outbox.add(batch).isEmpty) }
    #expect(outbox.takeAll() == [batch(1, 2), batch(3), batch(4, 5)])
    for batch in [batch(0), batch(1, 2), batch(3), batch(1, value: 2), batch(4)] {
      #expect(outbox.add(batch).isEmpty)
    }
    #expect(outbox.takeAll() == [batch(0), batch(2, 3) + batch(1, value: 2), batch(4)])
  }

  @Test("batches that are put back are older than those that wait")
  func puttingBack() {
    var outbox = outbox()
    #expect(outbox.add(batch(4, value: 2)).isEmpty)
    #expect(outbox.add(batch(6)).isEmpty)
    #expect(outbox.putBack([batch(1, 2), batch(3, 4), batch(5)]).isEmpty)
    #expect(outbox.takeAll() == [batch(1, 2), batch(3, 5) + batch(4, value: 2), batch(6)])
  }

  @Test(
    "a batch of more channels than may wait is not dropped; one of too many bytes is lost in part")
  func largeBatches() {
    var outbox = outbox(maxChannelCount: 2, maxByteCount: 1_000)
    #expect(outbox.add(batch(0)).isEmpty)
    #expect(outbox.add(batch(1, 2, 3, 4)) == [.init(message: message(0, ["a": 1]), isNew: false)])
    #expect(outbox.takeAll() == [batch(1, 2, 3, 4)])
    let large = (0..<20).map { message($0, ["a": 1]) }
    let lost = outbox.add(large)
    #expect(lost.map(\.message) == Array(large.prefix(lost.count)) && lost.allSatisfy(\.isNew))
    #expect(lost.count > 5 && lost.count < 20)
    #expect(Array(outbox.takeAll().joined()) == Array(large.dropFirst(lost.count)))
  }

  @Test("after each batch that is taken, the values are those after one that was sent")
  func law() {
    for seed in 0..<300 as Range<UInt64> {
      var generator = SplitMix64(seed: seed)
      var outbox = outbox()
      var sent: [[String: Int]] = [[:]]
      var received: [String: Int] = [:]
      var reached = 0
      func receive() {
        for batch in outbox.takeAll() {
          for message in batch {
            for (name, value) in message.values {
              received["\(message.id) \(name)"] = Int("\(value)")
            }
          }
          let next = sent.indices.dropFirst(reached).first { sent[$0] == received }
          #expect(next != nil, "seed \(seed): \(received) was never so after \(reached)")
          reached = next ?? reached
        }
      }
      for number in 1...40 {
        var state = sent[sent.count - 1]
        let ids = Set((0..<3).map { _ in Int.random(in: 0..<6, using: &generator) })
        let batch = ids.sorted().map { id in
          message(id, Bool.random(using: &generator) ? ["a": number] : ["b": number])
        }
        for message in batch {
          for name in message.values.keys { state["\(message.id) \(name)"] = number }
        }
        sent.append(state)
        #expect(outbox.add(batch).isEmpty)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: receive()
        case 1: #expect(outbox.putBack(outbox.takeAll()).isEmpty)
        default: break
        }
      }
      receive()
      #expect(received == sent[sent.count - 1], "seed \(seed)")
    }
  }
}
