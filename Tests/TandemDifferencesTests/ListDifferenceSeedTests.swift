import TandemDifferences
import TestRandom
import Testing

/// Random lists long enough for every way the walk in step can go on.
@Suite("A difference of long lists")
struct ListDifferenceSeedTests {
  typealias Difference = ListDifference<ListItem>

  /// The obvious way, for unique identities: two dictionaries.
  struct Oracle {
    var deletions: [Int]
    var insertions: [Int]
    var updates: Set<[Int]>
    var moveCount: Int

    init(_ old: [ListItem], _ new: [ListItem]) {
      let oldOffsets = Dictionary(uniqueKeysWithValues: zip(old.map(\.id), 0...))
      let newOffsets = Dictionary(uniqueKeysWithValues: zip(new.map(\.id), 0...))
      deletions = old.indices.filter { newOffsets[old[$0].id] == nil }
      insertions = new.indices.filter { oldOffsets[new[$0].id] == nil }
      updates = []
      for (offset, item) in new.enumerated() {
        if let origin = oldOffsets[item.id], old[origin] != item {
          updates.insert([origin, offset])
        }
      }
      let kept = new.compactMap { oldOffsets[$0.id] }
      moveCount = kept.count - naiveIncreasingCount(kept)
    }
  }

  /// A version of `old`: single elements and blocks deleted, inserted, moved, updated and reversed.
  static func edit(_ old: [ListItem], editCount: Int, using random: inout SplitMix64) -> [ListItem]
  {
    var list = old
    var nextID = 1_000_000
    for _ in 0..<editCount {
      let start = Int.random(in: 0...list.count, using: &random)
      let size = [1, 1, 1, 2, 3, 12, 60, 200].randomElement(using: &random) ?? 1
      let range = start..<min(list.count, start + size)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: list.removeSubrange(range)
      case 1:
        let fresh = (nextID..<nextID + size).map { ListItem(id: $0) }
        nextID += size
        list.insert(contentsOf: fresh, at: start)
      case 2, 3:
        let block = list[range]
        list.removeSubrange(range)
        list.insert(contentsOf: block, at: Int.random(in: 0...list.count, using: &random))
      case 4: for offset in range { list[offset].version += 1 }
      default: list[range].reverse()
      }
    }
    return list
  }

  @Test("agrees with two dictionaries", arguments: 0..<60 as Range<UInt64>)
  func agreesWithOracle(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let count = Int.random(in: 0...1_500, using: &random)
    let old = (0..<count).map { ListItem(id: $0) }.shuffled(using: &random)
    let new = Self.edit(old, editCount: Int(seed % 20), using: &random)
    let oracle = Oracle(old, new)
    let difference = Difference(from: old, to: new)
    #expect(difference.deletions.map(\.offset) == oracle.deletions)
    #expect(difference.insertions.map(\.offset) == oracle.insertions)
    #expect(Set(difference.updates.map { [$0.oldOffset, $0.newOffset] }) == oracle.updates)
    #expect(difference.moves.count == oracle.moveCount)
    #expect(ListDifferenceTests.brokenLaw(old, new) == nil)
  }

  @Test("keeps the laws where identities repeat", arguments: 0..<40 as Range<UInt64>)
  func duplicates(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let identityCount = Int.random(in: 1...300, using: &random)
    let old = (0..<300).map { _ in ListItem(id: Int.random(in: 0..<identityCount, using: &random)) }
    let new = Self.edit(old, editCount: Int(seed % 10), using: &random)
    #expect(ListDifferenceTests.brokenLaw(old, new) == nil)
  }

  @Test("has the fewest moves after a shuffle", arguments: 0..<10 as Range<UInt64>)
  func shuffle(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let old = (0..<700).map { ListItem(id: $0) }
    let new = old.shuffled(using: &random)
    #expect(Difference(from: old, to: new).moves.count == Oracle(old, new).moveCount)
    #expect(ListDifferenceTests.brokenLaw(old, new) == nil)
  }
}
