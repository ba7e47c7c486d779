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
    #expect(envelope.others == ["total": 2, "next": .null, "links": #"{"b":[1,2]}"#])
    #expect(envelope.others.layout.names == ["total", "next", "links"])
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
      (#"{"items": null}"#, "found \"n\""), ("[]", "an object with the list"),
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
