import TestRandom
import Testing

@testable import TandemDifferences

@Suite("Text patches")
struct TextPatchTests {
  typealias Edit = TextDifference.Edit
  typealias Hunk = TextPatch.Hunk
  typealias Landing = TextPatch.Outcome.Landing

  // MARK: - Examples

  @Test("a patch lands where its text has moved to")
  func moved() {
    let old = "The quick brown fox jumps over the lazy dog."
    let patch = TextPatch(from: old, to: "The quick brown cat jumps over the lazy dog.", by: .words)
    let outcome = patch.applying(to: "Look: \(old)")
    #expect(outcome.text == "Look: The quick brown cat jumps over the lazy dog.")
    #expect(outcome.landings == [Landing(offset: 22, distance: 6, mismatchCount: 0)])
    #expect(outcome.rejected == [])
  }

  @Test("later hunks are expected as far off as the one before landed")
  func drift() {
    let filler = String(repeating: "0123456789", count: 30)
    let patch = TextPatch(from: "a1b\(filler)c2d", to: "a3b\(filler)c4d", contextByteCount: 1)
    let moved = String(repeating: "-", count: 50) + "a1b\(filler)c2d"
    let outcome = patch.applying(to: moved, maxDistance: 60, maxMismatch: 0)
    #expect(outcome.landings.map { $0?.distance } == [50, 0])
  }

  @Test("a context that changed a little still fits, and its changes stay")
  func changedContext() {
    let patch = TextPatch(from: "one two three four five", to: "one two 3 four five", by: .words)
    let outcome = patch.applying(to: "One two three for five")
    #expect(outcome.text == "One two 3 for five")
    #expect(outcome.landings.map { $0?.mismatchCount } == [2])
  }

  @Test("a hunk whose deleted text is gone is reported, the others are applied")
  func rejected() {
    let patch = TextPatch(
      from: "a1bb\ncc2dd\nee3f\n", to: "a4bb\ncc5dd\nee6f\n", contextByteCount: 2)
    let outcome = patch.applying(to: "a1bb\ncc9dd\nee3f\n", maxMismatch: 1)
    #expect(outcome.text == "a4bb\ncc9dd\nee6f\n")
    #expect(outcome.rejected == [1])
  }

  @Test("a hunk too far off is reported")
  func distance() {
    let patch = TextPatch(from: "abc", to: "abXc")
    let text = String(repeating: "-", count: 11) + "abc"
    #expect(patch.applying(to: text, maxDistance: 10).rejected == [0])
    #expect(patch.applying(to: text, maxDistance: 11).text.hasSuffix("abXc"))
  }

