import TandemDifferences
import TestRandom
import Testing

/// How often an element is asked for its identity: the measure of effort that does not depend on the
/// machine.
@Suite("The effort of a list difference")
struct ListDifferenceEffortTests {
  static let count = 10_000

  /// The number of times identities were read to find a difference, in multiples of the shorter list.
  static func effort(from old: [Int], to new: [Int]) -> Double {
    var readCount = 0
    let difference = ListDifference(
      from: old, to: new,
      identifiedBy: { element in
        readCount += 1
        return element
      })
    #expect(difference.applying(to: old) == new)
    return Double(readCount) / Double(min(old.count, new.count))
  }

  /// One comparison reads two identities.
  @Test("is one comparison per element where lists agree but for one long insertion or deletion")
  func oneBlock() {
    let short = Array(0..<Self.count)
    for offset in [0, 1, Self.count / 2, Self.count - 1, Self.count] {
      var long = short
      long.insert(contentsOf: 20_000..<25_000, at: offset)
      #expect(Self.effort(from: short, to: long) < 2.5, "inserted at \(offset)")
      #expect(Self.effort(from: long, to: short) < 2.5, "deleted at \(offset)")
    }
  }

  @Test("is a few comparisons per element where pages are inserted, deleted and replaced")
  func pages() {
    let old = Array(0..<Self.count)
    var new = old
    for page in stride(from: 9_000, to: 0, by: -1_000) {
      let fresh = page + 20_000..<page + 20_100
      switch page / 1_000 % 3 {
      case 0: new.insert(contentsOf: fresh, at: page)
      case 1: new.removeSubrange(page..<page + 100)
      default: new.replaceSubrange(page..<page + 100, with: fresh)
      }
    }
    #expect(Self.effort(from: old, to: new) < 7)
  }

  @Test("is a few comparisons per element for a shuffled, reversed or wholly replaced list")
  func disorder() {
    var random = SplitMix64(seed: 1)
    let old = Array(0..<Self.count)
    #expect(Self.effort(from: old, to: old.shuffled(using: &random)) < 16)
    #expect(Self.effort(from: old, to: old.reversed()) < 16)
    #expect(Self.effort(from: old, to: old.map { $0 + Self.count }) < 16)
  }
}
