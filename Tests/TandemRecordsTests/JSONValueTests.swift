import Testing

@testable import TandemRecords

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

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
    #expect(throws: TextFault.self) { try JSONValue(parsing: text.utf8) }
  }

  @Test("escapes stand for what they say")
  func escapes() throws {
    let text = #""\u00e9\ud83d\ude00\/\b\f\r\t""#
    #expect(try JSONValue(parsing: text.utf8) == .string("é😀/\u{8}\u{C}\r\t"))
  }

  @Test("bytes that are not UTF-8 are an error")
  func invalidUTF8() {
    for bytes in [[0xFF], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22]] as [[UInt8]] {
      #expect(throws: TextFault.self) { try JSONValue(parsing: bytes) }
    }
  }

  @Test("nesting is bounded")
  func nesting() throws {
    let deep = { String(repeating: "[", count: $0) + String(repeating: "]", count: $0) }
    _ = try JSONValue(parsing: deep(JSONValue.maxNestingDepth).utf8)
    #expect(throws: TextFault.self) { try JSONValue(parsing: deep(100_000).utf8) }
  }

  private struct Tree: Codable, Equatable {
    var children: [Tree]

    init(depth: Int) { children = depth == 0 ? [] : [Tree(depth: depth - 1)] }
  }

  private enum Bare: Encodable {
    case nested(depth: Int)

    func encode(to encoder: any Encoder) throws {
      guard case .nested(let depth) = self else { return }
      var container = encoder.unkeyedContainer()
      for _ in 0..<depth { container = container.nestedUnkeyedContainer() }
    }
  }

  @Test("what nests deeper than is read is not encoded, however deep")
  func encodingDepth() throws {
    // A tree has an object and an array at each level.
    for (depth, maxDepth) in [(31, 64), (30, 62), (0, 2)] {
      let json = try JSONValue(encoding: Tree(depth: depth), maxNestingDepth: maxDepth)
      let text = json.description.utf8
      let parsed = try JSONValue(parsing: text, maxNestingDepth: maxDepth)
      #expect(try parsed.decoded(as: Tree.self) == Tree(depth: depth))
      #expect(throws: TextFault.self) { try JSONValue(parsing: text, maxNestingDepth: 2 * depth) }
      #expect(throws: EncodingError.self) {
        try JSONValue(encoding: Tree(depth: depth + 1), maxNestingDepth: maxDepth)
      }
    }
    #expect(throws: EncodingError.self) { try JSONValue(encoding: Tree(depth: 2_000)) }
    #expect(throws: EncodingError.self) { try JSONValue(encoding: Bare.nested(depth: 100_000)) }
    #expect(try JSONValue(encoding: Bare.nested(depth: 3)).description == "[[[[]]]]")
  }

  @Test("encoding costs as much as there is to encode")
  func effort() async {
    // To copy what there is for each element would take ten times as long as is allowed.
    await #expect(processExitsWith: .success) {
      var limit = rlimit(rlim_cur: 10, rlim_max: 10)
      #if canImport(Glibc)
        #expect(setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit) == 0)
      #else
        #expect(setrlimit(RLIMIT_CPU, &limit) == 0)
      #endif
      let numbers = Array(0..<100_000)
      let numbersJSON = try JSONValue(encoding: numbers)
      #expect(numbersJSON.textByteCount > numbers.count)
      let table = Dictionary(uniqueKeysWithValues: numbers.map { ("\($0)", $0) })
      let tableJSON = try JSONValue(encoding: table)
      #expect(tableJSON.textByteCount > numbers.count)
    }
  }

  @Test("the size of a text is known without writing it")
  func textByteCount() throws {
    let values: [JSONValue] = [
      .null, .bool(true), .bool(false), .number("-1.5e7"), .string("a\"\\\n\u{1}\u{1F}\t/é😀"),
      .array([]), .array([.null]), .array([.null, .null]), .object([:]), .object(["\n": .null]),
      .object(["a": .array([]), "b": .number("1")]), try JSONValue(encoding: Sample()),
    ]
    for value in values { #expect(value.textByteCount == value.description.utf8.count) }
  }
}