  @Test("of a context that is too long, only the bytes nearest the edit count")
  func longContext() {
    let near = String(repeating: "near", count: TextPatch.maxContextByteCount / 4)
    let far = String(repeating: "gone ", count: 10_000)
    let edit = TextDifference.Edit(at: 1_100, deleting: "old", inserting: "new")
    let patch = TextPatch(hunks: [.init(edit, after: far + near, before: near + far)])
    let outcome = patch.applying(to: "here " + near + "old" + near + " there", maxMismatch: 0)
    #expect(outcome.text == "here " + near + "new" + near + " there")
    #expect(
      TextPatch(from: far + "a", to: far + "b", contextByteCount: .max).hunks[0]
        .leadingContext.utf8.count == TextPatch.maxContextByteCount)
  }

  @Test("no hunk splits a character of the text it lands in")
  func characters() {
    let patch = TextPatch(from: "ae", to: "aXe")
    #expect(patch.applying(to: "ae").text == "aXe")
    let flags = TextPatch(hunks: [Hunk(Edit(at: 4, inserting: "X"), after: "\u{1F1E9}", before: "")]
    )
    #expect(flags.applying(to: "\u{1F1E9}\u{1F1EA}", maxMismatch: 0).rejected == [0])
    let letter = TextPatch(hunks: [Hunk(Edit(at: 1, deleting: "e"), after: "a", before: "")])
    #expect(letter.applying(to: "ae\u{301}").rejected == [0])
    #expect(letter.applying(to: "ae").text == "a")
  }

  // MARK: - Laws

  @Test("a patch gives the new text when applied to the old one", arguments: 0..<80)
  func unchanged(seed: Int) {
    var random = SplitMix64(seed: seed)
    let old = random.text(of: TextPieces.all, count: random.below(300))
    let new = random.edited(old, editCount: random.below(12), pieces: TextPieces.all)
    for granularity in TextGranularity.allCases {
      let patch = TextPatch(from: old, to: new, by: granularity, contextByteCount: seed % 40)
      let outcome = patch.applying(to: old)
      #expect(Array(outcome.text.utf8) == Array(new.utf8))
      #expect(outcome.landings.allSatisfy { $0?.distance == 0 && $0?.mismatchCount == 0 })
    }
  }

  @Test("each hunk lands where a search of all places would put it", arguments: 0..<300)
  func oracle(seed: Int) {
    var random = SplitMix64(seed: seed)
    let pieces = seed % 2 == 0 ? ["a", "b"] : ["a", "b", "\u{301}", "\u{1F1E9}"]
    let text = random.text(of: pieces, count: random.below(24))
    let hunk = Hunk(
      Edit(
        at: random.below(20), deleting: random.text(of: pieces, count: random.below(3)),
        inserting: "X"),
      after: random.text(of: pieces, count: random.below(5)),
      before: random.text(of: pieces, count: random.below(5)))
    let (distance, mismatch) = (random.below(20), Double(random.below(11)) / 10)
    let outcome = TextPatch(hunks: [hunk])
      .applying(to: text, maxDistance: distance, maxMismatch: mismatch)
    let expected = Self.bestLanding(of: hunk, in: text, distance, mismatch)
    #expect(outcome.landings == [expected], "seed \(seed)")
    #expect(outcome.difference.applying(to: text) == outcome.text)
  }

  /// Every offset, by the words of the documentation.
  private static func bestLanding(
    of hunk: Hunk, in text: String, _ maxDistance: Int, _ maxMismatch: Double
  ) -> Landing? {
    let bytes = Array(text.utf8)
    let boundaries = TextOracle.boundaries(text)
    let deleted = Array(hunk.edit.deleted.utf8)
    let leading = Array(hunk.leadingContext.utf8)
    let trailing = Array(hunk.trailingContext.utf8)
    let landings = (0...bytes.count).compactMap { offset -> Landing? in
      let end = offset + deleted.count
      guard abs(offset - hunk.edit.offset) <= maxDistance, end <= bytes.count,
        Array(bytes[offset..<end]) == deleted, boundaries.isSuperset(of: [offset, end])
      else { return nil }
      let before = (0...offset).map { levenshtein(leading, Array(bytes[$0..<offset])) }.min()!
      let after = (end...bytes.count).map { levenshtein(trailing, Array(bytes[end..<$0])) }.min()!
      let limit = maxMismatch * Double(leading.count + trailing.count)
      guard Double(before + after) <= limit.rounded(.down) else { return nil }
      return Landing(
        offset: offset, distance: offset - hunk.edit.offset, mismatchCount: before + after)
    }
    return landings.min {
      ($0.mismatchCount, abs($0.distance), $0.offset)
        < ($1.mismatchCount, abs($1.distance), $1.offset)
    }
  }

  private static func levenshtein(_ one: [UInt8], _ other: [UInt8]) -> Int {
    if one.isEmpty || other.isEmpty { return max(one.count, other.count) }
    var table = (0...one.count).map { [$0] + Array(repeating: 0, count: other.count) }
    table[0] = Array(0...other.count)
    for row in 1...one.count {
      for column in 1...other.count {
        let replaced = table[row - 1][column - 1] + (one[row - 1] == other[column - 1] ? 0 : 1)
        table[row][column] = min(replaced, table[row - 1][column] + 1, table[row][column - 1] + 1)
      }
    }
    return table[one.count][other.count]
  }

  @Test("patches to a text that changed elsewhere give both changes", arguments: 0..<60)
  func changedElsewhere(seed: Int) {
    var random = SplitMix64(seed: seed)
    let lines = (0..<200).map { "line \($0) \(random.next())\n" }
    var (mine, theirs, both) = (lines, lines, lines)
    for index in stride(from: 5, to: 200, by: 10) {
      mine[index] = "mine \(random.next())\n"
      both[index] = mine[index]
      theirs[index - 5] = random.below(2) == 0 ? "" : "theirs \(random.next())\n"
      both[index - 5] = theirs[index - 5]
    }
    let patch = TextPatch(from: lines.joined(), to: mine.joined(), by: .lines)
    let outcome = patch.applying(to: theirs.joined())
    #expect(outcome.rejected == [], "seed \(seed)")
    #expect(outcome.text == both.joined(), "seed \(seed)")
  }

  @Test("hunks from elsewhere never trap", arguments: 0..<200)
  func hostile(seed: Int) {
    var random = SplitMix64(seed: seed)
    let offsets = [.min, -1, 0, 1, 7, 40, 1 << 60, 1 << 62, Int.max]
    let hunks = (0..<4).map { _ in
      Hunk(
        Edit(
          at: offsets[random.below(offsets.count)],
          deleting: random.text(of: TextPieces.all, count: random.below(2)),
          inserting: random.text(of: TextPieces.all, count: random.below(2))),
        after: random.text(of: TextPieces.all, count: random.below(3)),
        before: random.text(of: TextPieces.all, count: random.below(3)))
    }
    let text = random.text(of: TextPieces.all, count: random.below(30))
    let mismatches = [0, 0.5, 1, 9, -1, .nan, .infinity]
    let outcome = TextPatch(hunks: hunks).applying(
      to: text, maxDistance: offsets[random.below(offsets.count)],
      maxMismatch: mismatches[random.below(mismatches.count)])
    #expect(outcome.landings.count == hunks.count)
    #expect(outcome.difference.applying(to: text) == outcome.text)
  }
}
