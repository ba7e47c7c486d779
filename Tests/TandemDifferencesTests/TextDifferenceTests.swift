import Foundation
import TestRandom
import Testing

@testable import TandemDifferences

@Suite("Text differences")
struct TextDifferenceTests {
  typealias Edit = TextDifference.Edit

  /// Everything that is promised of a difference of any two texts; a description of what is broken.
  static func violation(
    from old: String, to new: String, by granularity: TextGranularity
  ) -> String? {
    let difference = TextDifference(from: old, to: new, by: granularity)
    func broken(_ promise: String) -> String {
      "\(promise): \(old.debugDescription) to \(new.debugDescription) by \(granularity)"
    }
    guard let applied = difference.applying(to: old), Array(applied.utf8) == Array(new.utf8) else {
      return broken("applying gives the new text")
    }
    guard TextOracle.applying(difference.edits, to: old) == Array(new.utf8) else {
      return broken("the edits give the new text")
    }
    let back = difference.inverted.applying(to: new).map { Array($0.utf8) }
    guard back == Array(old.utf8), difference.inverted.inverted == difference else {
      return broken("the inverse leads back")
    }
    guard TextDifference(edits: difference.edits) == difference else {
      return broken("edits are in order, apart and not empty")
    }
    guard difference.isEmpty == (Array(old.utf8) == Array(new.utf8)) else {
      return broken("empty if and only if equal")
    }
    guard splitsNoCharacter(difference, from: old, to: new) else {
      return broken("no character is split")
    }
    let read = try? TextDifference(delta: difference.delta, from: old)
    guard read == difference else { return broken("the delta is read back") }
    return nil
  }

  static func splitsNoCharacter(
    _ difference: TextDifference, from old: String, to new: String
  ) -> Bool {
    func ends(_ difference: TextDifference) -> Set<Int> {
      Set(difference.edits.flatMap { [$0.offset, $0.offset + $0.deleted.utf8.count] })
    }
    return ends(difference).isSubset(of: TextOracle.boundaries(old))
      && ends(difference.inverted).isSubset(of: TextOracle.boundaries(new))
  }

  static func changedCount(_ edits: [Edit], _ tokens: (String) -> Int) -> Int {
    edits.reduce(0) { $0 + tokens($1.deleted) + tokens($1.inserted) }
  }

  // MARK: - Examples

  @Test("a word replaced is one edit, at its UTF-8 offset")
  func example() {
    let difference = TextDifference(from: "Grüße, Welt!", to: "Grüße, Leute!", by: .words)
    #expect(difference.edits == [Edit(at: 9, deleting: "Welt", inserting: "Leute")])
  }

  @Test("a letter that loses its accent is replaced whole")
  func accent() {
    let difference = TextDifference(from: "xe\u{301}y", to: "xey")
    #expect(difference.edits == [Edit(at: 1, deleting: "e\u{301}", inserting: "e")])
  }

  @Test("an accent that joins a kept letter replaces the letter")
  func joiningAccent() {
    let difference = TextDifference(from: "abcde", to: "abcde\u{301}")
    #expect(difference.edits == [Edit(at: 4, deleting: "e", inserting: "e\u{301}")])
  }

  @Test("a family that loses a child is replaced whole")
  func family() {
    let (three, two) = ("👩‍👩‍👧", "👩‍👩")
    let difference = TextDifference(from: "x\(three)y", to: "x\(two)y")
    #expect(difference.edits == [Edit(at: 1, deleting: three, inserting: two)])
  }

  @Test("a line feed alone and one after a carriage return are different characters")
  func lineEnds() {
    let difference = TextDifference(from: "one\r\ntwo", to: "one\ntwo")
    #expect(difference.edits == [Edit(at: 3, deleting: "\r\n", inserting: "\n")])
  }

  @Test("a flag before other flags does not re-pair them")
  func flags() {
    let difference = TextDifference(from: "🇫🇷🇩🇪", to: "🇮🇹🇫🇷🇩🇪")
    #expect(difference.edits == [Edit(at: 0, inserting: "🇮🇹")])
  }

