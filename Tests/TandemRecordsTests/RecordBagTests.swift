import TandemDifferences
import Testing

@testable import TandemRecords

struct RecordBagTests {
  private func list(_ text: String, _ format: RecordFormat = .csv) throws -> ListText {
    try ListText(Array(text.utf8), format: format)
  }

  private func counts(_ difference: SetDifference<some Any>) -> [Int] {
    [difference.inserted.count, difference.updated.count, difference.deleted.count]
  }

  @Test(
    "lists without a key are compared as bags, in which each record counts as often as it occurs")
  func bags() throws {
    for (old, new, expected) in [
      ("a,b\n1,x\n1,x\n2,\n", "a,b\n2,\n1,x\n1,x\n", [0, 0, 0]),
      ("a,b\n1,x\n1,x\n2,\n", "a,b\n1,x\n3,\n", [1, 0, 2]),
      ("a,b\n1,x\n", "a,b\n1,x\n1,x\n", [1, 0, 0]), ("a\n1\n", "a\n1.0\n", [1, 0, 1]),
      ("a\né\n", "a\ne\u{301}\n", [1, 0, 1]), ("a\n", "a\nx\n", [1, 0, 0]),
    ] {
      let difference = SetDifference(fromBag: try list(old), to: try list(new))
      #expect(counts(difference) == expected, "\(old) \(new)")
    }
    let json = SetDifference(
      fromBag: try list(#"[{"a":1,"b":{"x":1,"y":"é"}},{"a":1.0}]"#, .json),
      to: try list("[{\"b\":{\"y\":\"\\u00e9\", \"x\":1},\"a\":1},{\"a\":1}]", .json))
    #expect(counts(json) == [1, 0, 1])
    let stored = SetDifference(
      fromBag: [["a": 1, "b": .null], ["a": 1.0]] as [Record], to: [["a": 1], ["a": 2]])
    #expect(counts(stored) == [1, 0, 1])
  }

  @Test("an empty cell is a part of a key that has other parts")
  func emptyCells() throws {
    let text = "land,region,n\nDE,,1\nDE,BY,2\n,BY,3\n"
    var options = CSVOptions()
    options.keyFields = ["land", "Region"]
    let records = try RecordReader.records(in: Array(text.utf8), format: .csv, csv: options)
    #expect(records.map { $0["region"] } == ["", "BY", "BY"])
    #expect(records.map { $0["land"] } == ["DE", "DE", ""])
    _ = try KeyedListText(try list(text), by: ["land", "region"])
    #expect(throws: RecordError.self) {
      _ = try KeyedListText(try list("land,region\n,\n"), by: ["land", "region"])
    }
    #expect(throws: RecordError.self) { _ = try KeyedListText(try list("a,b\n,1\n"), by: ["a"]) }
    options.keyFields = ["land"]
    #expect(
      try RecordReader.records(in: Array("land,n\n,1\n".utf8), format: .csv, csv: options)[0][
        "land"]
        == .null)
  }

  @Test("a key may be a path to a value in an object of the record")
  func nestedKeys() throws {
    let text = #"""
      [{"properties":{"code":"x","n":{"m":2.50}},"a":1},{"properties":"none"},
       {"properties":{"code":[1]}},{"properties.n":{"m":true}}]
      """#
    let key = ["properties.code", "properties.n.m"]
    let records = try RecordReader.packedRecords(in: Array(text.utf8), format: .json)
    let lifted = records.lifting(key)
    #expect(lifted.map { $0["properties.code"] } == ["x", .null, .null, .null])
    #expect(lifted.map { $0["properties.n.m"] } == [2.5, .null, .null, 1])
    #expect(lifted[0].layout.nestedOffsets == [0])
    var list = try list(text, .json)
    list.lift(key)
    #expect(list.records[0]["properties.code"] == .text("x"))
    #expect(list.records[0]["properties.n.m"] == .json("2.50"))
    // A field of that name is the one that is meant.
    let plain = try RecordReader.packedRecords(
      in: Array(#"[{"a.b":1,"a":{"b":2}}]"#.utf8), format: .json)
    #expect(plain.lifting(["a.b"]) == plain)
  }

  @Test("a path is lifted once, and only if the record has room for a field")
  func liftedFieldCount() throws {
    let records = try RecordReader.packedRecords(
      in: Array(#"[{"a":{"b":1}}]"#.utf8), format: .json)
    let twice = ["a.b", "a.b"]
    #expect(records.lifting(twice)[0].layout.names == ["a", "a.b"])
    var list = try list(#"[{"a":{"b":1}}]"#, .json)
    list.lift(twice)
    #expect(list.records[0].layout.names == ["a", "a.b"])
    let names = ["a"] + (1..<RecordLayout.maxFieldCount).map { "f\($0)" }
    let layout = try #require(RecordLayout(names))
    let values = [FieldValue.text(#"{"b":1}"#)] + Array(repeating: .null, count: names.count - 1)
    let full = PackedRecords([Record(uncheckedLayout: layout, values: values)])
    #expect(full.lifting(["a.b"])[0].layout.names == names)
  }

  @Test("the members of an object of objects are records with the name of the member")
  func members() throws {
    func envelope(_ json: String, _ items: String) throws(RecordError) -> RecordEnvelope {
      try RecordReader.envelope(in: Array(json.utf8), items: items)
    }
    let json = #"{"3041563": {"name": "Andorra", "at": [1]}, "b": { }}"#
    let top = try envelope(json, "*")
    #expect(top.records.map { $0["key"] } == ["3041563", "b"])
    #expect(top.records.map { $0["name"] } == ["Andorra", .null])
    #expect(top.records[0].layout.nestedOffsets == [1])
    let inner = try envelope(#"{"n":1,"data":\#(json),"next":null}"#, "data.*")
    #expect(inner.records == top.records)
    #expect(
      inner.others == .object(["n": .number("1"), "data": .object([:]), "next": .null]))
    #expect(try envelope("{}", "*").records.isEmpty)
    let text = try ListText(envelope: Array(json.utf8), items: "*")
    #expect(text.records.map { $0["key"] } == [.text("3041563"), .text("b")])
    for (json, message) in [
      (#"{"a":{},"b":[1]}"#, "record 2"), (#"{"a":1}"#, "expected an object, found a number"),
      (#"{"a":{"key":1}}"#, #"has a field "key""#), (#"{"a":{},"a":{}}"#, #"the member "a" twice"#),
      ("[{}]", "an object with the list"),
    ] {
      do throws(RecordError) {
        _ = try envelope(json, "*")
        Issue.record("\(json)")
      } catch { #expect("\(error)".contains(message), "\(error)") }
    }
  }
}
