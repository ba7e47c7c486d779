import TandemDifferences
import Testing

@Suite("A list difference")
struct ListDifferenceTests {
  typealias Difference = ListDifference<ListItem>

  static func items(_ ids: [Int]) -> [ListItem] { ids.map { ListItem(id: $0) } }

  /// Everything that holds for every pair of lists; the name of what does not, or `nil`.
  static func brokenLaw(_ old: [ListItem], _ new: [ListItem]) -> String? {
    let difference = Difference(from: old, to: new)
    let kept = Set(old.map(\.id)).map { id in
      min(old.count { $0.id == id }, new.count { $0.id == id })
    }
    let keptCount = kept.reduce(0, +)
    guard difference.applying(to: old) == new else { return "applying gives the new list" }
    guard difference.inverted.applying(to: new) == old else { return "the inverse undoes" }
    guard difference.inverted.inverted == difference else { return "the inverse has an inverse" }
    guard difference.isEmpty == (old == new) else { return "empty means equal" }
    guard difference.deletions.count == old.count - keptCount else { return "few deletions" }
    guard difference.insertions.count == new.count - keptCount else { return "few insertions" }
    guard difference.updates.allSatisfy({ $0.old.id == $0.new.id && $0.old != $0.new }) else {
      return "updates keep the identity and change the contents"
    }
    let copy = Difference(
      deletions: difference.deletions.reversed(), insertions: difference.insertions.reversed(),
      moves: difference.moves.reversed(), updates: difference.updates.reversed())
    guard copy == difference else { return "changes are in order and do not contradict" }
    return brokenReplay(difference, old, new)
  }

  /// Whether steps and batches lead from `old` to `new`.
  static func brokenReplay(
    _ difference: Difference, _ old: [ListItem], _ new: [ListItem]
  ) -> String? {
    var stepped = old
    for step in difference.steps where !step.apply(to: &stepped) { return "every step fits" }
    guard stepped == new else { return "steps lead to the new list" }
    guard difference.steps.count == difference.count else { return "one step for each change" }
    var view = ListView(cells: old)
    var rows = old
    for batch in difference.batches {
      guard !batch.isEmpty else { return "batches have something to do" }
      guard let next = batch.applying(to: rows) else { return "every batch fits" }
      rows = next
      let refusal = view.perform(
        deleting: batch.deletions.map(\.offset), reloading: batch.updates.map(\.oldOffset),
        inserting: batch.insertions.map(\.offset), moving: batch.moves, data: rows)
      if let refusal { return refusal }
    }
    guard rows == new, view.cells == new else { return "batches lead to the new list" }
    return nil
  }

  /// How many moves there must be between lists in which every identity is unique.
  static func leastMoveCount(_ old: [ListItem], _ new: [ListItem]) -> Int {
    let offsets = Dictionary(uniqueKeysWithValues: zip(old.map(\.id), 0...))
    let kept = new.compactMap { offsets[$0.id] }
    return kept.count - naiveIncreasingCount(kept)
  }

