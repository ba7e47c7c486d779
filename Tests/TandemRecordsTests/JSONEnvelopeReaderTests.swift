import TandemRecords
import Testing

@Suite("Lists inside of objects")
struct JSONEnvelopeReaderTests {
  private func read(_ text: String, items: String = "items") throws -> RecordEnvelope {
    try RecordReader.envelope(in: Array(text.utf8), items: items)
  }

  @Test("the list is read, and the fields before and after it")
  func fields() throws {
    let envelope = try read(
      #" {"total": 2, "items" : [ {"a": 1}, {"a": "x"} ], "next": null, "links": {"b": [1, 2]}} "#)
    #expect(envelope.records == [["a": 1], ["a": "x"]])
    #expect(
      envelope.others
        == .object([
          "total": .number("2"), "next": .null,
          "links": .object(["b": .array([.number("1"), .number("2")])]),
        ]))
  }

  @Test("a list may be inside of objects and arrays, whose other members are kept in their places")
  func inside() throws {
    let envelope = try read(#"{"a":{"b":[{}],"c":true},"a.d":1}"#, items: "a.b")
    #expect(envelope.records.count == 1)
    #expect(
      envelope.others == .object(["a": .object(["c": .bool(true)]), "a.d": .number("1")]))
    let pair = try read(#"[{"total":2}, [{"a":1},{"a":2}]]"#, items: "1")
    #expect(pair.records == [["a": 1], ["a": 2]])
    #expect(pair.others == .object(["0": .object(["total": .number("2")])]))
    #expect(try read(#"{"a":[0,{"b":[{}]}]}"#, items: "a.1.b").records.count == 1)
    #expect(try read(#"{"1":[{}]}"#, items: "1").records.count == 1)
    let error = #expect(throws: RecordError.self) { try read("[[{}]]", items: "1") }
    #expect(error?.message.contains(#"no field "1" with the list; it has "0""#) == true)
  }

  @Test("a list that is null is empty")
  func null() throws {
    #expect(try read(#"{"items": null, "more": false}"#).records.isEmpty)
    #expect(throws: RecordError.self) { try read(#"{"items": nul}"#) }
  }

  @Test("a long array beside the list is not kept, and no member is lost for it")
  func long() throws {
    let text = String(repeating: #"{"a":1},"#, count: 40_000)
    let envelope = try read(#"{"items":[{}],"included":[\#(text){}],"next":"x"}"#)
    guard case .object(let others) = envelope.others, case .string? = others["included"] else {
      Issue.record("it is kept")
      return
    }
    #expect(others["next"] == .string("x"))
  }

  @Test("a list may be empty, alone, have escapes in its name, and follow a byte order mark")
  func smallLists() throws {
    #expect(try read(#"{"items":[]}"#).records.isEmpty)
    #expect(try read(#"{"it\u0065ms":[{}]}"#).records.count == 1)
    #expect(try read("\u{FEFF}{\"é\":[{}]}", items: "é").records.count == 1)
  }

  @Test("what holds no list is an error that says what there is instead")
  func errors() {
    let examples = [
      ("{}", "none"), (#"{"a": 1}"#, #"it has "a""#), (#"{"items": 1}"#, "found \"1\""),
      (#"{"items": true}"#, "found \"t\""), ("[]", "an object with the list"),
      (#"{"items": [1]}"#, "found a number"), (#"{"items": [], "items": []}"#, "twice"),
      (#"{"items": [], "a": 1, "a": 2}"#, "twice"), (#"{"items": []} {}"#, "end of the text"),
    ]
    for (text, words) in examples {
      let error = #expect(throws: RecordError.self) { try read(text) }
      #expect(error?.message.contains(words) == true, "\(text): \(error.map { "\($0)" } ?? "")")
    }
    let error = #expect(throws: RecordError.self) { try read("{\"items\": [{},\n{\"a\": x}]}") }
    #expect(error?.record == 2)
    #expect(error?.line == 2)
  }

  @Test("a text that is cut off anywhere is an error")
  func cuts() throws {
    let text = #"{"total": 2, "items": [{"a": "é"}, {"b": [1.5, {}]}], "next": "n"}"#
    #expect(try read(text).records.count == 2)
    let bytes = Array(text.utf8)
    for cut in bytes.indices {
      #expect(throws: RecordError.self) {
        try RecordReader.envelope(in: Array(bytes[..<cut]), items: "items")
      }
    }
  }
}
