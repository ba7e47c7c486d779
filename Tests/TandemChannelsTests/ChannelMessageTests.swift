import Testing

@testable import TandemChannels

struct ChannelMessageTests {
  private let messages = [
    ChannelMessage(subject: "User", id: .string("1"), values: ["name": .string("Tom")]),
    ChannelMessage(
      subject: "User", id: .string("1"), values: ["name": .string("Tom")],
      stamps: ["name": LinkStamp(counter: 300, hub: 0xAB)]),
    ChannelMessage(subject: "Überschrift", id: .number("7"), values: [:]),
  ]

  private func bytes() throws -> [UInt8] {
    try messages.flatMap { try $0.frame(maxByteCount: 1000) }
  }

  @Test("messages come out as they went in, wherever the stream is cut")
  func cuts() throws {
    let bytes = try bytes()
    let ends = try messages.reduce(into: [0]) { ends, message in
      ends.append(ends[ends.count - 1] + (try message.frame(maxByteCount: 1000).count))
    }
    for cut in 0...bytes.count {
      var reader = ChannelMessageReader(maxFrameByteCount: 1000)
      let first = try reader.messages(adding: bytes[..<cut])
      #expect(reader.isComplete == ends.contains(cut))
      #expect(try first + reader.messages(adding: bytes[cut...]) == messages)
      #expect(reader.isComplete)
    }
  }

  @Test("any changed byte gives messages or an error, never a trap")
  func changes() throws {
    let bytes = try bytes()
    var refusedCount = 0
    for place in bytes.indices {
      for value in [0, 1, 0x22, 0x5B, 0x7F, 0x80, 0xFF] as [UInt8] {
        var changed = bytes
        changed[place] = value
        var reader = ChannelMessageReader(maxFrameByteCount: 1000)
        if (try? reader.messages(adding: changed)) == nil { refusedCount += 1 }
      }
    }
    #expect(refusedCount > 100)
  }

  @Test("a frame that is too large, empty or of another version is refused before it is read")
  func refusals() throws {
    func code(_ bytes: [UInt8]) -> ChannelLinkError.Code? {
      var reader = ChannelMessageReader(maxFrameByteCount: 1000)
      do {
        _ = try reader.messages(adding: bytes)
        return nil
      } catch { return error.code }
    }
    #expect(code([0xFF, 0xFF, 0xFF, 0xFF]) == .tooLarge)
    #expect(code([0, 0, 3, 0xE9]) == .tooLarge)
    #expect(code([0, 0, 0, 0]) == .malformed)
    let version = ChannelMessage.version
    #expect(code([0, 0, 0, 1, 1]) == .unknownVersion)
    #expect(code([0, 0, 0, 1, version + 1]) == .unknownVersion)
    #expect(code([0, 0, 0, 1, version]) == .malformed)
    #expect(code([0, 0, 0, 3, version, 0x7B, 0x7D]) == .malformed)
    for stamps in ["1", "{\"a\":1}", "{\"a\":[1]}"] {
      let body = "{\"subject\":\"U\",\"id\":1,\"values\":{},\"stamps\":\(stamps)}"
      #expect(code([0, 0, 0, UInt8(body.utf8.count + 1), version] + body.utf8) == .malformed)
    }
    #expect(throws: ChannelLinkError.self) { try messages[0].frame(maxByteCount: 20) }
  }
}

struct LinkOutboxTests {
  private func message(_ id: Int, _ values: [String: Int]) -> ChannelMessage {
    ChannelMessage(
      subject: "User", id: .number("\(id)"), values: values.mapValues { .number("\($0)") })
  }

  @Test("the latest value of each property waits, channels in the order in which they began to")
  func coalescing() {
    let outbox = LinkOutbox(maxChannelCount: 10)
    #expect(outbox.add(message(2, ["a": 1])) == nil)
    #expect(outbox.add(message(1, ["a": 1])) == nil)
    #expect(outbox.add(message(2, ["a": 2, "b": 3])) == nil)
    #expect(outbox.takeAll() == [message(2, ["a": 2, "b": 3]), message(1, ["a": 1])])
    #expect(outbox.takeAll().isEmpty)
  }

  @Test(
    "beyond the bound, the channel that has waited longest is dropped, and told of",
    arguments: [1, 2, 7])
  func bound(_ bound: Int) {
    let outbox = LinkOutbox(maxChannelCount: bound)
    let dropped = (0..<100).map { outbox.add(message($0, ["a": $0])) }
    #expect(dropped == (0..<100).map { $0 < bound ? nil : message($0 - bound, ["a": $0 - bound]) })
    #expect(outbox.takeAll() == (100 - bound..<100).map { message($0, ["a": $0]) })
  }

  @Test("what is put back is older than what was added since, and told of if there is no room")
  func puttingBack() {
    let outbox = LinkOutbox(maxChannelCount: 2)
    #expect(outbox.add(message(1, ["a": 2])) == nil)
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
    let outbox = LinkOutbox(maxChannelCount: 2)
    #expect(outbox.add(message(["a": 1, "b": 1])) == nil)
    #expect(outbox.add(message(["a": 2])) == nil)
    #expect(outbox.putBack([message(["b": 0, "c": 0])]).isEmpty)
    #expect(outbox.takeAll() == [message(["a": 2, "b": 1, "c": 0])])
  }
}
