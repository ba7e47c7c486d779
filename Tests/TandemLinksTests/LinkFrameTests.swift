import TandemRecords
import Testing

@testable import TandemLinks

struct LinkFrameTests {
  private static func values(
    _ messages: ChannelMessage..., acknowledged: UInt64? = nil, sequence: UInt64? = nil
  ) -> LinkFrame {
    var values = LinkValues(messages, number: 5)
    (values.acknowledged, values.sequence) = (acknowledged, sequence)
    return .values(values)
  }

  private let frames: [LinkFrame] = [
    .hello(.connecting(client: .max, epoch: 7, sequence: LinkFrame.maxNumber)),
    .hello(.connecting(client: nil, epoch: nil, sequence: nil)),
    .hello(.listening(epoch: .max, acknowledged: 0)),
    Self.values(
      ChannelMessage(
        subject: "User", id: .string("1"), values: ["name": .string("Tom"), "age": .null],
        answers: ["age"], offers: ["name"])),
    Self.values(ChannelMessage(subject: "Überschrift", id: .number("7"), values: [:]), sequence: 8),
    Self.values(acknowledged: 3),
    Self.values(
      ChannelMessage(subject: "User", id: .string("1"), values: ["age": .null], answers: ["age"]),
      ChannelMessage(subject: "Car", id: .string("1"), values: ["age": .array([.bool(true)])])),
  ]

  private func bytes() throws -> [UInt8] {
    try frames.flatMap { try $0.bytes(maxByteCount: 1000) }
  }

  @Test("frames come out as they went in, wherever the stream is cut")
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

  @Test("any changed byte gives frames or an error, never a trap")
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
    let message = "{\"subject\":\"U\",\"id\":1,\"values\":{}"
    #expect(code(json: "{\"values\":[\(message)}]}") == nil, "as a script sends it")
    let messages = [
      "1", "{}", "[1]", "[{}]", "[\(message)},{\"subject\":1}]", "[\(message),\"answers\":1}]",
    ]
    let numbers = ["-1", "1.5", "\"1\"", "[]", "9007199254740993"]
    let greetings = ["1", "{\"epoch\":1}", "{\"client\":\"x\"}", "{\"sequence\":-1}"]
    var fields = messages.map { "\"values\":\($0)" }
    fields += numbers.map { "\"values\":[],\"number\":\($0)" }
    fields += greetings.map { "\"hello\":\($0)" }
    for field in fields { #expect(code(json: "{\(field)}") == .malformed, "\(field)") }
    #expect(code(json: "{\"hello\":{},\"values\":[]}") == .malformed)
    #expect(code(json: "{\"hello\":{}}") == nil)
    #expect(throws: ChannelLinkError.self) { try frames[1].bytes(maxByteCount: 10) }
  }

  @Test("a batch is one part if it fits into a frame, and otherwise as few as its order allows")
  func parts() throws {
    let batch = (0..<50).map {
      ChannelMessage(
        subject: "User", id: .number("\($0)"), values: ["name": .number("\($0)"), "age": .null])
    }
    #expect(LinkFrame.parts(of: batch, maxByteCount: 1 << 20) == [batch])
    #expect(LinkFrame.parts(of: [], maxByteCount: 1_000) == [])
    for maxByteCount in 190...700 {
      let parts = LinkFrame.parts(of: batch, maxByteCount: maxByteCount)
      #expect(Array(parts.joined()) == batch)
      for (part, next) in zip(parts, parts.dropFirst()) {
        let count = try LinkFrame.values(LinkValues(part, number: .max)).bytes(
          maxByteCount: maxByteCount
        ).count
        let more = try LinkFrame.values(LinkValues(part + next.prefix(1))).bytes(maxByteCount: 1000)
        #expect(count <= maxByteCount + 4)
        #expect(more.count > maxByteCount - LinkFrame.maxEnvelopeByteCount)
      }
    }
    let narrow = LinkFrame.parts(of: batch, maxByteCount: LinkFrame.maxEnvelopeByteCount + 48)
    #expect(Array(narrow.joined()) == batch.flatMap(\.split))
  }

  @Test("newer values replace older ones, with their marks; each can go alone")
  func merging() {
    func message(_ names: String, isMarked: Bool) -> ChannelMessage {
      let names = names.map(String.init)
      return ChannelMessage(
        subject: "U", id: .null,
        values: .init(uniqueKeysWithValues: names.map { ($0, .bool(isMarked)) }),
        answers: isMarked ? Set(names) : [], offers: isMarked ? Set(names) : [])
    }
    var whole = message("ab", isMarked: true)
    whole.merge(message("bc", isMarked: false))
    #expect(
      whole.split == [
        message("a", isMarked: true), message("b", isMarked: false), message("c", isMarked: false),
      ])
    #expect(whole.withoutOffers == message("bc", isMarked: false))
    #expect(message("a", isMarked: true).withoutOffers == nil)
  }
}
