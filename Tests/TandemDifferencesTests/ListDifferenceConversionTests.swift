import TandemDifferences
import Testing

@Suite("A list difference and that of the standard library")
struct ListDifferenceConversionTests {
  typealias Difference = ListDifference<ListItem>

  @Test("do the same to all short lists, converted either way")
  func allShortLists() throws {
    let elements = [(0, 0), (0, 1), (1, 0), (2, 0)].map { ListItem(id: $0, version: $1) }
    let lists = listsWithRepetition(of: elements, maxCount: 3)
    for old in lists {
      for new in lists {
        let difference = Difference(from: old, to: new)
        let exported = try #require(CollectionDifference(difference, from: old))
        #expect(old.applying(exported) == new, "\(old) → \(new)")
        #expect(Difference(exported) == difference, "\(old) → \(new)")
        let imported = Difference(new.difference(from: old).inferringMoves())
        #expect(imported?.applying(to: old) == new, "\(old) → \(new)")
      }
    }
  }

  @Test("have the fewest moves for all permutations, if moves were inferred")
  func permutations() {
    let old = (0..<6).map { ListItem(id: $0) }
    for new in listsWithoutRepetition(of: old) where new.count == old.count {
      let imported = Difference(new.difference(from: old).inferringMoves())
      #expect(imported?.moves.count == ListDifferenceTests.leastMoveCount(old, new), "\(new)")
      #expect(imported?.count == imported?.moves.count, "\(new)")
    }
  }

  @Test("associate a moved or updated element's removal with its insertion")
  func association() {
    let old = [(1, 0), (2, 0), (3, 0)].map(ListItem.init)
    let new = [(3, 0), (1, 0), (2, 1)].map(ListItem.init)
    let expected = CollectionDifference<ListItem>([
      .remove(offset: 2, element: old[2], associatedWith: 0),
      .insert(offset: 0, element: new[0], associatedWith: 2),
      .remove(offset: 1, element: old[1], associatedWith: 2),
      .insert(offset: 2, element: new[2], associatedWith: 1),
    ])
    #expect(CollectionDifference(Difference(from: old, to: new), from: old) == expected)
  }

  @Test("are nil where they cannot be converted")
  func misfits() throws {
    let two = [ListItem(id: 1), ListItem(id: 2)]
    let difference = Difference(from: two, to: two.reversed())
    #expect(CollectionDifference(difference, from: [ListItem(id: 1)]) == nil)
    let update = Difference(from: two, to: [two[0], ListItem(id: 2, version: 1)])
    #expect(CollectionDifference(update, from: [two[0]]) == nil)
    let far = try #require(
      CollectionDifference<ListItem>([.insert(offset: .max, element: two[0], associatedWith: nil)]))
    #expect(Difference(far) == nil)
  }
}
