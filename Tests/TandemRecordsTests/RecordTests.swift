import TandemRecords
import Testing

struct RecordTests {
  @Test("the order of fields does not matter to equality")
  func order() {
    let first: Record = ["a": 1, "b": "x"]
    let second: Record = ["b": "x", "a": 1.0]
    #expect(first == second)
    #expect(first.hashValue == second.hashValue)
  }

  @Test("records of two layouts with the same names are compared in order")
  func equalLayouts() {
    let names = ["a", "\u{E9}"]
    let first = Record(names.map { (name: $0, value: 1) })
    let second = Record(names.map { (name: $0, value: 1.0) })
    let decomposed = Record(["a", "e\u{301}"].map { (name: $0, value: 1) })
    #expect(first == second && first?.layout !== second?.layout)
    #expect(first != decomposed)
  }

  @Test("an absent field is null")
  func absence() {
    let short: Record = ["a": 1]
    let long: Record = ["b": .null, "a": 1, "c": .real(.nan)]
    #expect(short == long)
    #expect(long == short)
    #expect(short.hashValue == long.hashValue)
    #expect(short["b"] == .null)
    #expect(short != ["a": 1, "b": 0])
    #expect(["a": 1, "b": 0] != short)
  }

  @Test("equality is that of the dictionaries of fields that are not null, for all small records")
  func oracle() {
    let values: [FieldValue?] = [.none, .null, 0, 1]
    var all: [Record] = []
    for a in values {
      for b in values {
        let fields = [("a", a), ("b", b)].compactMap { name, value in
          value.map { (name: name, value: $0) }
        }
        all += [Record(fields), Record(fields.reversed())].compactMap { $0 }
      }
    }
    #expect(all.count == 32)
    for first in all {
      for second in all {
        let areEqual = notNull(first) == notNull(second)
        #expect((first == second) == areEqual, "\(first) and \(second)")
        #expect(!areEqual || first.hashValue == second.hashValue)
      }
    }
  }

  private func notNull(_ record: Record) -> [String: FieldValue] {
    Dictionary(uniqueKeysWithValues: zip(record.layout.names, record.values))
      .filter { !$0.value.isNull }
  }

  @Test("names that differ only in composition are different fields")
  func names() {
    let record: Record = ["\u{E9}": 1, "e\u{301}": 2]
    #expect(record["\u{E9}"] == 1)
    #expect(record["e\u{301}"] == 2)
  }

  @Test("a record needs as many values as names, each name once")
  func refusals() throws {
    let layout = try #require(RecordLayout(["a", "b"]))
    #expect(Record(layout: layout, values: [1]) == nil)
    #expect(Record([("a", 1), ("a", 2)]) == nil)
    #expect(RecordLayout((0...RecordLayout.maxFieldCount).map(String.init)) == nil)
    #expect(RecordLayout((1...RecordLayout.maxFieldCount).map(String.init)) != nil)
  }
}
