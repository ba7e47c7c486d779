import Foundation
import TandemDifferences
import TestRandom
import Testing

/// Differences from hand, wire or another list: refused where they make no sense, never a trap.
@Suite("A list difference that may not fit")
struct ListDifferenceMisfitTests {
  typealias Difference = ListDifference<Int>

  @Test("applies to another list only as its changes say, for all short lists")
  func otherLists() {
    let lists = listsWithRepetition(of: [0, 1], maxCount: 3)
    for old in lists {
      for new in lists {
        let difference = Difference(from: old, to: new, identifiedBy: \.self)
        for other in lists {
          let result = difference.applying(to: other)
          let matches = difference.deletions.allSatisfy {
            other.indices.contains($0.offset) && other[$0.offset] == $0.element
          }
          if !matches { #expect(result == nil, "\(old) → \(new) applied to \(other)") }
          if let result {
            #expect(difference.inverted.applying(to: result) == other, "\(old) → \(new), \(other)")
          }
        }
      }
    }
  }

  @Test("refuses an element that is not as it was before its update")
  func changedMeanwhile() {
    let old = [ListItem(id: 1), ListItem(id: 2)]
    let new = [ListItem(id: 1), ListItem(id: 2, version: 1)]
    let difference = ListDifference(from: old, to: new)
    #expect(difference.applying(to: [ListItem(id: 1), ListItem(id: 2, version: 7)]) == nil)
    #expect(difference.applying(to: [ListItem(id: 1)]) == nil)
    #expect(difference.applying(to: []) == nil)
    let blind = difference.applying(to: [ListItem(id: 1), ListItem(id: 9)], by: { _, _ in true })
    #expect(blind == new)
  }

  @Test("is not made of changes that contradict each other")
  func contradictions() {
    let one = ListPlacement(offset: 1, element: 5)
    let update = ListUpdate(oldOffset: 1, newOffset: 1, old: 1, new: 2)
    #expect(Difference(deletions: [one, one]) == nil)
    #expect(Difference(insertions: [one, one]) == nil)
    #expect(Difference(deletions: [one], moves: [.init(from: 1, to: 0)]) == nil)
    #expect(Difference(insertions: [one], moves: [.init(from: 0, to: 1)]) == nil)
    #expect(Difference(deletions: [.init(offset: -1, element: 5)]) == nil)
    #expect(Difference(insertions: [.init(offset: .max, element: 5)]) == nil)
    #expect(Difference(moves: [.init(from: 0, to: .max)]) == nil)
    #expect(Difference(deletions: [one], updates: [update]) == nil)
    #expect(Difference(insertions: [one], updates: [update]) == nil)
    #expect(Difference(updates: [update, update]) == nil)
    #expect(Difference(updates: [.init(oldOffset: 0, newOffset: 1, old: 1, new: 2)]) == nil)
    #expect(Difference(updates: [.init(oldOffset: -1, newOffset: -1, old: 1, new: 2)]) == nil)
    #expect(Difference(updates: [.init(oldOffset: .max, newOffset: .max, old: 1, new: 2)]) == nil)
    #expect(Difference(moves: [.init(from: 0, to: 1)], updates: [update]) == nil)
    let shifted = ListUpdate(oldOffset: 2, newOffset: 1, old: 1, new: 2)
    #expect(Difference(deletions: [one], updates: [shifted]) != nil)
    let moved = ListUpdate(oldOffset: 1, newOffset: 0, old: 1, new: 2)
    #expect(Difference(moves: [.init(from: 1, to: 0)], updates: [moved]) != nil)
  }

  /// Up to two changes of each kind with offsets below five; `nil` if they contradict each other.
  static func randomDifference(using random: inout SplitMix64) -> Difference? {
    func offset() -> Int { Int.random(in: 0..<5, using: &random) }
    func some<Change>(_ change: () -> Change) -> [Change] {
      (0..<Int.random(in: 0..<3, using: &random)).map { _ in change() }
    }
    return Difference(
      deletions: some { .init(offset: offset(), element: 100) },
      insertions: some { .init(offset: offset(), element: 200) },
      moves: some { .init(from: offset(), to: offset()) },
      updates: some { .init(oldOffset: offset(), newOffset: offset(), old: 300, new: 400) })
  }

  @Test("fits some list, whatever it is made of")
  func fitsSomeList() throws {
    var fitCount = 0
    for seed in 0..<3_000 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      guard let difference = Self.randomDifference(using: &random) else { continue }
      fitCount += 1
      var old = Array(0..<20)
      for deletion in difference.deletions { old[deletion.offset] = deletion.element }
      for update in difference.updates { old[update.oldOffset] = update.old }
      let new = try #require(difference.applying(to: old), "seed \(seed)")
      #expect(difference.inverted.applying(to: new) == old, "seed \(seed)")
      var stepped = old
      for step in difference.steps { #expect(step.apply(to: &stepped), "seed \(seed)") }
      #expect(stepped == new, "seed \(seed)")
      let batched = difference.batches.reduce(old) { $1.applying(to: $0) ?? [] }
      #expect(batched == new, "seed \(seed)")
    }
    #expect(fitCount > 300)
  }

  @Test("survives encoding, and is checked when decoded")
  func coding() throws {
    let old = [1, 2, 3, 4].map { ListItem(id: $0) }
    let new = [(4, 1), (5, 0), (1, 0), (3, 2)].map(ListItem.init)
    let difference = ListDifference(from: old, to: new)
    let data = try JSONEncoder().encode(difference)
    #expect(try JSONDecoder().decode(ListDifference<ListItem>.self, from: data) == difference)
    let contradiction =
      #"{"deletions":[],"insertions":[],"moves":[{"from":-1,"to":0}],"updates":[]}"#
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Difference.self, from: Data(contradiction.utf8))
    }
  }

  @Test("leaves a list as it is where a step does not fit")
  func steps() {
    typealias Step = Difference.Step
    let steps: [Step] = [
      .remove(at: 2), .remove(at: -1), .insert(9, at: 3), .insert(9, at: -1), .move(from: 0, to: 2),
      .move(from: 2, to: 0), .move(from: -1, to: 0), .update(9, at: 2), .update(9, at: -1),
    ]
    for step in steps {
      var list = [1, 2]
      #expect(!step.apply(to: &list))
      #expect(list == [1, 2])
    }
  }
}
