import TandemRecords
import Testing

struct LayoutSharingTests {
  private func layoutCount(_ list: [Record]) -> Int {
    Set(list.map { ObjectIdentifier($0.layout) }).count
  }

  @Test("records with the same fields in the same order share one layout")
  func alternating() throws {
    let objects = (0..<300).map { index in
      ["{\"a\":\(index)}", "{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}", "{}"][index % 4]
    }
    let list = try records("[" + objects.joined(separator: ",") + "]", .json)
    #expect(layoutCount(list) == 4)
    #expect(list[4].layout === list[0].layout)
    #expect(layoutCount(try records("a,b\n1,2\n3,4", .csv)) == 1)
  }

  @Test("a name is the same however it is written")
  func escapedNames() throws {
    let list = try records(
      #"[{"é\n":1},{"\u00e9\u000a":2},{"a\"b":1},{"a\u0022b":2},{"":1},{"":2}]"#, .json)
    #expect(layoutCount(list) == 3)
    #expect(list.map { $0.layout.names } == [["é\n"], ["é\n"], ["a\"b"], ["a\"b"], [""], [""]])
  }

  @Test("a name that is the start of another, or of its text, is not taken for it")
  func prefixes() throws {
    let list = try records(
      #"[{"a\"b":1},{"a":2},{"ab":3},{"a":4},{"abc":5},{"a\\":6},{"é":7},{"é":8}]"#, .json)
    #expect(
      list.flatMap(exactFields) == ["a\"b: 1", "a: 2", "ab: 3", "a: 4", "abc: 5", "a\\: 6"]
        + ["\u{E9}: 7", "e\u{301}: 8"])
    #expect(error(Array(#"[{"a\"b":1},{"a"b":2}]"#.utf8), .json)?.column == 17)
  }

  @Test("more fields at one place than are compared one by one share their layouts too")
  func manySiblings() throws {
    let objects = (0..<1_000).map { "{\"f\($0 % 50)\":\($0),\"g\":0}" }
    let list = try records("[" + objects.joined(separator: ",") + "]", .json)
    #expect(layoutCount(list) == 50)
    for (index, record) in list.enumerated() {
      #expect(exactFields(record) == ["f\(index % 50): \(index)", "g: 0"])
    }
  }

  @Test("records stay right when there are more layouts than are remembered")
  func manyLayouts() throws {
    let objects = (0..<20_000).map { "{\"id\":\($0),\"f\($0)\":1,\"g\($0 % 3)\":2}" }
    let list = try records("[" + objects.joined(separator: ",") + "]", .json)
    for (index, record) in list.enumerated() {
      #expect(record.layout.names == ["id", "f\(index)", "g\(index % 3)"])
      #expect(record.values == [.integer(Int64(index)), 1, 2])
    }
  }

  @Test("a repeated field is found in any object, known or not, at any distance")
  func duplicates() {
    let known = "{\"a\":1,\"b\":2,\"c\":3}"
    for object in [
      "{\"a\":1,\"a\":2}", "{\"a\":1,\"b\":2,\"b\":3}", "{\"a\":1,\"b\":2,\"c\":3,\"a\":4}",
    ]
      + ["{\"x\":1,\"a\":2,\"x\":3}", "{\"a\":1,\"c\":2,\"b\":3,\"a\":4}", "{\"\":1,\"\":2}"]
    {
      for prefix in ["", known + ",", known + "," + known + ","] {
        #expect(error(Array("[\(prefix)\(object)]".utf8), .json)?.code == .duplicateField)
      }
    }
  }
}
