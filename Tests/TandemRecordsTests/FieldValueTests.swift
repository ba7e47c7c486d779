import TandemRecords
import Testing

struct FieldValueTests {
  @Test("of any two values exactly one is less, or they are equal")
  func trichotomy() {
    for a in nastyValues {
      for b in nastyValues {
        let relations = [a < b, b < a, a == b].filter { $0 }
        #expect(relations.count == 1, "\(a) and \(b)")
        #expect((a == b) == (b == a), "\(a) and \(b)")
      }
    }
  }

  @Test("the order is transitive")
  func transitivity() {
    for a in nastyValues {
      for b in nastyValues where a <= b {
        for c in nastyValues where b <= c {
          #expect(a <= c, "\(a), \(b), \(c)")
        }
      }
    }
  }

  @Test("equal values have equal hashes")
  func hashes() {
    for a in nastyValues {
      for b in nastyValues where a == b { #expect(a.hashValue == b.hashValue, "\(a) and \(b)") }
    }
  }

  @Test("the nasty values stand in the order that SQLite would put them in")
  func listedOrder() {
    for (a, b) in zip(nastyValues, nastyValues.dropFirst()) where a > b {
      // The list puts three texts where a reader looks for them, not where they belong.
      #expect([a, b].allSatisfy { if case .text = $0 { true } else { false } }, "\(a) and \(b)")
    }
  }

  @Test(
    "integers and reals compare by their exact values",
    arguments: [
      (FieldValue.integer(1 << 53), FieldValue.real(0x1p53), true),
      (.integer((1 << 53) + 1), .real(0x1p53), false),
      (.integer(.max), .real(0x1p63), false),
      (.integer(.min), .real(-0x1p63), true),
      (0, .real(-0.0), true),
      (1, 1.0, true),
      (1, "1", false),
    ])
  func numbers(first: FieldValue, second: FieldValue, areEqual: Bool) {
    #expect((first == second) == areEqual)
    #expect(areEqual || first < second || second < first)
  }

  @Test("texts are equal by their bytes, not by canonical equivalence")
  func texts() {
    #expect(FieldValue.text("\u{E9}") != .text("e\u{301}"))
    #expect(FieldValue.text("e\u{301}") < .text("\u{E9}"))
    #expect(FieldValue.text("\u{FFFF}") < .text("\u{10000}"))
    #expect(FieldValue.text("a\0") > .text("a"))
  }

  @Test("null and NaN are null, and nothing else is")
  func nulls() {
    let nulls = nastyValues.filter(\.isNull)
    #expect(nulls.count == 3)
    #expect(nulls.allSatisfy { $0 == .null })
  }

  @Test("a literal true is the integer 1")
  func literals() {
    #expect(FieldValue.integer(1) == true && FieldValue.integer(0) == false)
    guard case .real = 2.0 as FieldValue else {
      Issue.record("2.0 is no real")
      return
    }
  }
}
