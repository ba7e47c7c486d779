import TandemDifferences
import Testing

struct SortedDifferenceTests {
  @Test(
    "arrays, other sequences and a mixture all agree with the definition, for every two versions")
  func agreesWithDefinition() throws {
    for old in SetTesting.ascendingVersions {
      for new in SetTesting.ascendingVersions {
        let expected = SetTesting.naiveDifference(from: old, to: new)
        let results = [
          try SetDifference(from: old, to: new, sortedBy: \.id),
          try SetDifference(from: AnySequence(old), to: AnySequence(new), sortedBy: \.id),
          try SetDifference(from: old, to: AnySequence(new), sortedBy: \.id),
          try SetDifference(from: AnySequence(old), to: new, sortedBy: \.id),
          try SetDifference(from: ArraySlice(old), to: ContiguousArray(new), sortedBy: \.id),
        ]
        guard results.allSatisfy({ $0 == expected }) else {
          Issue.record("from \(old) to \(new): \(results), not \(expected)")
          return
        }
      }
    }
  }

  @Test("sequences that can be read only once are read once")
  func singlePass() throws {
    let old = [ListItem(id: 1), ListItem(id: 2)]
    let new = [ListItem(id: 2, version: 1), ListItem(id: 3)]
    let difference = try SetDifference(
      from: IteratorSequence(old.makeIterator()), to: IteratorSequence(new.makeIterator()),
      sortedBy: \.id)
    #expect(difference == SetTesting.naiveDifference(from: old, to: new))
  }

  @Test("what counts as the same contents is the caller's to say")
  func ownEquivalence() throws {
    let old = [ListItem(id: 1, version: 1), ListItem(id: 2, version: 1)]
    let new = [ListItem(id: 1, version: 3), ListItem(id: 2, version: 2)]
    for isLazy in [false, true] {
      let difference =
        try isLazy
        ? SetDifference(
          from: old.lazy.map { $0 }, to: new.lazy.map { $0 }, sortedBy: \.id, by: sameParity)
        : SetDifference(from: old, to: new, sortedBy: \.id, by: sameParity)
      #expect(difference == SetDifference(updated: [.init(old: old[1], new: new[1])]))
    }
  }

  private func sameParity(_ first: ListItem, _ second: ListItem) -> Bool {
    first.version % 2 == second.version % 2
  }

  @Test("the contents of each pair are compared once")
  func comparesOnce() throws {
    let items = (0..<100).map { ListItem(id: $0) }
    var count = 0
    _ = try SetDifference(from: items, to: items, sortedBy: \.id) { first, second in
      count += 1
      return first == second
    }
    #expect(count == 100)
  }

  @Test("texts are compared as Swift compares them: a composed and a decomposed é are one identity")
  func canonicalEquivalence() throws {
    let difference = try SetDifference(from: ["e\u{301}"], to: ["\u{E9}"], sortedBy: { $0 })
    #expect(difference.isEmpty)
  }
}

/// The walk itself.
struct SortedDifferenceWalkTests {
  private struct Row: Equatable { var key: Int }
  private struct Place: Equatable { var number: Int }

  @Test("the walk takes the identities in order, whatever types the versions are made of")
  func differentTypes() {
    let walk = SortedDifference(
      from: [1, 2, 4].map(Row.init), identifiedBy: \.key,
      to: [2, 3, 4, 5].map(Place.init), identifiedBy: \.number)
    #expect(
      Array(walk) == [
        .deleted(Row(key: 1)), .common(Row(key: 2), Place(number: 2)), .inserted(Place(number: 3)),
        .common(Row(key: 4), Place(number: 4)), .inserted(Place(number: 5)),
      ])
  }

  @Test("the walk over identifiable elements needs no closure, and can begin again")
  func identifiable() {
    let old = [ListItem(id: 1), ListItem(id: 2)]
    let new = [ListItem(id: 2, version: 1)]
    let walk = SortedDifference(from: old, to: new)
    #expect(Array(walk) == [.deleted(old[0]), .common(old[1], new[0])])
    #expect(Array(walk) == Array(SortedDifference(from: old, to: new, sortedBy: \.id)))
  }

  @Test("the walk over comparable elements needs no closure")
  func comparable() {
    let walk = SortedDifference(from: [1, 2, 4], to: [2, 3])
    #expect(Array(walk) == [.deleted(1), .common(2, 2), .inserted(3), .deleted(4)])
    let text = SortedDifference(from: ["a"], to: Set(["b"]).sorted())
    #expect(Array(text) == [.deleted("a"), .inserted("b")])
    let items = [MergeLine(id: 1, text: "b"), MergeLine(id: 2, text: "a")]
    let removal = SortedDifference(from: items, to: [MergeLine]())
    #expect(Array(removal) == items.map { .deleted($0) })
  }

  @Test("a walk can be handed to another task if its versions can")
  func sendable() async {
    let walk = SortedDifference(from: [1, 2], to: [2, 3], sortedBy: { $0 })
    let changes = await Task.detached { Array(walk) }.value
    #expect(changes == [.deleted(1), .common(2, 2), .inserted(3)])
  }

  /// Comparable by its text, and identified by its number.
  private struct MergeLine: Comparable, Identifiable {
    var id: Int
    var text: String

    static func < (first: MergeLine, second: MergeLine) -> Bool { first.text < second.text }
  }

  @Test("equal elements of both versions are common, for the caller to compare")
  func equalElements() {
    let items = [ListItem(id: 1)]
    #expect(Array(SortedDifference(from: items, to: items)) == [.common(items[0], items[0])])
  }

  @Test("the walk reads at most one element ahead of the step it returns")
  func laziness() {
    var reads = (old: 0, new: 0)
    let old = AnySequence(
      (1...).lazy.map { number in
        reads.old += 1; return number * 2
      })
    let new = AnySequence(
      (1...).lazy.map { number in
        reads.new += 1; return number * 3
      })
    var walk = SortedDifference(from: old, to: new, sortedBy: { $0 }).makeIterator()
    var taken = (old: 0, new: 0)
    for _ in 0..<100 {
      switch walk.next() {
      case .deleted: taken.old += 1
      case .inserted: taken.new += 1
      case .common: taken = (taken.old + 1, taken.new + 1)
      case .violation, nil: Issue.record("the walk ended")
      }
      #expect(reads.old - taken.old <= 1 && reads.new - taken.new <= 1)
    }
    #expect(taken == (75, 50))
  }

  @Test("after its end the walk stays at its end")
  func end() {
    var walk = SortedDifference(from: [1], to: [2], sortedBy: { $0 }).makeIterator()
    #expect(walk.next() == .deleted(1))
    #expect(walk.next() == .inserted(2))
    #expect(walk.next() == nil)
    #expect(walk.next() == nil)
  }

  @Test("a violation is the last step")
  func violationEnds() {
    var walk = SortedDifference(from: [2, 1, 3], to: [5], sortedBy: { $0 }).makeIterator()
    #expect(walk.next() == .deleted(2))
    #expect(walk.next() == .violation(.init(side: .old, offset: 1, kind: .descending)))
    #expect(walk.next() == nil)
  }
}
