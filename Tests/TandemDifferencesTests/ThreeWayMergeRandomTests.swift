import TandemDifferences
import TestRandom
import Testing

@Suite("ThreeWayMerge, laws over seeds")
struct ThreeWayMergeRandomTests {
  /// A version of `base`: records edited, deleted, inserted and moved, one in `rarity` each.
  func edited(
    _ base: [MergeItem], rarity: Int, by generator: inout SplitMix64
  ) -> [MergeItem] {
    var items: [MergeItem] = []
    var moved: [MergeItem] = []
    for item in base {
      switch Int.random(in: 0..<rarity * 4, using: &generator) {
      case 0: items.append(MergeItem(item.id, Int.random(in: 1...2, using: &generator)))
      case 1: break
      case 2: moved.append(item)
      case 3: items += [item, MergeItem(item.id + Int.random(in: 1...2, using: &generator), 1)]
      default: items.append(item)
      }
    }
    for item in moved {
      items.insert(item, at: Int.random(in: 0...items.count, using: &generator))
    }
    return items
  }

  @Test("merges in any order agree with the oracle", arguments: 0..<200)
  func agreesWithOracle(seed: Int) throws {
    var generator = SplitMix64(seed: seed)
    let count = Int.random(in: 0...120, using: &generator)
    let rarity = Int.random(in: 1...20, using: &generator)
    let base = (0..<count).map { MergeItem($0 * 10, 0) }.shuffled(using: &generator)
    var local = edited(base, rarity: rarity, by: &generator)
    var remote = edited(base, rarity: rarity, by: &generator)
    // Otherwise hardly any merge has an order that one side only changed.
    let places = Dictionary(uniqueKeysWithValues: base.enumerated().map { ($1.id, $0) })
    func isInOrder(_ a: MergeItem, _ b: MergeItem) -> Bool {
      (places[a.id / 10 * 10] ?? 0, a.id) < (places[b.id / 10 * 10] ?? 0, b.id)
    }
    switch seed % 4 {
    case 0: remote.sort(by: isInOrder)
    case 1: local.sort(by: isInOrder)
    default: break
    }
    let oracle = MergeOracle(base: base, local: local, remote: remote)
    let merge = try ThreeWayMerge(base: .known(base), local: local, remote: remote)
    #expect(merge.merged == oracle.merged, "seed \(seed)")
    let reports = merge.conflicts.map { ($0.id, $0.conflict) }
    #expect(Dictionary(uniqueKeysWithValues: reports) == oracle.conflicts, "seed \(seed)")
    #expect(merge.toLocal.applied(to: local) == Set(merge.merged), "seed \(seed)")
    let plan = try MergePlan(base: base, local: local, remote: remote, identifiedBy: \.id)
    #expect((plan.order == .remoteDisputed) == oracle.hasDisputedOrder, "seed \(seed)")
    let sorted = try ThreeWayMerge(
      base: .known(base.sorted()), local: local.sorted(), remote: remote.sorted(), sortedBy: \.id)
    #expect(sorted.merged == merge.merged.sorted(), "seed \(seed)")
    #expect(sorted.conflicts == merge.conflicts.sorted { $0.id < $1.id }, "seed \(seed)")
  }

  @Test("differences keep the promised order", arguments: 0..<50)
  func orderOfDifferences(seed: Int) throws {
    var generator = SplitMix64(seed: seed)
    let base = (0..<60).map { MergeItem($0 * 10, 0) }.shuffled(using: &generator)
    let local = edited(base, rarity: 2, by: &generator)
    let remote = edited(base, rarity: 2, by: &generator)
    let merge = try ThreeWayMerge(
      base: .known(base), local: local, remote: remote, policy: .keepRemote)
    for (difference, old) in [(merge.toLocal, local), (merge.toRemote, remote)] {
      let inserted = Set(difference.inserted)
      let updated = Set(difference.updated.map(\.new))
      let deleted = Set(difference.deleted)
      #expect(difference.inserted == merge.merged.filter(inserted.contains), "seed \(seed)")
      #expect(
        difference.updated.map(\.new) == merge.merged.filter(updated.contains), "seed \(seed)")
      #expect(difference.deleted == old.filter(deleted.contains), "seed \(seed)")
    }
  }
}
