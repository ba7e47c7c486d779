import TandemDifferences
import TestRandom
import Testing

@Suite("Text deltas")
struct TextDeltaTests {
  @Test("the documentation's example has the delta that it shows")
  func example() {
    let difference = TextDifference(
      from: "The cat sat on the mat.", to: "The cat sat on the sofa.", by: .words)
    #expect(difference.delta == "j-3+sofa")
  }

  @Test("equal texts have an empty delta, and an empty delta changes nothing")
  func empty() throws {
    #expect(TextDifference(from: "a", to: "a").delta == "")
    #expect(try TextDifference(delta: "", from: "anything").isEmpty)
  }

  @Test("control characters, tabs and backslashes are escaped, all else is written as it is")
  func escapes() throws {
    let text = "\\\t\n\r\0\u{1B}\u{7F}+-é👩‍👩‍👧\u{301}"
    let difference = TextDifference(from: "", to: text)
    #expect(difference.delta == #"+\\\t\n\x0d\x00\x1b\x7f+-é👩‍👩‍👧\#u{301}"#)
    #expect(try TextDifference(delta: difference.delta, from: "") == difference)
  }

  @Test("edits are separated by tabs and count from each other")
  func separate() throws {
    let edits = [
      TextDifference.Edit(at: 0, deleting: "a"), .init(at: 40, inserting: "x"),
      .init(at: 42, deleting: "cd", inserting: "-1+"),
    ]
    let difference = try #require(TextDifference(edits: edits))
    let old = "a" + String(repeating: "b", count: 41) + "cd"
    #expect(difference.delta == "-1\t13+x\t2-2+-1+")
    #expect(try TextDifference(delta: difference.delta, from: old) == difference)
  }

  @Test(
    "what is wrong with a delta is said with its place",
    arguments: [
      ("x", 0, .beyondEnd), ("6+x", 0, .beyondEnd), ("5-1", 2, .beyondEnd),
      ("zzzzzzzzzzzzzzzzzzzzzzzz+x", 0, .beyondEnd), ("1", 1, .emptyEdit), ("1+", 2, .emptyEdit),
      ("1+a\t+b", 4, .emptyEdit), ("1-", 2, .malformed), ("-0", 1, .malformed),
      ("01+a", 0, .malformed), ("1A", 1, .malformed), ("1=2", 1, .malformed),
      ("1+a\t", 4, .emptyEdit), ("\t1+a", 0, .emptyEdit), ("1-1 ", 3, .malformed),
      ("3+x", 0, .splitsScalar), ("2-1", 2, .splitsScalar), (#"+\"#, 1, .malformedEscape),
      (#"+\q"#, 1, .malformedEscape), (#"+a\x0"#, 2, .malformedEscape),
      (#"+\x0a"#, 1, .malformedEscape), (#"+\x41"#, 1, .malformedEscape),
      (#"+\x0D"#, 1, .malformedEscape), ("+a\nb", 2, .malformed),
    ] as [(String, Int, TextDeltaError.Kind)])
  func malformed(delta: String, offset: Int, kind: TextDeltaError.Kind) {
    #expect(throws: TextDeltaError(offset: offset, kind: kind)) {
      try TextDifference(delta: delta, from: "ab\u{E9}c")
    }
  }

  @Test("an error says its place and its reason")
  func errorDescription() {
    let error = TextDeltaError(offset: 7, kind: .beyondEnd)
    #expect(
      error.description == "byte 7 of the delta: more is kept or deleted than the old text has")
  }

  @Test(
    "a delta that was tampered with is refused, or is the one delta of what it says",
    arguments: 0..<200)
  func fuzzed(seed: Int) {
    var random = SplitMix64(seed: seed)
    let old = random.text(of: TextPieces.all, count: 60)
    let new = random.edited(old, editCount: 6, pieces: TextPieces.all)
    var bytes = Array(TextDifference(from: old, to: new).delta.utf8)
    let alphabet = Array("\t+-\\nx0123456789abz é\n".utf8)
    for _ in 0...random.below(4) {
      let offset = random.below(bytes.count + 1)
      let byte = alphabet[random.below(alphabet.count)]
      switch random.below(3) {
      case 0: bytes.insert(byte, at: offset)
      case 1 where offset < bytes.count: bytes.remove(at: offset)
      case 2 where offset < bytes.count: bytes[offset] = byte
      default: break
      }
    }
    let delta = String(decoding: bytes, as: UTF8.self)
    do {
      let difference = try TextDifference(delta: delta, from: old)
      #expect(Array(difference.delta.utf8) == Array(delta.utf8))
      #expect(difference.applying(to: old) != nil)
      #expect(TextDifference(edits: difference.edits) == difference)
    } catch {
      #expect((0...delta.utf8.count).contains(error.offset))
    }
  }
}
