import TandemRecords
import Testing

struct JSONReaderTests {
  @Test(
    "each JSON value is read as this field value",
    arguments: [
      ("0", FieldValue.integer(0)), ("-0", 0), ("-1", -1), ("1200", 1200),
      ("9007199254740993", 9_007_199_254_740_993),
      ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
      ("1.0", 1.0), ("-0.0", .real(-0.0)), ("1e2", 100.0), ("1E+2", 100.0), ("25e-1", 2.5),
      ("0.1", 0.1), ("1e-400", "1e-400"), ("123456789012345678901.0", "123456789012345678901.0"),
      ("true", 1), ("false", 0), ("null", .null),
      ("\"\"", ""), ("\"a\"", "a"), ("\"é\"", "é"), ("\"\\u00e9\\u00C9\"", "éÉ"),
      (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), ("\"\\u0000\"", "\0"),
      ("\"\\ud83d\\uDE00\"", "😀"), ("\"\u{7F}\u{2028}\"", "\u{7F}\u{2028}"),
      ("\"12345678901234567890\\n\"", "12345678901234567890\n"),
      ("[]", "[]"), ("{ }", "{}"), ("[ 1 , 2.50 , {\"a\" : \" x \"} ]", "[1,2.50,{\"a\":\" x \"}]"),
      ("[\r\n[\t] ]", "[[]]"),
      ("{\"a\":1,\"a\":[true,false,null]}", "{\"a\":1,\"a\":[true,false,null]}"),
      (
        "[123456789012345678901234567890,1e999,\"\\ud800\\/\"]",
        "[123456789012345678901234567890,1e999,\"\\ud800\\/\"]"
      ),
    ])
  func values(text: String, value: FieldValue) throws {
    for spaced in [text, " \t\(text)\n "] {
      let list = try records("[{\"a\":\(spaced)}]", .json)
      #expect(list.map(exactFields) == [["a: \(value)"]])
    }
    let line = try records(
      "{\"b\":\(text.filter { !["\n", "\r\n"].contains($0) }),\"a\":0}", .ndjson)
    #expect(line.map(exactFields) == [["b: \(value)", "a: 0"]])
  }

