import TandemChannels
import TandemRecords
import TestRandom
import Testing

@testable import TandemLinks

/// What was sent together waits together, and goes out together.
struct LinkOutboxBatchTests {
  private func message(_ id: Int, _ values: [String: Int]) -> ChannelMessage {
    ChannelMessage(
      subject: "User", id: .number("\(id)"), values: values.mapValues { .number("\($0)") })
  }

  private func batch(_ ids: Int..., value: Int = 1) -> [ChannelMessage] {
    ids.map { message($0, ["a": value]) }
  }

  private func outbox() -> LinkOutbox { LinkOutbox(maxChannelCount: 100, maxByteCount: 1 << 20) }

  @Test("batches are taken as they were added; those that share a value are one")
  func taking() {
    let outbox = outbox()
    for batch in [batch(1, 2), batch(3), batch(4, 5)] { #expect(outbox.add(batch).isEmpty) }
    #expect(outbox.takeAll().batches == [batch(1, 2), batch(3), batch(4, 5)])
    for batch in [batch(0), batch(1, 2), batch(3), batch(1, value: 2), batch(4)] {
      #expect(outbox.add(batch).isEmpty)
    }
    #expect(
      outbox.takeAll().batches
        == [batch(0), batch(2, 3) + batch(1, value: 2), batch(4)])
  }

  @Test("what is put back keeps its batches, and is one with those that replace some of it")
  func puttingBack() {
    let outbox = outbox()
    let first = [batch(1, 2), batch(3, 4), batch(5)]
    #expect(outbox.add(batch(4, value: 2)).isEmpty)
    #expect(outbox.add(batch(6)).isEmpty)
    #expect(outbox.putBack(first).isEmpty)
    #expect(
      outbox.takeAll().batches
        == [batch(1, 2), batch(3, 5) + batch(4, value: 2), batch(6)])
  }

  @Test("a batch of more channels than may wait is not dropped; a larger one than may wait is told")
  func bound() {
    let outbox = LinkOutbox(maxChannelCount: 2, maxByteCount: 1_000)
    #expect(outbox.add(batch(0)).isEmpty)
    let losses = outbox.add(batch(1, 2, 3, 4))
    #expect(losses == [.init(message: message(0, ["a": 1]), isNew: false)])
    #expect(!outbox.addIfRoom(for: batch(5)))
    #expect(outbox.takeAll().batches == [batch(1, 2, 3, 4)])
    #expect(outbox.addIfRoom(for: batch(1, 2)) && outbox.addIfRoom(for: batch(2, value: 2)))
    #expect(!outbox.addIfRoom(for: batch(1, 3)))
    #expect(outbox.takeAll().messages == batch(1) + batch(2, value: 2))
    let large = (0..<20).map { message($0, ["a": 1]) }
    let told = outbox.add(large)
    #expect(told.map(\.message) == Array(large.prefix(told.count)) && told.allSatisfy(\.isNew))
    #expect(told.count > 5 && told.count < 20)
    #expect(outbox.takeAll().messages == Array(large.dropFirst(told.count)))
  }

  @Test("after each batch that is taken, the values are those after one that was sent")
  func law() {
    for seed in 0..<300 as Range<UInt64> {
      var generator = SplitMix64(seed: seed)
      let outbox = outbox()
      var sent: [[String: Int]] = [[:]]
      var received: [String: Int] = [:]
      var reached = 0
      func receive() {
        for batch in outbox.takeAll().batches {
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
        case 1: #expect(outbox.putBack(outbox.takeAll().batches).isEmpty)
        default: break
        }
      }
      receive()
      #expect(received == sent[sent.count - 1], "seed \(seed)")
    }
  }

  @Test("a batch is one frame if it fits into it, and otherwise as few as its order allows")
  func frames() throws {
    let batch = (0..<50).map { message($0, ["name": $0, "age": 7]) }
    let whole = LinkFrame.frames(for: batch, maxByteCount: 1 << 20)
    #expect(whole.frames == [.batch(batch)] && whole.misfits.isEmpty)
    #expect(LinkFrame.frames(for: [batch[0]], maxByteCount: 1_000).frames == [.values(batch[0])])
    #expect(LinkFrame.frames(for: [], maxByteCount: 1_000).frames.isEmpty)
    for maxByteCount in 60...600 {
      let (frames, misfits) = LinkFrame.frames(for: batch, maxByteCount: maxByteCount)
      #expect(frames.flatMap(\.messages) == batch && misfits.isEmpty)
      #expect(frames.allSatisfy { $0.fits(maxByteCount: maxByteCount) })
      for (frame, next) in zip(frames, frames.dropFirst()) {
        let more = LinkFrame.batch(frame.messages + next.messages.prefix(1))
        // A separator more may be counted than is there.
        #expect(!more.fits(maxByteCount: maxByteCount - 1))
      }
    }
    let parts = LinkFrame.frames(for: batch, maxByteCount: 48)
    #expect(parts.frames.flatMap(\.messages) == batch.flatMap(\.split))
    let misfits = LinkFrame.frames(for: [batch[0], message(1, [:])], maxByteCount: 45)
    #expect(misfits.misfits == batch[0].split.filter { $0.values["name"] != nil })
  }
}

extension LinkOutbox.Parcel {
  fileprivate var messages: [ChannelMessage] { batches.flatMap(\.self) }
}
