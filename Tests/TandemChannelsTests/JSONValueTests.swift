import Testing

@testable import TandemChannels

struct JSONValueTests {
  private struct Sample: Codable, Equatable {
    enum Kind: String, Codable { case big, small }
    struct Inner: Codable, Equatable { var flag: Bool, ratio: Double, nothing: Int? }

    var name = "a\"\\\n\u{1}é😀"
    var kind = Kind.small
    var numbers: [Int64] = [.min, 0, .max]
    var unsigned = UInt64.max
    var byte = UInt8(7)
    var float = Float(0.1)
    var inner = [Inner(flag: true, ratio: 1e300, nothing: nil)]
    var table = ["x": ["y": 1]]
    var empty: [String] = []
    var optional: String?
    var matrix = [[1], [], [2, 3]]
  }

  @Test("what is encoded and written is what is parsed and decoded")
  func roundTrip() throws {
    let json = try JSONValue(encoding: Sample())
    let parsed = try JSONValue(parsing: json.description.utf8)
    #expect(parsed == json)
    #expect(try parsed.decoded(as: Sample.self) == Sample())
    #expect(try JSONValue(encoding: 5 as Int?).decoded(as: Int?.self) == 5)
    #expect(try JSONValue(encoding: nil as Int?).decoded(as: Int?.self) == nil)
  }

  @Test("what JSON cannot hold exactly is refused")
  func refusals() throws {
    #expect(throws: EncodingError.self) { try JSONValue(encoding: Double.nan) }
    #expect(throws: DecodingError.self) { try JSONValue.number("300").decoded(as: UInt8.self) }
    #expect(throws: DecodingError.self) { try JSONValue.number("1.5").decoded(as: Int.self) }
    #expect(throws: DecodingError.self) { try JSONValue.number("1e999").decoded(as: Double.self) }
    #expect(throws: DecodingError.self) { try JSONValue.string("1").decoded(as: Int.self) }
    #expect(throws: DecodingError.self) { try JSONValue.array([]).decoded(as: Sample.self) }
  }

  @Test(
    "what is no JSON is an error",
    arguments: [
      "", " ", "tru", "nul", "[1,]", "[1 2]", "{\"a\":1,\"a\":2}", "{a:1}", "{\"a\"}", "01", "1.",
      "-", "+1", "1e", "\"a", "\"\u{1}\"", "\"\\x\"", "\"\\ud800\"", "\"\\u12g4\"", "1 2", "[", "{",
      "]", "NaN", "\"\\ud800\\u0041\"",
    ])
  func malformed(_ text: String) {
    #expect(throws: JSONFault.self) { try JSONValue(parsing: text.utf8) }
  }

  @Test("escapes stand for what they say")
  func escapes() throws {
    let text = #""\u00e9\ud83d\ude00\/\b\f\r\t""#
    #expect(try JSONValue(parsing: text.utf8) == .string("é😀/\u{8}\u{C}\r\t"))
  }

  @Test("nesting is bounded")
  func nesting() throws {
    let deep = { String(repeating: "[", count: $0) + String(repeating: "]", count: $0) }
    _ = try JSONValue(parsing: deep(JSONValue.maxNestingDepth).utf8)
    #expect(throws: JSONFault.self) { try JSONValue(parsing: deep(100_000).utf8) }
  }
}
