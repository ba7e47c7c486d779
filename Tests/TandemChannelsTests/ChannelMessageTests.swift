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
