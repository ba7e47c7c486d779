import TandemDifferences
import TestRandom
import Testing

@Suite("Text merges")
struct TextMergeTests {
  static func identical(_ one: String?, _ other: String) -> Bool {
    one.map { Array($0.utf8) } == Array(other.utf8)
  }

  // MARK: - Examples

  @Test("edits of different lines merge")
  func lines() {
    let merge = TextMerge(base: "a\nb\nc\nd\n", local: "A\nb\nc\nd\n", remote: "a\nb\nc\nD\ne\n")
    #expect(merge.merged == "A\nb\nc\nD\ne\n")
    #expect(merge.conflicts.isEmpty)
  }

  @Test("edits of different words of a line merge, unless merging by lines")
  func words() {
    let (base, local, remote) = ("one two three", "One two three", "one two 3")
    #expect(TextMerge(base: base, local: local, remote: remote).merged == "One two 3")
    #expect(TextMerge(base: base, local: local, remote: remote, by: .lines).merged == nil)
  }

  @Test("different edits of one word conflict, unless merging by characters")
  func characters() {
    let (base, local, remote) = ("hello", "Hello", "hellos")
    #expect(TextMerge(base: base, local: local, remote: remote).merged == nil)
    let merge = TextMerge(base: base, local: local, remote: remote, by: .characters)
    #expect(merge.merged == "Hellos")
  }

  @Test("two edits of a number do not make a third number")
  func numbers() {
    #expect(TextMerge(base: "10", local: "15", remote: "20").merged == nil)
    #expect(TextMerge(base: "10", local: "15", remote: "20", by: .characters).merged == nil)
  }

  @Test("a conflict is the whole lines of the three versions, with their places")
  func conflict() throws {
    let merge = TextMerge(
      base: "é\none two\nz\n", local: "é\nx\none 2\nz\n", remote: "one ii\nz\ny\n")
    let conflict = try #require(merge.conflicts.first)
    #expect(merge.conflicts.count == 1)
    #expect(merge.merged == nil)
    #expect(conflict.base == "é\none two\n")
    #expect(conflict.local == "é\nx\none 2\n")
    #expect(conflict.remote == "one ii\n")
    #expect(conflict.baseRange == 0..<11)
    #expect(conflict.localRange == 0..<11)
    #expect(conflict.remoteRange == 0..<7)
    let marked = merge.resolved { "<\n\($0.local)|\n\($0.base)=\n\($0.remote)>\n" }
    #expect(marked == "<\né\nx\none 2\n|\né\none two\n=\none ii\n>\nz\ny\n")
  }

  @Test("deleting a line conflicts with editing it")
  func deletion() {
    let merge = TextMerge(base: "a\nb c\nd\n", local: "a\nd\n", remote: "a\nb x\nd\n")
    #expect(merge.conflicts.map(\.local) == [""])
    #expect(merge.conflicts.map(\.remote) == ["b x\n"])
  }

  @Test("different insertions at one place conflict, equal ones are taken once")
  func insertions() {
    #expect(TextMerge(base: "a\n", local: "a\nb\n", remote: "a\nc\n").conflicts.count == 1)
    #expect(TextMerge(base: "a\n", local: "a\nb\n", remote: "a\nb\n").merged == "a\nb\n")
  }

  // MARK: - Laws

  @Test(
    "all merges of short texts keep their promises", arguments: TextGranularity.allCases,
    [["a", "b", "\n"], ["e", "\u{301}", "-"]])
  func exhaustive(granularity: TextGranularity, pieces: [String]) {
    let texts = TextPieces.texts(of: pieces, upTo: 3)
    let shorter = TextPieces.texts(of: pieces, upTo: 2)
    for base in texts {
      for local in shorter {
        for remote in shorter {
          if let broken = Self.violation(base, local, remote, granularity) {
            Issue.record("\(broken): \([base, local, remote]) by \(granularity)")
            return
          }
        }
      }
    }
  }

  @Test("random merges keep their promises", arguments: 0..<200)
  func random(seed: Int) {
    var random = SplitMix64(seed: seed)
    let pieces = seed % 2 == 0 ? ["a ", "b", "c\n", "."] : TextPieces.all
    let base = random.text(of: pieces, count: random.below(120))
    let local = random.edited(base, editCount: random.below(6), pieces: pieces)
    let remote = random.edited(base, editCount: random.below(6), pieces: pieces)
    for granularity in TextGranularity.allCases {
      #expect(Self.violation(base, local, remote, granularity) == nil, "seed \(seed)")
    }
  }

  /// The promise that a merge breaks, if it does.
  private static func violation(
    _ base: String, _ local: String, _ remote: String, _ granularity: TextGranularity
  ) -> String? {
    let merge = TextMerge(base: base, local: local, remote: remote, by: granularity)
    if Array(base.utf8) == Array(remote.utf8), !identical(merge.merged, local) {
      return "one side's edits are the result"
    }
    if Array(local.utf8) == Array(remote.utf8), !identical(merge.merged, local) {
      return "equal edits are the result"
    }
    let mirrored = TextMerge(base: base, local: remote, remote: local, by: granularity)
    if !identical(mirrored.resolved { $0.remote }, merge.resolved { $0.local }) {
      return "mirrored sides mirror the result"
    }
    if (merge.merged == nil) == merge.conflicts.isEmpty { return "merged or in conflict" }
    if granularity == .lines, let expected = apartByLines(base, local, remote),
      !identical(merge.merged, expected)
    {
      return "edits that are apart are both made"
    }
    return conflictViolation(merge, base, local, remote)
  }

  private static func conflictViolation(
    _ merge: TextMerge, _ base: String, _ local: String, _ remote: String
  ) -> String? {
    func part(_ text: String, _ range: Range<Int>) -> [UInt8] { Array(Array(text.utf8)[range]) }
    for conflict in merge.conflicts {
      guard part(base, conflict.baseRange) == Array(conflict.base.utf8),
        part(local, conflict.localRange) == Array(conflict.local.utf8),
        part(remote, conflict.remoteRange) == Array(conflict.remote.utf8)
      else { return "conflicts are where they say" }
      let sides = Set([conflict.base, conflict.local, conflict.remote].map { Array($0.utf8) })
      if sides.count < 3 { return "conflicts are between three versions" }
    }
    return nil
  }

  /// The base with both sides' edits by lines, if no two of them touch; the naive way.
  private static func apartByLines(_ base: String, _ local: String, _ remote: String) -> String? {
    let one = TextDifference(from: base, to: local, by: .lines).edits
    let other = TextDifference(from: base, to: remote, by: .lines).edits
    let all = (one + other).sorted { $0.offset < $1.offset }
    return TextDifference(edits: all)?.applying(to: base)
  }
}
