import TandemDifferences
import Testing

@Suite("SetDifference composing")
struct SetDifferenceComposingTests {
  typealias ItemDifference = SetDifference<MergeItem>

  /// Every version of one item with three values, and of two items with two.
  static let versions =
    MergeInputs.versions(count: 1)
    + MergeInputs.versions(count: 2).filter {
      $0.contains { $0.id == 2 } && $0.allSatisfy { $0.value < 2 }
    }

  func difference(from old: [MergeItem], to new: [MergeItem]) throws -> ItemDifference {
    try SetDifference(from: old, to: new, sortedBy: \.id)
  }

  /// The same changes in ascending order.
  func sorted(_ difference: ItemDifference?) -> ItemDifference? {
    difference.map {
      SetDifference(
        inserted: $0.inserted.sorted(), updated: $0.updated.sorted { $0.old < $1.old },
        deleted: $0.deleted.sorted())
    }
  }

  @Test("composed is what leads from the first version to the last, over every three")
  func composition() throws {
    for first in Self.versions {
      for second in Self.versions {
        for third in Self.versions {
          let composed = try difference(from: first, to: second)
            .composed(with: try difference(from: second, to: third))
          let expected = try difference(from: first, to: third)
          try #require(sorted(composed) == expected, "\(first) \(second) \(third)")
          try #require(composed?.applied(to: first) == Set(third))
        }
      }
    }
  }

  @Test(
    "differences compose just if no item is changed by both from where the first did not leave it")
  func misfits() throws {
    func state(_ id: Int, _ version: [MergeItem]) -> MergeItem? { version.first { $0.id == id } }
    for (a, b) in pairs {
      let leading = try difference(from: a, to: b)
      for (c, d) in pairs {
        var fits = true
        var expected = ItemDifference()
        for id in 1...2 {
          let before = (state(id, a), state(id, b))
          let after = (state(id, c), state(id, d))
          let isChanged = (before.0 != before.1, after.0 != after.1)
          if isChanged == (true, true) { fits = fits && before.1 == after.0 }
          let (old, new) = (isChanged.0 ? before.0 : after.0, isChanged.1 ? after.1 : before.1)
          if isChanged.0 || isChanged.1, old != new {
            switch (old, new) {
            case (let old?, let new?): expected.append(.updated(old: old, new: new))
            case (let old?, nil): expected.append(.deleted(old))
            case (nil, let new?): expected.append(.inserted(new))
            case (nil, nil): break
            }
          }
        }
        let composed = leading.composed(with: try difference(from: c, to: d))
        try #require(sorted(composed) == (fits ? expected : nil), "\(a) \(b) \(c) \(d)")
      }
    }
  }

  var pairs: [([MergeItem], [MergeItem])] {
    Self.versions.flatMap { first in Self.versions.map { (first, $0) } }
  }

  @Test("an empty difference changes nothing, and an inverse undoes")
  func identityAndInverse() throws {
    for (a, b) in pairs {
      let difference = try difference(from: a, to: b)
      #expect(difference.composed(with: ItemDifference()) == difference)
      #expect(ItemDifference().composed(with: difference) == difference)
      #expect(difference.composed(with: difference.inverted)?.isEmpty == true)
      #expect(difference.inverted.composed(with: difference)?.isEmpty == true)
    }
  }

  @Test("composition is associative, over every four versions")
  func associativity() throws {
    for (a, b) in pairs {
      let first = try difference(from: a, to: b)
      for c in Self.versions {
        let second = try difference(from: b, to: c)
        for d in Self.versions {
          let third = try difference(from: c, to: d)
          let left = first.composed(with: second)?.composed(with: third)
          let right = second.composed(with: third).flatMap { first.composed(with: $0) }
          try #require(left != nil && sorted(left) == sorted(right), "\(a) \(b) \(c) \(d)")
        }
      }
    }
  }

  @Test("what the first one changes comes first, in its order, then the rest in the second's")
  func order() throws {
    let first = ItemDifference(
      inserted: [5, 4].map { MergeItem($0, 0) },
      updated: [3, 2].map { .init(old: MergeItem($0, 0), new: MergeItem($0, 1)) },
      deleted: [MergeItem(1, 0)])
    let second = ItemDifference(
      inserted: [MergeItem(9, 1), MergeItem(1, 1)],
      updated: [
        .init(old: MergeItem(8, 0), new: MergeItem(8, 1)),
        .init(old: MergeItem(4, 0), new: MergeItem(4, 1)),
      ],
      deleted: [MergeItem(7, 0), MergeItem(2, 1), MergeItem(6, 0)])
    #expect(
      first.composed(with: second)
        == ItemDifference(
          inserted: [MergeItem(5, 0), MergeItem(4, 1), MergeItem(9, 1)],
          updated: [1, 3, 8].map { .init(old: MergeItem($0, 0), new: MergeItem($0, 1)) },
          deleted: [2, 7, 6].map { MergeItem($0, 0) }))
  }

  @Test("a difference that changes an identity twice, or to another, composes with none")
  func inconsistent() {
    let item = MergeItem(1, 0)
    let changed = MergeItem(1, 1)
    let inconsistent = [
      ItemDifference(inserted: [item, item]),
      ItemDifference(inserted: [changed], deleted: [item]),
      ItemDifference(updated: [.init(old: item, new: changed)], deleted: [item]),
      ItemDifference(updated: [.init(old: item, new: MergeItem(2, 0))]),
    ]
    for difference in inconsistent {
      #expect(difference.composed(with: ItemDifference()) == nil)
      #expect(ItemDifference().composed(with: difference) == nil)
    }
  }

  @Test("a closure may identify elements")
  func closure() {
    let inserted = SetDifference(inserted: ["a1"])
    let updated = SetDifference(updated: [.init(old: "a1", new: "a2")])
    #expect(
      inserted.composed(with: updated, identifiedBy: \.first)
        == SetDifference(inserted: ["a2"]))
  }
}
