import Foundation
import TandemDifferences

/// Two versions of a list: some elements deleted, as many inserted elsewhere, some moved anywhere.
///
/// The floor builds a `Dictionary<UUID, Int>` of the old identities, as one would by hand, and probes
/// it with the new ones. DifferenceKit 1.3 takes 1.43 times this floor for 100,000 identities, 1.67
/// times for items with a string and 2.1 times for 5,000, measured side by side: the goals are a tenth
/// of that at 100,000, and a sixth at 5,000.
enum ListCases {
  struct Item: Equatable, Identifiable {
    var id: UUID
    var title: String
  }

  static let identities = BenchmarkGroup(name: "list-identities") {
    [
      byDictionary(5_000, deleted: 1_000, moved: 200, atMost: 0.35) { id, _ in id },
      byDictionary(100_000, deleted: 10_000, moved: 2_000, atMost: 0.143) { id, _ in id },
      inStep(1_000_000, atMost: 4) { id, _ in id },
    ]
  }

  static let items = BenchmarkGroup(name: "list-items") {
    [
      byDictionary(5_000, deleted: 1_000, moved: 200, atMost: 0.35) { Item(id: $0, title: $1) },
      byDictionary(100_000, deleted: 10_000, moved: 2_000, atMost: 0.167) {
        Item(id: $0, title: $1)
      },
      inStep(1_000_000, atMost: 4) { Item(id: $0, title: $1) },
    ]
  }

  /// Lists whose order is new. DifferenceKit 1.3 takes 1.45, 1.0, 0.8 and 0.8 times the floor for the
  /// four orders of 100,000 identities: the goals are 0.35 of that.
  static let orders = BenchmarkGroup(name: "list-orders") {
    var generator = SplitMix64(seed: 5)
    let million = (0..<1_000_000).map { _ in identity(&generator) }
    let old = Array(million.prefix(100_000))
    let blocks = stride(from: 0, to: old.count, by: 1_000).map { old[$0..<$0 + 1_000] }
    return [
      reordered(old, "shuffled", old.shuffled(using: &generator), atMost: 0.51),
      reordered(old, "reversed", old.reversed(), atMost: 0.35),
      reordered(old, "replaced", old.map { _ in identity(&generator) }, atMost: 0.28),
      reordered(
        old, "100 blocks shuffled", blocks.shuffled(using: &generator).flatMap(\.self),
        atMost: 0.28),
      reordered(million, "shuffled", million.shuffled(using: &generator), atMost: 0.51),
    ]
  }

  static func reordered(
    _ old: [UUID], _ name: String, _ new: [UUID], atMost factor: Double
  ) -> Benchmark {
    Benchmark(
      name: "list of \(old.count) UUID: \(name)",
      ours: .init(name: "ListDifference") {
        old.count
          - ListDifference(from: old, to: new, identifiedBy: { $0 }).deletions.count
      },
      others: [
        .init(name: "Dictionary<UUID, Int> build and probe") {
          var offsets: [UUID: Int] = [:]
          for (offset, element) in old.enumerated() { offsets[element] = offset }
          var count = 0
          for element in new where offsets[element] != nil { count += 1 }
          return count
        }
      ],
      goals: [Benchmark.goal(atMost: factor, times: "Dictionary<UUID, Int> build and probe")])
  }

  static let growth = BenchmarkGroup(name: "list-growth") {
    let thousand = (0..<1_000).map {
      version(1_000, deleted: 100, moved: 20, seed: UInt64($0)) { id, _ in id }
    }
    let whole = version(1_000_000, deleted: 100_000, moved: 20_000) { id, _ in id }
    return [
      Benchmark(
        name: "list of 1,000,000 identities beside a thousand lists of 1,000",
        ours: .init(name: "ListDifference, 1,000,000") {
          ListDifference(from: whole.old, to: whole.new).insertions.count
        },
        others: [
          .init(name: "ListDifference, 1,000 × 1,000") {
            var count = 0
            for (old, new) in thousand {
              count += ListDifference(from: old, to: new).insertions.count
            }
            return count
          }
        ],
        goals: [Benchmark.goal(atMost: 1.5, times: "ListDifference, 1,000 × 1,000")])
    ]
  }

