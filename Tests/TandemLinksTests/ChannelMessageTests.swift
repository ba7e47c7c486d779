import TandemChannels
import TandemRecords
import Testing

@testable import TandemLinks

struct ChannelMessageTests {
  private let frames: [LinkFrame] = [
    .hello(counter: 7),
    .values(ChannelMessage(subject: "User", id: .string("1"), values: ["name": .string("Tom")])),
    .values(
      ChannelMessage(
        subject: "User", id: .string("1"), values: ["name": .string("Tom"), "age": .null],
        stamps: ["name": LinkStamp(counter: 300, hub: 0xAB)], answers: ["age"])),
    .hello(counter: nil),
    .values(ChannelMessage(subject: "Überschrift", id: .number("7"), values: [:])),
    .batch([
      ChannelMessage(subject: "User", id: .string("1"), values: ["age": .null], answers: ["age"]),
      ChannelMessage(subject: "Car", id: .string("1"), values: ["age": .array([.bool(true)])]),
    ]),
  ]

  private func bytes() throws -> [UInt8] {
    try frames.flatMap { try $0.bytes(maxByteCount: 1000) }
  }

  @Test("messages come out as they went in, wherever the stream is cut")
  func cuts() throws {
    let bytes = try bytes()
    let ends = try frames.reduce(into: [0]) { ends, frame in
      ends.append(ends[ends.count - 1] + (try frame.bytes(maxByteCount: 1000).count))
    }
    for cut in 0...bytes.count {
      var reader = LinkFrameReader(maxFrameByteCount: 1000)
      let first = try reader.frames(adding: bytes[..<cut])
      #expect(reader.isComplete == ends.contains(cut))
      #expect(try first + reader.frames(adding: bytes[cut...]) == frames)
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
        var reader = LinkFrameReader(maxFrameByteCount: 1000)
        if (try? reader.frames(adding: changed)) == nil { refusedCount += 1 }
      }
    }
    #expect(refusedCount > 100)
  }

  @Test("a frame that is too large, empty or of another version is refused before it is read")
  func refusals() throws {
    func code(_ bytes: [UInt8]) -> ChannelLinkError.Code? {
      var reader = LinkFrameReader(maxFrameByteCount: 1000)
      do {
        _ = try reader.frames(adding: bytes)
        return nil
      } catch { return error.code }
    }
    #expect(code([0xFF, 0xFF, 0xFF, 0xFF]) == .tooLarge)
    #expect(code([0, 0, 3, 0xE9]) == .tooLarge)
    #expect(code([0, 0, 0, 0]) == .malformed)
    let version = LinkFrame.version
    #expect(code([0, 0, 0, 1, 1]) == .unknownVersion)
    #expect(code([0, 0, 0, 1, version + 1]) == .unknownVersion)
    #expect(code([0, 0, 0, 1, version]) == .malformed)
    #expect(code([0, 0, 0, 3, version, 0x7B, 0x7D]) == .malformed)
    func code(json: String) -> ChannelLinkError.Code? {
      code([0, 0, 0, UInt8(json.utf8.count + 1), version] + json.utf8)
    }
    let hello = try LinkFrame.hello(counter: 1).bytes(maxByteCount: 1000)
    let other = "{\"subject\":\"U\",\"id\":1,\"values\":{}"
    #expect(code(json: other + "}") == .malformed, "values came before a greeting")
    #expect(code(json: "{\"batch\":[\(other)}]}") == .malformed, "so did a batch")
    for batch in ["1", "{}", "[1]", "[{}]", "[\(other)},{\"subject\":1}]"] {
      let body = "{\"batch\":\(batch)}".utf8
      #expect(code(hello + [0, 0, 0, UInt8(body.count + 1), version] + body) == .malformed)
    }
    let more = ["1", "{\"a\":1}", "{\"a\":[1]}"].map { "\"stamps\":" + $0 } + ["\"answers\":1"]
    for field in more {
      let body = "\(other),\(field)}".utf8
      #expect(code(hello + [0, 0, 0, UInt8(body.count + 1), version] + body) == .malformed)
    }
    for counter in ["-1", "1.5", "\"1\"", "[]", "4503599627370497"] {
      #expect(code(json: "{\"hello\":\(counter)}") == .malformed)
    }
    #expect(code(json: "{\"hello\":4503599627370496}") == nil)
    #expect(throws: ChannelLinkError.self) { try frames[1].bytes(maxByteCount: 20) }
  }

  @Test("whether a frame fits is known without writing it")
  func fitting() throws {
    for frame in frames {
      let count = try frame.bytes(maxByteCount: 1000).count - 4
      #expect(frame.fits(maxByteCount: count) && !frame.fits(maxByteCount: count - 1))
      #expect(throws: ChannelLinkError.self) { try frame.bytes(maxByteCount: count - 1) }
    }
  }

  @Test("newer values take the place of older ones, with what is known of them; each can go alone")
  func taking() {
    func message(_ names: String, stamp: UInt64?, isAnswer: Bool) -> ChannelMessage {
      let names = names.map(String.init)
      return ChannelMessage(
        subject: "U", id: .null,
        values: .init(uniqueKeysWithValues: names.map { ($0, .bool(isAnswer)) }),
        stamps: stamp.map { stamp in
          .init(uniqueKeysWithValues: names.map { ($0, LinkStamp(counter: stamp, hub: 1)) })
        } ?? [:], answers: isAnswer ? Set(names) : [])
    }
    var whole = message("ab", stamp: 1, isAnswer: true)
    whole.take(message("bc", stamp: nil, isAnswer: false))
    #expect(
      whole.split == [
        message("a", stamp: 1, isAnswer: true), message("b", stamp: nil, isAnswer: false),
        message("c", stamp: nil, isAnswer: false),
      ])
  }
}