  @Test("records keep the order of the list and of their fields")
  func order() throws {
    let list = try records(#" [ {"b":1,"a":2} , {} , {"a":3,"":4,"b":5} ] "#, .json)
    #expect(list.map(exactFields) == [["b: 1", "a: 2"], [], ["a: 3", ": 4", "b: 5"]])
    #expect(try records("[]", .json).isEmpty)
    #expect(try records("\u{FEFF}[ ]\n", .json).isEmpty)
  }

  @Test(
    "what is no array of objects is refused, with its place",
    arguments: [
      // text, code, record, line, column
      ("", "malformed", nil, 1, 1), (" \n ", "malformed", nil, 2, 2),
      ("[", "malformed", 1, 1, 2), ("[{}", "malformed", 1, 1, 4), ("[{},", "malformed", 2, 1, 5),
      ("[{}]x", "malformed", nil, 1, 5), ("[{}][]", "malformed", nil, 1, 5),
      ("[{}\n,]", "malformed", 2, 2, 2), ("[{} {}]", "malformed", 1, 1, 5),
      ("{\"a\":1}", "malformed", nil, 1, 1), ("1", "malformed", nil, 1, 1),
      ("[1]", "notARecord", 1, 1, 2), ("[{},\n [{}]]", "notARecord", 2, 2, 2),
      ("[\"a\"]", "notARecord", 1, 1, 2), ("[null]", "notARecord", 1, 1, 2),
      ("[{},true]", "notARecord", 2, 1, 5), ("[{},false]", "notARecord", 2, 1, 5),
      ("[x]", "malformed", 1, 1, 2), ("[{]", "malformed", 1, 1, 3),
      ("[{a:1}]", "malformed", 1, 1, 3), ("[{\"a\"}]", "malformed", 1, 1, 6),
      ("[{\"a\" 1}]", "malformed", 1, 1, 7), ("[{\"a\":}]", "malformed", 1, 1, 7),
      ("[{\"a\":1,}]", "malformed", 1, 1, 9), ("[{\"a\":1 \"b\":2}]", "malformed", 1, 1, 9),
      ("[{\"a\":1]", "malformed", 1, 1, 8), ("[{\"a\":'x'}]", "malformed", 1, 1, 7),
      ("[{\"a\":01}]", "malformed", 1, 1, 8), ("[{\"a\":-}]", "malformed", 1, 1, 8),
      ("[{\"a\":+1}]", "malformed", 1, 1, 7), ("[{\"a\":.5}]", "malformed", 1, 1, 7),
      ("[{\"a\":1.}]", "malformed", 1, 1, 9), ("[{\"a\":1.e2}]", "malformed", 1, 1, 9),
      ("[{\"a\":1e}]", "malformed", 1, 1, 9), ("[{\"a\":1e+}]", "malformed", 1, 1, 10),
      ("[{\"a\":0x1}]", "malformed", 1, 1, 8), ("[{\"a\":NaN}]", "malformed", 1, 1, 7),
      ("[{\"a\":nul}]", "malformed", 1, 1, 10), ("[{\"a\":trUe}]", "malformed", 1, 1, 9),
      ("[{\"a\":\"\n\"}]", "malformed", 1, 1, 8), ("[{\"a\":\"\u{1F}\"}]", "malformed", 1, 1, 8),
      ("[{\"a\":\"é\\x\"}]", "malformed", 1, 1, 11),
      ("[{\"a\":\"\\u12G4\"}]", "malformed", 1, 1, 12),
      ("[{\"a\":\u{A0}1}]", "malformed", 1, 1, 7), ("[{\"a\":1}/**/]", "malformed", 1, 1, 9),
      ("\u{FEFF}[1]", "notARecord", 1, 1, 2), ("[\u{FEFF}]", "malformed", 1, 1, 2),
      ("[{\"a\":[1,]}]", "malformed", 1, 1, 10), ("[{\"a\":[1}]", "malformed", 1, 1, 9),
      ("[{\"a\":{\"b\"}}]", "malformed", 1, 1, 11), ("[{\"a\":{1:2}}]", "malformed", 1, 1, 8),
      ("[{\"a\":{\"b\":1,}}]", "malformed", 1, 1, 14), ("[{\"a\":[tru]}]", "malformed", 1, 1, 11),
      ("[{\"a\":[\"\\q\"]}]", "malformed", 1, 1, 10), ("[{\"a\":[01]}]", "malformed", 1, 1, 9),
      ("[{\"a\":[,]}]", "malformed", 1, 1, 8), ("[{\"a\":{,}}]", "malformed", 1, 1, 8),
      ("[{},\n{\"a\":1,\"b\":2,\"a\":3}]", "duplicateField", 2, 2, 14),
      ("[{\"a\":1,\"\\u0061\":3}]", "duplicateField", 1, 1, 9),
      ("[{\"a\":\"x\\ud800\"}]", "notRepresentable", 1, 1, 9),
      ("[{\"a\":\"\\udc00\\ud800\"}]", "notRepresentable", 1, 1, 8),
      ("[{\"a\":\"\\ud800\\u0041\"}]", "notRepresentable", 1, 1, 8),
      ("[{\"\\udfff\":1}]", "notRepresentable", 1, 1, 4),
    ] as [(String, String, Int?, Int, Int)])
  func refusals(text: String, code: String, record: Int?, line: Int, column: Int) throws {
    let found = try #require(error(Array(text.utf8), .json))
    #expect(found.code.name == code, "\(found)")
    #expect(found.record == record, "\(found)")
    #expect([found.line, found.column] == [line, column], "\(found)")
    #expect(!found.message.hasSuffix("."))
  }

  @Test("an error says what is wrong, and in which field")
  func messages() throws {
    let messages = [
      #"[{"id":1,"n":"\ud800"}]"#, #"[{"id":1,}]"#, #"[{"id":tru}]"#, #"[{"id":1"#,
      #"[{"id":1,"id":2}]"#, #"{"id":1}"#, "[7]",
    ].map { error(Array($0.utf8), .json)?.description }
    #expect(
      messages == [
        "record 1 (line 1, column 15): half a surrogate pair is no character, in field \"n\"",
        "record 1 (line 1, column 10): expected a field name in quotes, found \"}\"",
        "record 1 (line 1, column 11): expected \"true\", found \"}\", in field \"id\"",
        "record 1 (line 1, column 9): the text ends too early, before \",\" or \"}\", in field "
          + "\"id\"",
        "record 1 (line 1, column 10): the record names the field \"id\" twice",
        "line 1, column 1: expected an array of objects, found an object; "
          + "one object per line is NDJSON",
        "record 1 (line 1, column 2): expected an object, found a number",
      ])
  }

