import Foundation
import TandemDifferences
import Testing

struct SetDifferenceTests {
  private let difference = SetDifference(
    inserted: [ListItem(id: 4)],
    updated: [.init(old: ListItem(id: 2), new: ListItem(id: 2, version: 1))],
    deleted: [ListItem(id: 1), ListItem(id: 3)])

  @Test("an empty difference is empty and counts nothing")
  func empty() {
    let empty = SetDifference<ListItem>()
    #expect(empty.isEmpty)
    #expect(empty.count == 0)
    #expect(empty == empty.inverted)
  }

  @Test(
    "a single change of any kind is a change",
    arguments: [
      SetDifference(inserted: [1]), SetDifference(updated: [.init(old: 1, new: 2)]),
      SetDifference(deleted: [1]),
    ])
  func single(difference: SetDifference<Int>) {
    #expect(!difference.isEmpty)
    #expect(difference.count == 1)
  }

  @Test("the count is that of all three kinds")
  func count() {
    #expect(difference.count == 4)
  }

  @Test("inverting swaps insertions with deletions and old with new, and keeps the order")
  func inverted() {
    let expected = SetDifference(
      inserted: [ListItem(id: 1), ListItem(id: 3)],
      updated: [.init(old: ListItem(id: 2, version: 1), new: ListItem(id: 2))],
      deleted: [ListItem(id: 4)])
    #expect(difference.inverted == expected)
    #expect(difference.inverted.inverted == difference)
  }

  @Test("changes are handed on as deletions, updates, insertions")
  func changesInOrder() {
    var changes: [SetChange<ListItem>] = []
    difference.forEachChange { changes.append($0) }
    #expect(
      changes == [
        .deleted(ListItem(id: 1)), .deleted(ListItem(id: 3)),
        .updated(old: ListItem(id: 2), new: ListItem(id: 2, version: 1)),
        .inserted(ListItem(id: 4)),
      ])
  }

  @Test("appending the changes of a difference makes the same difference")
  func appending() {
    var copy = SetDifference<ListItem>()
    difference.forEachChange { copy.append($0) }
    #expect(copy == difference)
    #expect(Set([copy, difference, difference.inverted]).count == 2)
  }

  @Test("an error of the body ends the walk over the changes")
  func throwing() {
    var seen = 0
    #expect(throws: CancellationError.self) {
      try difference.forEachChange { _ in
        seen += 1
        if seen == 2 { throw CancellationError() }
      }
    }
    #expect(seen == 2)
  }

  @Test("JSON has one array per kind, and updates as pairs of old and new")
  func encoded() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let text = String(decoding: try encoder.encode(difference), as: UTF8.self)
    #expect(
      text == #"{"deleted":[{"id":1,"version":0},{"id":3,"version":0}],"#
        + #""inserted":[{"id":4,"version":0}],"#
        + #""updated":[{"new":{"id":2,"version":1},"old":{"id":2,"version":0}}]}"#)
  }

  @Test("what is encoded is decoded, and a part that is missing is an error")
  func decoded() throws {
    let data = try JSONEncoder().encode(difference)
    #expect(try JSONDecoder().decode(SetDifference<ListItem>.self, from: data) == difference)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(
        SetDifference<ListItem>.self, from: Data(#"{"inserted":[],"deleted":[]}"#.utf8))
    }
  }
}

/// What the tests of set differences compare with, and the versions they try.
enum SetTesting {
  /// The difference as it is defined, one element at a time.
  static func naiveDifference(from old: [ListItem], to new: [ListItem]) -> SetDifference<ListItem> {
    let oldByID = Dictionary(uniqueKeysWithValues: old.map { ($0.id, $0) })
    let newIDs = Set(new.map(\.id))
    var difference = SetDifference(deleted: old.filter { !newIDs.contains($0.id) })
    for element in new {
      switch oldByID[element.id] {
      case nil: difference.inserted.append(element)
      case element: break
      case let old?: difference.updated.append(.init(old: old, new: element))
      }
    }
    return difference
  }

  /// All ascending versions where each of the identities 0 to 3 is absent or has one of two contents.
  static let ascendingVersions: [[ListItem]] = (0..<81).map { code in
    zip(0..<4, [1, 3, 9, 27]).compactMap { id, power in
      let digit = code / power % 3
      return digit == 0 ? nil : ListItem(id: id, version: digit)
    }
  }

  /// The same versions, in every order.
  static let allVersions: [[ListItem]] = ascendingVersions.flatMap { permutations(of: $0) }

  private static func permutations(of items: [ListItem]) -> [[ListItem]] {
    listsWithoutRepetition(of: items).filter { $0.count == items.count }
  }
}