  @Test("keeps the laws for all short lists, with duplicates and updates")
  func lawsForAllShortLists() {
    let elements = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)].map { ListItem(id: $0, version: $1) }
    let lists = listsWithRepetition(of: elements, maxCount: 3)
    for old in lists {
      for new in lists {
        let law = Self.brokenLaw(old, new)
        #expect(law == nil, "\(old) → \(new)")
      }
    }
  }

  @Test("keeps the laws for all lists of up to four of three identities")
  func lawsForAllListsOfThreeIdentities() {
    let lists = listsWithRepetition(of: Self.items([0, 1, 2]), maxCount: 4)
    for old in lists {
      for new in lists {
        let law = Self.brokenLaw(old, new)
        #expect(law == nil, "\(old) → \(new)")
      }
    }
  }

  @Test("has the fewest moves for all lists of unique elements")
  func fewestMovesForUniqueElements() {
    let lists = listsWithoutRepetition(of: Self.items([0, 1, 2, 3, 4]))
    for old in listsWithoutRepetition(of: Self.items([0, 1, 2, 3])) {
      for new in lists {
        let difference = Difference(from: old, to: new)
        #expect(difference.applying(to: old) == new, "\(old) → \(new)")
        #expect(difference.moves.count == Self.leastMoveCount(old, new), "\(old) → \(new)")
      }
    }
  }

  /// How many elements must be taken out and put in elsewhere to make each permutation, by trying all
  /// sequences of moves, the shortest first.
  static func distances(count: Int) -> [[Int]: Int] {
    let start = Array(0..<count)
    var distances = [start: 0]
    var frontier = [start]
    while !frontier.isEmpty {
      var next: [[Int]] = []
      for list in frontier {
        for from in list.indices {
          var rest = list
          let element = rest.remove(at: from)
          for to in 0...rest.count {
            var moved = rest
            moved.insert(element, at: to)
            if distances[moved] == nil {
              distances[moved] = (distances[list] ?? 0) + 1
              next.append(moved)
            }
          }
        }
      }
      frontier = next
    }
    return distances
  }

  @Test("has the fewest moves for all permutations, by brute force", arguments: 0...7)
  func fewestMovesForPermutations(count: Int) {
    let old = Self.items(Array(0..<count))
    for (permutation, distance) in Self.distances(count: count) {
      let new = Self.items(permutation)
      let difference = Difference(from: old, to: new)
      #expect(difference.moves.count == distance && difference.count == distance, "\(permutation)")
      #expect(Self.brokenReplay(difference, old, new) == nil, "\(permutation)")
    }
  }

  @Test("puts deletions in the old order, and the rest in the new one")
  func order() {
    let old = [(1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0)].map(ListItem.init)
    let new = [(7, 0), (5, 1), (1, 0), (3, 1), (8, 0), (6, 0)].map(ListItem.init)
    let expected = Difference(
      deletions: [.init(offset: 1, element: old[1]), .init(offset: 3, element: old[3])],
      insertions: [.init(offset: 0, element: new[0]), .init(offset: 4, element: new[4])],
      moves: [.init(from: 4, to: 1)],
      updates: [
        .init(oldOffset: 4, newOffset: 1, old: old[4], new: new[1]),
        .init(oldOffset: 2, newOffset: 3, old: old[2], new: new[3]),
      ])
    #expect(Difference(from: old, to: new) == expected)
    #expect(expected?.count == 7)
  }

  @Test("pairs what agrees in step first, then the first of an identity with the first")
  func duplicates() {
    let inStep = Difference(from: Self.items([1, 2, 3, 1]), to: Self.items([2, 3, 1]))
    #expect(inStep == Difference(deletions: [.init(offset: 0, element: ListItem(id: 1))]))
    let surplus = Difference(from: Self.items([1, 1, 1]), to: Self.items([1]))
    #expect(surplus.deletions.map(\.offset) == [1, 2])
    let versions = (0..<3).map { ListItem(id: 1, version: $0) }
    let crossed = Difference(
      from: versions + Self.items([2]), to: Self.items([2, 3]) + versions.dropLast())
    #expect(crossed.updates.isEmpty)
    #expect(crossed.deletions == [.init(offset: 2, element: versions[2])])
    #expect(crossed.moves == [.init(from: 3, to: 0)])
  }

  @Test("takes identity and equivalence from closures and key paths")
  func closures() {
    let old = ["Anna", "bert", "Cleo"]
    let new = ["ANNA", "cleo", "bert"]
    let lowercased = ListDifference(from: old, to: new, identifiedBy: { $0.lowercased() })
    #expect(lowercased.moves.count == 1)
    #expect(lowercased.updates.map(\.new) == ["ANNA", "cleo"])
    let equivalent = ListDifference(
      from: old, to: new, identifiedBy: { $0.lowercased() }, by: { _, _ in true })
    #expect(equivalent.count == 1)
    let lengths = ListDifference(from: ["a", "bb"], to: ["cc", "d"], identifiedBy: \.count)
    #expect(lengths.moves.count == 1)
    #expect(lengths.updates.count == 2)
    let ignoring = Difference(
      from: [ListItem(id: 1)], to: [ListItem(id: 1, version: 1)], identifiedBy: \.id,
      by: { _, _ in true })
    #expect(ignoring.isEmpty)
  }

  @Test("never keeps an element whose identity does not equal itself")
  func notANumber() {
    let old = [Double.nan, 1, .nan, 2]
    let new = [2, .nan, 1, .nan]
    let difference = ListDifference(from: old, to: new, identifiedBy: \.self)
    #expect(difference.deletions.map(\.offset) == [0, 2])
    #expect(difference.insertions.map(\.offset) == [1, 3])
    #expect(difference.moves.count == 1)
  }

  @Test("of lists full of equal identities, or of NaN, keeps what it can")
  func manyDuplicates() {
    let old = [Int](repeating: 1, count: 20_000) + [2]
    let new = [2] + [Int](repeating: 1, count: 19_000)
    let difference = ListDifference(from: old, to: new, identifiedBy: \.self)
    #expect(difference.deletions.count == 1_000)
    #expect(difference.moves.count == 1)
    let nans = [Double](repeating: .nan, count: 20_000)
    #expect(ListDifference(from: nans, to: nans, identifiedBy: \.self).count == 40_000)
  }
}