  /// 10 % deleted and inserted (20 % of the small list), 2 % moved (4 %), 1 % of the items retitled.
  static func byDictionary<Element: Equatable & Identifiable>(
    _ count: Int, deleted: Int, moved: Int, atMost factor: Double, make: (UUID, String) -> Element
  ) -> Benchmark where Element.ID == UUID {
    let (old, new) = version(count, deleted: deleted, moved: moved, make: make)
    return Benchmark(
      name: "list of \(count) \(Element.self): \(deleted) deleted and inserted, \(moved) moved",
      ours: .init(name: "ListDifference") {
        let difference = ListDifference(from: old, to: new)
        return difference.deletions.count + difference.insertions.count
      },
      others: [
        .init(name: "Dictionary<UUID, Int> build and probe") {
          var offsets: [UUID: Int] = [:]
          for (offset, element) in old.enumerated() { offsets[element.id] = offset }
          var keptCount = 0
          for element in new where offsets[element.id] != nil { keptCount += 1 }
          return old.count + new.count - 2 * keptCount
        }
      ],
      goals: [Benchmark.goal(atMost: factor, times: "Dictionary<UUID, Int> build and probe")])
  }

  /// 1 % changed: 4,500 deleted and as many inserted where they were, 1,000 moved, 1 % retitled.
  static func inStep<Element: Equatable & Identifiable>(
    _ count: Int, atMost factor: Double, make: (UUID, String) -> Element
  ) -> Benchmark where Element.ID == UUID {
    let (old, new) = replaced(count, replacing: 4_500, moving: 1_000, make: make)
    let changeCount = ListDifference(from: old, to: new).insertions.count
    return Benchmark(
      name: "list of \(count) \(Element.self): 1 % changed in place",
      ours: .init(name: "ListDifference") {
        ListDifference(from: old, to: new).insertions.count
      },
      others: [
        .init(name: "one pass comparing identities in step") {
          var agreements = 0
          for offset in old.indices where old[offset].id == new[offset].id { agreements += 1 }
          return agreements < 0 ? agreements : changeCount
        }
      ],
      goals: [Benchmark.goal(atMost: factor, times: "one pass comparing identities in step")])
  }

  static func version<Element>(
    _ count: Int, deleted: Int, moved: Int, seed: UInt64 = 1, make: (UUID, String) -> Element
  ) -> (old: [Element], new: [Element]) {
    var generator = SplitMix64(seed: seed)
    let old = (0..<count).map { _ in identity(&generator) }
    let gone = Set((0..<count).shuffled(using: &generator).prefix(deleted + moved))
    let movedOnes = gone.sorted().shuffled(using: &generator).prefix(moved).map { old[$0] }
    let added = movedOnes + (0..<deleted).map { _ in identity(&generator) }
    let kept = old.indices.filter { !gone.contains($0) }.map { old[$0] }
    let size = kept.count + added.count
    let places = Set((0..<size).shuffled(using: &generator).prefix(added.count))
    var additions = added.shuffled(using: &generator)[...]
    var stays = kept[...]
    let new = (0..<size).map { places.contains($0) ? additions.removeFirst() : stays.removeFirst() }
    return (old.map { make($0, title($0)) }, retitled(new, every: 100, make: make))
  }

  static func replaced<Element>(
    _ count: Int, replacing: Int, moving: Int, make: (UUID, String) -> Element
  ) -> (old: [Element], new: [Element]) {
    var generator = SplitMix64(seed: UInt64(count))
    let old = (0..<count).map { _ in identity(&generator) }
    let chosen = Array((0..<count).shuffled(using: &generator).prefix(replacing + moving))
    var new = old
    for offset in chosen.prefix(replacing) { new[offset] = identity(&generator) }
    let places = chosen.suffix(moving)
    for (from, to) in zip(places, places.shuffled(using: &generator)) { new[to] = old[from] }
    return (old.map { make($0, title($0)) }, retitled(new, every: 100, make: make))
  }

  static func retitled<Element>(
    _ identities: [UUID], every interval: Int, make: (UUID, String) -> Element
  ) -> [Element] {
    identities.enumerated().map { make($1, $0 % interval == 0 ? "changed" : title($1)) }
  }

  static func title(_ identity: UUID) -> String { "Item \(identity.uuid.0)" }

  static func identity(_ generator: inout SplitMix64) -> UUID {
    let bits = (generator.next(), generator.next())
    return UUID(uuid: unsafeBitCast(bits, to: uuid_t.self))
  }
}

extension UUID: @retroactive Identifiable {
  /// The UUID itself.
  public var id: UUID { self }
}