  @Test("half a flag before other flags changes all of them")
  func halfAFlag() {
    let flags = String(repeating: "🇩🇪", count: 1_000)
    let difference = TextDifference(from: flags, to: "\u{1F1EA}" + flags)
    #expect(difference.edits.count == 1)
    #expect(Self.violation(from: flags, to: "\u{1F1EA}" + flags, by: .characters) == nil)
  }

  @Test("a composed and a decomposed letter differ")
  func canonicalEquivalence() {
    #expect("\u{E9}" == "e\u{301}")
    let difference = TextDifference(from: "\u{E9}", to: "e\u{301}")
    #expect(difference.edits.count == 1)
    #expect(difference.applying(to: "e\u{301}") == nil)
    let composed = Edit(at: 0, deleting: "\u{E9}")
    let decomposed = Edit(at: 0, deleting: "e\u{301}")
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed]).count == 2)
  }

  @Test("fewer than four kept characters do not separate two edits")
  func minimumKept() {
    #expect(TextDifference(from: "1abc2", to: "3abc4").edits.count == 1)
    #expect(TextDifference(from: "1abcd2", to: "3abcd4").edits.count == 2)
  }

  @Test("insertions that touch when one slides are one")
  func sliding() {
    let difference = TextDifference(from: "    f()", to: "    // f()")
    #expect(difference.edits == [Edit(at: 4, inserting: "// ")])
  }

  // MARK: - Laws

  @Test(
    "every difference of short texts keeps its promises", arguments: TextGranularity.allCases,
    [TextPieces.letters, TextPieces.accents, TextPieces.emoji, TextPieces.scripts])
  func exhaustive(granularity: TextGranularity, pieces: [String]) {
    let texts = TextPieces.texts(of: pieces, upTo: 3)
    for old in texts {
      for new in texts {
        if let violation = Self.violation(from: old, to: new, by: granularity) {
          Issue.record("\(violation)")
          return
        }
      }
    }
  }

  @Test(
    "every difference of random texts keeps its promises", arguments: TextGranularity.allCases,
    0..<60)
  func random(granularity: TextGranularity, seed: Int) {
    var random = SplitMix64(seed: seed)
    let pieces = [
      TextPieces.letters, TextPieces.accents, TextPieces.emoji, TextPieces.scripts, TextPieces.all,
    ][seed % 5]
    let old = random.text(of: pieces, count: random.below(400))
    let new = random.edited(old, editCount: random.below(40), pieces: pieces)
    let unrelated = random.text(of: pieces, count: random.below(1_500))
    #expect(Self.violation(from: old, to: new, by: granularity) == nil)
    #expect(Self.violation(from: old, to: unrelated, by: granularity) == nil)
    #expect(Self.violation(from: unrelated, to: old, by: granularity) == nil)
  }

  @Test("lines and words change as few as can be", arguments: 0..<150)
  func minimal(seed: Int) {
    var random = SplitMix64(seed: seed)
    let pieces = ["a\n", "b\n", "c\n", "d\r\n"]
    let old = random.text(of: pieces, count: random.below(60))
    let new = random.edited(old, editCount: random.below(9), pieces: pieces)
    let edits = TextDifference(from: old, to: new, by: .lines).edits
    let changed = Self.changedCount(edits) { TextOracle.lines($0).count }
    #expect(changed == TextOracle.distance(TextOracle.lines(old), TextOracle.lines(new)))

    let words = ["-", "+", "*", "\n", "\u{4E2D}"]
    let (one, other) = (random.text(of: words, count: 60), random.text(of: words, count: 50))
    let wordEdits = TextDifference(from: one, to: other, by: .words).edits
    let changedWords = Self.changedCount(wordEdits) { $0.count }
    #expect(
      changedWords
        == TextOracle.distance(TextOracle.characters(one), TextOracle.characters(other)))
  }

  @Test("edits by characters have four kept characters between them", arguments: 0..<40)
  func minimumKept(seed: Int) {
    var random = SplitMix64(seed: seed)
    let old = random.text(of: TextPieces.all, count: 300)
    let new = random.edited(old, editCount: 30, pieces: TextPieces.all)
    let edits = TextDifference(from: old, to: new).edits
    for (edit, next) in zip(edits, edits.dropFirst()) {
      let end = edit.offset + edit.deleted.utf8.count
      let kept = String(decoding: Array(old.utf8)[end..<next.offset], as: UTF8.self)
      #expect(kept.count >= TextDifference.minimumKeptCharacterCount)
    }
  }

  // MARK: - Beyond the bound

  @Test("texts of no common part, of one letter, and periodic ones are compared all the same")
  func adversarial() {
    let texts = [
      String(repeating: "a", count: 5_000), String(repeating: "ab", count: 2_600),
      String(repeating: "abcabcabd\n", count: 700), String(repeating: "\n", count: 3_000),
      (0..<1_500).map { "\($0)\n" }.joined(), (0..<1_500).reversed().map { "\($0)\n" }.joined(),
      String(repeating: "\u{1F1E9}", count: 801), String(repeating: "e\u{301}", count: 900),
    ]
    for old in texts {
      for new in texts {
        for granularity in TextGranularity.allCases {
          #expect(Self.violation(from: old, to: new, by: granularity) == nil)
        }
      }
    }
  }

  @Test(
    "thousands of edits are found nearly as they were made", arguments: TextGranularity.allCases)
  func manyEdits(granularity: TextGranularity) {
    var random = SplitMix64(seed: 7)
    let words = (0..<900).map { _ in random.text(of: ["a", "e", "i", "n", "r", "s", "t"], count: 6)
    }
    let tokens = (0..<7_000).map { _ in
      words[random.below(words.count)] + [" ", "\n"][random.below(2)]
    }
    var edited = tokens
    var planted = 0
    for _ in 0..<700 {
      let index = random.below(edited.count)
      edited[index] = "x" + edited[index]
      planted += 1
    }
    let (old, new) = (tokens.joined(), edited.joined())
    #expect(Self.violation(from: old, to: new, by: granularity) == nil)
    let difference = TextDifference(from: old, to: new)
    #expect(difference.delta.utf8.count < planted * 8)
    #expect(difference.edits.allSatisfy { $0.deleted.isEmpty })
  }

  // MARK: - Refusals

  @Test("a difference does not fit a text that lacks what it deletes")
  func misfit() {
    let difference = TextDifference(edits: [Edit(at: 2, deleting: "cd", inserting: "x")])
    #expect(difference?.applying(to: "abcd") == "abx")
    for text in ["abce", "abc", "", "ab", "zabcd"] {
      #expect(difference?.applying(to: text) == nil)
    }
  }

  @Test("an insertion inside a scalar or beyond the end does not fit")
  func insideScalar() {
    let difference = TextDifference(edits: [Edit(at: 1, inserting: "x")])
    #expect(difference?.applying(to: "ab") == "axb")
    #expect(difference?.applying(to: "a") == "ax")
    #expect(difference?.applying(to: "\u{E9}") == nil)
    #expect(difference?.applying(to: "") == nil)
  }

  @Test("edits that touch, overlap, do nothing or lie out of bounds are refused")
  func refusedEdits() {
    let refused: [[Edit]] = [
      [Edit(at: -1, inserting: "x")], [Edit(at: .max, inserting: "x")], [Edit(at: .min)],
      [Edit(at: 0)], [Edit(at: 1, inserting: "x"), Edit(at: 1, deleting: "y")],
      [Edit(at: 0, deleting: "abc"), Edit(at: 2, deleting: "c")],
      [Edit(at: 4, inserting: "x"), Edit(at: 2, inserting: "x")],
      [Edit(at: 0, deleting: "a"), Edit(at: 1, deleting: "b")],
    ]
    for edits in refused { #expect(TextDifference(edits: edits) == nil) }
    #expect(TextDifference(edits: [])?.isEmpty == true)
  }

  @Test("a difference survives JSON, and one that is out of order is refused")
  func codable() throws {
    let difference = TextDifference(from: "one two\r\n", to: "on\u{E9} three two")
    let data = try JSONEncoder().encode(difference)
    #expect(try JSONDecoder().decode(TextDifference.self, from: data) == difference)
    let edit = #"{"offset":1,"deleted":"x","inserted":""}"#
    let twice = Data(#"{"edits":[\#(edit),\#(edit)]}"#.utf8)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(TextDifference.self, from: twice)
    }
  }
}
