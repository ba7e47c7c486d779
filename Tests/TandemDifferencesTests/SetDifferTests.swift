import TandemDifferences
import Testing

@Suite("SetDiffer")
struct SetDifferTests {
  typealias ItemDiffer = SetDiffer<MergeItem, MergeItem, Int>

  /// Presents an item by all the values it has had.
  struct History: Equatable, Identifiable {
    var id: Int
    var values: [Int]

    init(_ item: MergeItem) {
      id = item.id
      values = [item.value]
    }

    func appending(_ item: MergeItem) -> History {
      var history = self
      history.values.append(item.value)
      return history
    }
  }

  /// An object that is kept for as long as its item is there.
  final class Pin: Identifiable {
    let id: Int
    var value: Int

    init(_ item: MergeItem) {
      id = item.id
      value = item.value
    }
  }

  @Test("nothing seen yet is not an empty snapshot, and the first difference may be empty")
  func firstSnapshot() throws {
    var differ = ItemDiffer()
    #expect(differ.snapshot == nil)
    #expect(try differ.difference(to: []).isEmpty)
    #expect(differ.snapshot == [])
    #expect(try ItemDiffer(startingFrom: []).snapshot == [])
  }

  @Test("the first difference inserts everything, or leads on from given elements")
  func start() throws {
    let items = [MergeItem(2, 0), MergeItem(1, 0)]
    var differ = ItemDiffer(identifiedBy: \.id)
    #expect(try differ.difference(to: items) == SetDifference(inserted: items))
    var startedDiffer = try ItemDiffer(startingFrom: items)
    #expect(startedDiffer.presented == [1: MergeItem(1, 0), 2: MergeItem(2, 0)])
    #expect(
      try startedDiffer.difference(to: [MergeItem(1, 1)])
        == SetDifference(
          updated: [.init(old: MergeItem(1, 0), new: MergeItem(1, 1))], deleted: [MergeItem(2, 0)]))
  }

  @Test("every three snapshots of two items give the difference of each from the one before")
  func successiveSnapshots() throws {
    let versions = MergeInputs.versions(count: 2)
    for first in versions {
      for second in versions {
        for third in versions {
          var differ = ItemDiffer()
          var sortedDiffer = ItemDiffer()
          for (old, new) in [([], first), (first, second), (second, third)] {
            let expected = try SetDifference(from: old, to: new, sortedBy: \.id)
            try #require(try sortedDiffer.difference(toSorted: new) == expected)
            try #require(try differ.difference(to: new) == expected)
            try #require(
              differ.presented == Dictionary(uniqueKeysWithValues: new.map { ($0.id, $0) }))
            try #require(differ.snapshot == new)
          }
        }
      }
    }
  }

  @Test("what is presented grows from what was presented, over every three snapshots of two items")
  func presentedValues() throws {
    let versions = MergeInputs.versions(count: 2)
    for first in versions {
      for second in versions {
        for third in versions {
          var differ = SetDiffer<MergeItem, History, Int>()
          var expected: [Int: History] = [:]
          for snapshot in [first, second, third] {
            let before = expected
            expected = [:]
            for item in snapshot {
              let old = before[item.id]
              expected[item.id] =
                old.map { $0.values.last == item.value ? $0 : $0.appending(item) } ?? History(item)
            }
            let difference = try differ.difference(
              to: snapshot.reversed(), onInsert: History.init, onUpdate: { $0.appending($1) })
            try #require(differ.presented == expected)
            try #require(difference.applying(to: before) == expected)
            try #require(
              difference.updated.map(\.new.id)
                == snapshot.reversed().map(\.id).filter {
                  before[$0] != nil && before[$0] != expected[$0]
                })
          }
        }
      }
    }
  }

  @Test("an element is updated once for a changed source, whatever onUpdate makes of it")
  func updatedOnce() throws {
    let sources = [0, 1, 1, 1, 0, 0].map { [MergeItem(1, $0)] }
    for presentedValue in [0, 1, 7] {
      var differ = ItemDiffer()
      let counts = try sources.map { snapshot in
        try differ.difference(to: snapshot) { _, source in MergeItem(source.id, presentedValue) }
          .updated.count
      }
      #expect(counts == [0, 1, 0, 0, 1, 0])
      #expect(differ.presented == [1: MergeItem(1, presentedValue)])
      #expect(differ.snapshot == [MergeItem(1, 0)])
    }
  }

  @Test("an object stays the same while its item is there")
  func reuse() throws {
    var differ = SetDiffer<MergeItem, Pin, Int>()
    func show(_ items: [MergeItem]) throws -> SetDifference<Pin> {
      try differ.difference(to: items, onInsert: Pin.init) { pin, item in
        pin.value = item.value
        return pin
      }
    }
    let pin = try #require(try show([MergeItem(1, 0), MergeItem(2, 0)]).inserted.first)
    #expect(try show([MergeItem(1, 0)]).count == 1)
    #expect(differ.presented[1] === pin)
    #expect(try show([MergeItem(1, 5)]).updated.first?.new === pin)
    #expect(pin.value == 5)
    #expect(try show([]).deleted.first === pin)
    #expect(try show([MergeItem(1, 5)]).inserted.first !== pin)
  }

  @Test("a refused snapshot leaves the differ as it was")
  func refusals() throws {
    let items = [MergeItem(1, 0), MergeItem(2, 0)]
    var differ = try ItemDiffer(startingFrom: items)
    func expectUnchanged() {
      #expect(differ.snapshot == items)
      #expect(differ.presented == [1: items[0], 2: items[1]])
    }

    let duplicates = [MergeItem(3, 0), MergeItem(1, 1), MergeItem(3, 0)]
    #expect(
      throws: SetDifferError.identity(.init(side: .new, offset: 2, kind: .duplicate))
    ) { try differ.difference(to: duplicates) }
    expectUnchanged()

    #expect(
      throws: SetDifferError.identity(.init(side: .new, offset: 1, kind: .descending))
    ) { try differ.difference(toSorted: items.reversed()) }
    expectUnchanged()

    let changed = [MergeItem(1, 1), MergeItem(2, 1)]
    #expect(throws: SetDifferError.changedIdentity(offset: 1)) {
      try differ.difference(to: changed) { _, source in MergeItem(1, source.value) }
    }
    expectUnchanged()

    let added = items + [MergeItem(3, 0)]
    #expect(throws: SetDifferError.changedIdentity(offset: 2)) {
      try differ.difference(to: added, onInsert: { MergeItem($0.id + 1, 0) }, onUpdate: { $1 })
    }
    expectUnchanged()
    #expect(try differ.difference(to: added) == SetDifference(inserted: [MergeItem(3, 0)]))
  }

  @Test("starting from elements that share an identity is refused")
  func refusedStart() {
    #expect(throws: SetDifferError.identity(.init(side: .new, offset: 1, kind: .duplicate))) {
      try ItemDiffer(startingFrom: [MergeItem(1, 0), MergeItem(1, 1)])
    }
  }

  @Test("the sorted form names a last snapshot that was not sorted")
  func unsortedLastSnapshot() throws {
    var differ = try ItemDiffer(startingFrom: [MergeItem(2, 0), MergeItem(1, 0)])
    #expect(throws: SetDifferError.identity(.init(side: .old, offset: 1, kind: .descending))) {
      try differ.difference(toSorted: [])
    }
  }

  @Test(
    "an error is a sentence",
    arguments: [
      (
        SetDifferError.identity(.init(side: .new, offset: 2, kind: .duplicate)),
        "element 2 of the new version has the same identity as another one"
      ),
      (
        .changedIdentity(offset: 3), "element 3 of the snapshot is presented under another identity"
      ),
    ])
  func description(error: SetDifferError, text: String) {
    #expect(error.description == text)
  }
}
