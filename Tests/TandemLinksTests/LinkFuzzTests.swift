import TandemChannels
import TandemRecords
import TestRandom
import Testing

@testable import TandemLinks

/// Streams as a broken or hostile peer might send them: each gives messages or an error, never a trap.
struct LinkFuzzTests {
  private struct Inner: Codable, Sendable {
    var numbers: [Int]
    var table: [String: Double?]
    var next: [Inner]
  }

  private struct Thing {
    var name: String
    var small: UInt8
    var inner: Inner
  }

  private static let maxFrameByteCount = 4_096
  private let subject = LinkedSubject(
    "Thing", of: Thing.self, id: Int.self,
    properties: [
      LinkedProperty("name", \Thing.name), LinkedProperty("small", \Thing.small),
      LinkedProperty("inner", \Thing.inner),
    ])

  /// What a peer in good order sends.
  private func frames() throws -> [[UInt8]] {
    let inner = Inner(
      numbers: [0, -1, .max], table: ["a": 1.5e300, "b": nil],
      next: [Inner(numbers: [], table: [:], next: [])])
    let values: [[String: JSONValue]] = [
      ["name": .string("Tom \"\\\u{1}é😀")], ["small": .number("255"), "inner": .null],
      ["inner": try JSONValue(encoding: inner), "other": .array([.bool(true), .object([:])])], [:],
    ]
    let messages = values.map {
      ChannelMessage(
        subject: "Thing", id: .number("7"), values: $0, answers: ["small"], offers: ["name"])
    }
    let frames =
      messages.map { LinkFrame.values(LinkValues([$0], number: 1)) } + [
        .values(LinkValues(messages)), .hello(.listening(epoch: 1 << 40, acknowledged: 3)),
      ]
    return try frames.map { try $0.bytes(maxByteCount: Self.maxFrameByteCount) }
  }

  /// One mutation: a changed, missing, doubled or moved stretch, or JSON that stands elsewhere.
  private func mutate(_ bytes: inout [UInt8], _ generator: inout SplitMix64) {
    let place = Int.random(in: 0...bytes.count, using: &generator)
    let end = min(bytes.count, place + Int.random(in: 0...8, using: &generator))
    switch Int.random(in: 0..<7, using: &generator) {
    case 0:
      for index in place..<end {
        bytes[index] ^= UInt8(1) << UInt8.random(in: 0...7, using: &generator)
      }
    case 1: bytes.removeSubrange(place..<end)
    case 2: bytes.insert(contentsOf: bytes[place..<end], at: place)
    case 3: bytes.removeLast(bytes.count - place)
    case 4:
      let count = Int.random(in: 1...300, using: &generator)
      bytes.insert(contentsOf: repeatElement(UInt8(ascii: "["), count: count), at: place)
    case 5:
      let tokens = ["{", "}", "]", "\"", ",", ":", "1e999", "-", "\\ud800", "null", "\u{0}", "é"]
      bytes.insert(contentsOf: (tokens.randomElement(using: &generator) ?? "").utf8, at: place)
    default: for index in place..<end { bytes[index] = .random(in: 0...255, using: &generator) }
    }
  }

  /// Makes the length of the first frame right, so that what is inside is looked at.
  private func correctLength(of bytes: inout [UInt8]) {
    guard bytes.count >= 4 else { return }
    for place in 0..<4 {
      bytes[place] = UInt8(truncatingIfNeeded: (bytes.count - 4) >> (24 - 8 * place))
    }
  }

  @Test("30,000 mutated streams, cut anywhere, give messages or an error", arguments: 0..<3)
  func streams(seed: Int) throws {
    var generator = SplitMix64(seed: seed)
    let frames = try frames()
    var (refusedCount, messageCount, badValueCount) = (0, 0, 0)
    for _ in 0..<10_000 {
      var bytes = frames.randomElement(using: &generator) ?? []
      for _ in 0...Int.random(in: 0...2, using: &generator) { mutate(&bytes, &generator) }
      if Bool.random(using: &generator) { correctLength(of: &bytes) }
      var reader = LinkFrameReader(maxFrameByteCount: Self.maxFrameByteCount)
      let cut = Int.random(in: 0...bytes.count, using: &generator)
      do {
        let frames =
          try reader.frames(adding: bytes[..<cut]) + reader.frames(adding: bytes[cut...])
        messageCount += frames.count
        for message in frames.flatMap(\.messages) where (try? subject.decode(message)) == nil {
          badValueCount += 1
        }
      } catch {
        refusedCount += 1
      }
    }
    // So that it is known what the mutations reach: the framing, the JSON, and the values.
    #expect(refusedCount > 1_000 && messageCount > 500 && badValueCount > 50)
  }

  @Test("a message that nests too deep is an error, however deep", arguments: [65, 1_000, 200_000])
  func nesting(depth: Int) {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
      let text =
        String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
      let body = Array(
        "{\"values\":[{\"subject\":\"Thing\",\"id\":7,\"values\":{\"inner\":\(text)}}]}".utf8)
      var bytes = [0, 0, 0, 0, LinkFrame.version] + body
      correctLength(of: &bytes)
      var reader = LinkFrameReader(maxFrameByteCount: bytes.count)
      #expect(throws: ChannelLinkError.self) { try reader.frames(adding: bytes) }
    }
  }
}
