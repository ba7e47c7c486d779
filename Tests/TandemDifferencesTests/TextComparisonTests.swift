import TestRandom
import Testing

@testable import TandemDifferences

@Suite("Text comparison")
struct TextComparisonTests {
  static func changes<Token: FixedWidthInteger>(
    from old: [Token], to new: [Token], by granularity: TextGranularity = .lines
  ) -> [RangePair] {
    old.withUnsafeBufferPointer { old in
      new.withUnsafeBufferPointer { new in
        TokenComparison.changes(from: old, to: new, effort: ComparisonEffort(granularity))
      }
    }
  }

  /// How many tokens change; `nil` if the changes do not lead from `old` to `new`.
  static func cost<Token>(_ changes: [RangePair], from old: [Token], to new: [Token]) -> Int?
  where Token: Equatable {
    var applied: [Token] = []
    var end = 0
    for change in changes {
      guard change.old.lowerBound >= end else { return nil }
      applied += old[end..<change.old.lowerBound] + new[change.new]
      end = change.old.upperBound
    }
    guard applied + old[end...] == new else { return nil }
    return changes.reduce(0) { $0 + $1.old.count + $1.new.count }
  }

  static func sequences<Token: FixedWidthInteger>(upTo count: Int) -> [[Token]] {
    guard count > 0 else { return [[]] }
    let shorter: [[Token]] = sequences(upTo: count - 1)
    return shorter
      + shorter.filter { $0.count == count - 1 }.flatMap { [$0 + [0], $0 + [1], $0 + [2]] }
  }

  @Test("all pairs of sequences of up to five bytes have a minimal difference")
  func exhaustive() {
    let sequences: [[UInt8]] = Self.sequences(upTo: 5)
    for old in sequences {
      for new in sequences {
        let cost = Self.cost(Self.changes(from: old, to: new), from: old, to: new)
        if cost != TextOracle.distance(old, new) {
          Issue.record("\(old) to \(new) costs \(cost ?? -1)")
          return
        }
      }
    }
  }

  @Test("random sequences within the bound have a minimal difference", arguments: 0..<120)
  func minimal(seed: Int) {
    var random = SplitMix64(seed: seed)
    let letters = UInt32(2 + random.below(12))
    func sequence(_ count: Int) -> [UInt32] {
      (0..<count).map { _ in UInt32.random(in: 0..<letters, using: &random) }
    }
    let old = sequence(random.below(130))
    let new = sequence(random.below(126))
    let cost = Self.cost(Self.changes(from: old, to: new), from: old, to: new)
    #expect(cost == TextOracle.distance(old, new))
  }

  @Test("a difference of exactly the bound is minimal, whatever it looks like")
  func atTheBound() {
    let half = TextDifference.maxMinimalEditCount / 2
    let old = (0..<UInt32(3 * half)).map { $0 }
    var new = old
    for index in 0..<half { new[3 * index + 1] = 1_000_000 + UInt32(index) }
    let cost = Self.cost(Self.changes(from: old, to: new), from: old, to: new)
    #expect(cost == 2 * half)
  }

  @Test("sequences beyond the bound are compared correctly, if not minimally", arguments: 0..<12)
  func beyondTheBound(seed: Int) {
    var random = SplitMix64(seed: seed)
    let letters = UInt8(1 + random.below(20))
    func sequence(_ count: Int) -> [UInt8] {
      (0..<count).map { _ in UInt8.random(in: 0..<letters, using: &random) }
    }
    let old = sequence(2_000 + random.below(2_000))
    let new = sequence(random.below(9_000))
    for granularity in TextGranularity.allCases {
      let changes = Self.changes(from: old, to: new, by: granularity)
      #expect(Self.cost(changes, from: old, to: new) != nil)
    }
  }

  @Test("a long text with long parts moved keeps the longest chain of unique runs")
  func moved() {
    var random = SplitMix64(seed: 3)
    let parts = (0..<6).map { _ in (0..<2_000).map { _ in random.next() as UInt64 } }
    let old = parts.flatMap { $0 }.map { UInt32(truncatingIfNeeded: $0) }
    let new = [1, 2, 0, 3, 5, 4].flatMap { parts[$0] }.map { UInt32(truncatingIfNeeded: $0) }
    let cost = Self.cost(Self.changes(from: old, to: new, by: .characters), from: old, to: new)
    #expect(cost == 8_000)
  }

  @Test("scalars called self-contained form characters of their own in every pair")
  func selfContained() {
    let scalars = (0...0x10FFFF).compactMap(Unicode.Scalar.init).filter(\.isSelfContained)
    #expect(scalars.count > 20_000)
    let samples: [Unicode.Scalar] = [
      "a", "\n", "\u{AD}", "\u{A9}", "\u{3B1}", "\u{4E2D}", "\u{3042}",
    ]
    for scalar in scalars {
      for sample in samples {
        let text = String(String.UnicodeScalarView([sample, scalar, sample]))
        if text.count != 3, scalar != "\r", scalar != "\n" {
          Issue.record("\(scalar.value) joins \(sample.value)")
        }
      }
    }
  }

  @Test("the characters next to each offset are those that the string counts", arguments: 0..<40)
  func boundaries(seed: Int) {
    var random = SplitMix64(seed: seed)
    let text = random.text(of: TextPieces.all, count: random.below(60))
    let boundaries = TextOracle.boundaries(text)
    ContiguousText.with(text) { text in
      for offset in 0...text.count {
        let before = boundaries.filter { $0 <= offset }.max()
        let after = boundaries.filter { $0 >= offset }.min()
        #expect(text.characterStart(atOrBefore: offset) == before)
        #expect(text.characterEnd(atOrAfter: offset) == after)
      }
    }
  }

  @Test("common lengths are counted exactly at every alignment")
  func matchLengths() {
    for count in 0..<20 {
      for mismatch in 0...count {
        let one = (0..<20).map { UInt8($0) }
        var other = one
        if mismatch < count { other[mismatch] = 99 }
        var reversed = one
        if mismatch < count { reversed[19 - mismatch] = 99 }
        one.withUnsafeBufferPointer { one in
          other.withUnsafeBufferPointer { other in
            #expect(
              commonPrefixLength(one.baseAddress!, other.baseAddress!, limit: count) == mismatch)
          }
          reversed.withUnsafeBufferPointer { other in
            let (end, otherEnd) = (one.baseAddress! + 20, other.baseAddress! + 20)
            #expect(commonSuffixLength(endingAt: end, otherEnd, limit: count) == mismatch)
          }
        }
      }
    }
  }
}