  @Test(
    "bytes that are not UTF-8 are an error where they stand",
    arguments: [
      ([0x80], 8), ([0xC0, 0x80], 8), ([0xC1, 0xBF], 8), ([0xE0, 0x9F, 0xBF], 8),
      ([0xED, 0xA0, 0x80], 8), ([0xF0, 0x8F, 0xBF, 0xBF], 8), ([0xF4, 0x90, 0x80, 0x80], 8),
      ([0xF5, 0x80, 0x80, 0x80], 8), ([0xC3, 0x28], 8), ([0x61, 0xFF], 9), ([0xE2, 0x82], 8),
      ([0xC3, 0xA9, 0xC3], 10),
    ] as [([UInt8], Int)])
  func invalidUTF8(bytes: [UInt8], column: Int) throws {
    let text = Array("[{},\n{\"a\":\"".utf8.dropLast()) + [0x22] + bytes + Array("\"}]".utf8)
    let found = try #require(error(text, .json))
    #expect(found.code == .malformed)
    #expect(found.message == "these bytes are not UTF-8, in field \"a\"")
    #expect([found.record, found.line, found.column] == [2, 2, column - 1])
  }

  @Test("an error before the bytes that are not UTF-8 is the one reported")
  func errorBeforeInvalidUTF8() {
    #expect(error(Array("[1,".utf8) + [0xFF], .json)?.code == .notARecord)
    #expect(error(Array("[{}]".utf8) + [0xFF], .json)?.column == 5)
  }

  @Test("every proper start of a text is refused because it ends too early")
  func truncations() throws {
    let bytes = Array(JSONReaderTests.sample.utf8)
    #expect(error(bytes, .json) == nil)
    for count in 0..<bytes.count {
      let found = try #require(error(Array(bytes[..<count]), .json), "\(count) bytes")
      #expect(found.message.contains("ends too early"), "\(count) bytes: \(found)")
      #expect(found.code == .malformed)
    }
  }

  @Test("every change of one byte is read or refused, and what is refused has its place")
  func mutations() throws {
    try expectNoTraps(JSONReaderTests.sample, .json)
    try expectNoTraps(
      "{\"id\":1,\"é\":\"\\u00e9\"}\r\n\n{\"id\":-2.5,\"l\":[{}, 1]}\n{\"id\":true}", .ndjson)
  }

  static let sample = """
    [{"id":12,"näme":"Zürich \\u00e9\\ud83d\\ude00\\n€😀", "x":-1.25e+3, "ok":true},
     {"id":13,"näme":null,"ok":false,"list":[1, {"a":[]}, "\\"", -0.5e-1, true, null]},\r
     {}, {"näme":"no id here","id":9223372036854775807}]
    """

