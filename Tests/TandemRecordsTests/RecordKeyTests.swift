import Testing

@testable import TandemRecords

struct RecordKeyTests {
  @Test("keys are equal and ordered as their values are")
  func order() {
    let keys = nastyValues.flatMap { a in
      [RecordKey([a]), RecordKey([a, 1]), RecordKey([a, "é"])]
    }
    for first in keys {
      for second in keys {
        let relations = [first < second, second < first, first == second].filter { $0 }
        #expect(relations.count == 1, "\(first) and \(second)")
        if first == second { #expect(first.hashValue == second.hashValue) }
      }
    }
    #expect(RecordKey([1]) < RecordKey([1, .null]))
  }

  @Test("a key reads as its values")
  func description() {
    #expect(RecordKey([17]).description == "17")
    #expect(RecordKey(["DE", "Büsingen", 1.0]).description == "\"DE\", \"Büsingen\", 1.0")
  }

  @Test("no value has a greater abbreviation than a greater value")
  func abbreviations() {
    for a in nastyValues {
      for b in nastyValues where a <= b {
        #expect(a.abbreviation <= b.abbreviation, "\(a) and \(b)")
        if a == b { #expect(a.abbreviation == b.abbreviation, "\(a) and \(b)") }
      }
    }
  }

  @Test("abbreviations tell most values apart")
  func abbreviationsDiffer() {
    let values: [FieldValue] = [
      .null, -2, -1, 0, 1, 2, 1.5, "", "a", "b", "ab", "abcdefg", "abcdefh",
    ]
    let abbreviations = Set(values.map(\.abbreviation))
    #expect(abbreviations.count == values.count)
  }
}