  @Test("nesting is limited, and deep nesting costs no stack")
  func nesting() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(try records("[{\"a\":\(nested(512))}]", .json).first?["a"] == .text(nested(512)))
    let found = try #require(error(Array("[{\"a\":\(nested(513))}]".utf8), .json))
    #expect(found.code == .limitExceeded)
    #expect(found.column == 7 + 512)
    let many = String(repeating: "{\"a\":", count: 100_000)
    #expect(error(Array("[{\"a\":\(many)".utf8), .json)?.code == .limitExceeded)
    let generous = RecordLimits(maxNestingDepth: 200_000)
    #expect(error(Array("[{\"a\":\(many)".utf8), .json, generous)?.code == .malformed)
    #expect(try records("[{\"a\":\(nested(100_000))}]", .json, generous).count == 1)
  }

  @Test("the length of a record and the number of its fields are limited")
  func limits() throws {
    let limits = RecordLimits(maxRecordByteCount: 10)
    #expect(try records("[ {\"a\":1234}   , {}]", .json, limits).count == 2)
    let found = try #require(error(Array("[{},\n{\"a\":12345}]".utf8), .json, limits))
    #expect([found.record, found.line, found.column] == [2, 2, 1])
    #expect(found.code == .limitExceeded)
    func wide(_ count: Int) -> String {
      "[{" + (0..<count).map { "\"f\($0)\":0" }.joined(separator: ",") + "}]"
    }
    #expect(try records(wide(RecordLayout.maxFieldCount), .json).count == 1)
    #expect(error(Array(wide(RecordLayout.maxFieldCount + 1).utf8), .json)?.code == .limitExceeded)
  }

  @Test(
    "NDJSON has one object per line, blank lines aside",
    arguments: [
      ("", []), ("\n\n", []), ("{\"a\":1}", ["a: 1"]), ("{\"a\":1}\n", ["a: 1"]),
      ("\u{FEFF}{\"a\":1}\r\n \t\r\n\n{ \"a\" : 2 } \n", ["a: 1", "a: 2"]),
    ] as [(String, [ExactText])])
  func lines(text: String, fields: [ExactText]) throws {
    #expect(try records(text, .ndjson).flatMap(exactFields) == fields)
  }

  @Test(
    "a line that is not one object is refused, with its place",
    arguments: [
      ("{\"a\":1}\n{\"a\":", "malformed", 2, 2, 6), ("{}\n{\"a\":\n1}", "malformed", 2, 2, 6),
      ("{} {}", "malformed", 1, 1, 4), ("{}\n\n[1]", "notARecord", 2, 3, 1),
      ("{},\n{}", "malformed", 1, 1, 3), ("{}\n5\n", "notARecord", 2, 2, 1),
      ("{}\n{\"a\":1,\"a\":2}", "duplicateField", 2, 2, 8), ("[{}]", "notARecord", 1, 1, 1),
    ])
  func lineRefusals(text: String, code: String, record: Int, line: Int, column: Int) throws {
    let found = try #require(error(Array(text.utf8), .ndjson))
    #expect(found.code.name == code)
    #expect([found.record, found.line, found.column] == [record, line, column], "\(found)")
  }

  @Test("a truncated last line is an error, as are bytes there that are not UTF-8")
  func truncatedLine() throws {
    let found = try #require(error(Array("{\"a\":1}\n{\"a\":\"x".utf8), .ndjson))
    #expect(found.message.contains("the text ends too early"))
    let line = try #require(error(Array("{\"a\":\n1}".utf8), .ndjson))
    #expect(line.message.contains("the line ends too early"))
    let bytes = try #require(error(Array("{\"a\":1}\n".utf8) + [0xFF], .ndjson))
    #expect([bytes.record, bytes.line, bytes.column] == [2, 2, 1])
    let behind = try #require(error(Array("{\"a\":1}".utf8) + [0xFF], .ndjson))
    #expect([behind.record, behind.line, behind.column] == [1, 1, 8])
  }
}
