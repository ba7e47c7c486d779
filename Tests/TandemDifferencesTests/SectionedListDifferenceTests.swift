import Foundation
import TandemDifferences
import TestRandom
import Testing

@Suite("A sectioned list difference")
struct SectionedListDifferenceTests {
  typealias Section = ListSection<ListItem, ListItem>
  typealias Difference = SectionedListDifference<ListItem, ListItem>

  /// Sections as a view shows them: changed as wholes, and element by element.
  struct View {
    var sections: [Section]

    /// Performs a batch, `data` being the model after it; says what a view would refuse, or `nil`.
    mutating func perform(_ batch: Difference, data: [Section]) -> String? {
      let elementCount = batch.count - batch.sections.count
      guard batch.sections.isEmpty || elementCount == 0 else {
        return "changes of sections and of elements in one batch"
      }
      guard elementCount == 0 else { return performElements(batch, data: data) }
      var view = ListView(cells: sections)
      let refusal = view.perform(
        deleting: batch.sections.deletions.map(\.offset),
        reloading: batch.sections.updates.map(\.oldOffset),
        inserting: batch.sections.insertions.map(\.offset), moving: batch.sections.moves, data: data
      )
      sections = view.cells
      return refusal
    }

    private mutating func performElements(_ batch: Difference, data: [Section]) -> String? {
      guard sections.count == data.count else { return "another number of sections" }
      let origins =
        batch.deletions.map(\.offset) + batch.updates.map(\.oldOffset) + batch.moves.map(\.from)
      guard Set(origins).count == origins.count else { return "two changes of one cell" }
      let moved = batch.moves.map { (sections[$0.from.section].elements[$0.from.element], $0.to) }
      var result = sections
      for index in sections.indices {
        let gone = Set(origins.filter { $0.section == index }.map(\.element))
        var cells: [ListItem?] = data[index].elements.map { _ in nil }
        for insertion in batch.insertions where insertion.offset.section == index {
          cells[insertion.offset.element] = data[index].elements[insertion.offset.element]
        }
        for (cell, place) in moved where place.section == index { cells[place.element] = cell }
        for update in batch.updates where update.newOffset.section == index {
          cells[update.newOffset.element] = data[index].elements[update.newOffset.element]
        }
        let stays = sections[index].elements.indices.filter { !gone.contains($0) }
        let free = cells.indices.filter { cells[$0] == nil }
        guard free.count == stays.count else { return "another number of cells in a section" }
        for (place, stay) in zip(free, stays) { cells[place] = sections[index].elements[stay] }
        result[index].elements = cells.compactMap(\.self)
      }
      sections = result
      return nil
    }
  }

  /// Everything that holds for every pair of lists; the name of what does not, or `nil`.
  static func brokenLaw(_ old: [Section], _ new: [Section]) -> String? {
    let difference = Difference(from: old, to: new)
    guard difference.applying(to: old) == new else { return "applying gives the new list" }
    guard difference.inverted.applying(to: new) == old else { return "the inverse undoes" }
    guard difference.isEmpty == (old == new) else { return "empty means equal" }
    let copy = Difference(
      sections: difference.sections, deletions: difference.deletions.reversed(),
      insertions: difference.insertions.reversed(), moves: difference.moves.reversed(),
      updates: difference.updates.reversed())
    guard copy == difference else { return "changes are in order and do not contradict" }
    var view = View(sections: old)
    var rows = old
    for batch in difference.batches {
      guard !batch.isEmpty else { return "batches have something to do" }
      guard let next = batch.applying(to: rows) else { return "every batch fits" }
      rows = next
      if let refusal = view.perform(batch, data: rows) { return refusal }
    }
    guard rows == new, view.sections == new else { return "batches lead to the new list" }
    return nil
  }

  static func section(_ id: Int, _ elements: [ListItem], version: Int = 0) -> Section {
    Section(header: ListItem(id: id, version: version), elements: elements)
  }

  /// How many moves there must be at least, where identities are unique: those that change the
  /// section, and in each section those that leave the order.
  static func leastMoveCount(_ old: [Section], _ new: [Section]) -> Int {
    var places: [Int: (header: Int, offset: Int)] = [:]
    for section in old {
      for (offset, item) in section.elements.enumerated() {
        places[item.id] = (section.header.id, offset)
      }
    }
    return new.reduce(0) { count, section in
      let kept = section.elements.compactMap { places[$0.id] }
      let home = kept.filter { $0.header == section.header.id }.map(\.offset)
      return count + kept.count - naiveIncreasingCount(home)
    }
  }

  /// All ways to spread up to two elements over up to two of three sections.
  static func allShortLists() -> [[Section]] {
    let elements = [1, 2].map { ListItem(id: $0) }
    let headers = listsWithoutRepetition(of: [7, 8, 9]).filter { $0.count <= 2 }
    return listsWithoutRepetition(of: elements).flatMap { elements in
      headers.flatMap { headers -> [[Section]] in
        switch headers.count {
        case 0: return elements.isEmpty ? [[]] : []
        case 1: return [[section(headers[0], elements)]]
        default:
          return (0...elements.count).map { split in
            [
              section(headers[0], Array(elements[..<split])),
              section(headers[1], Array(elements[split...])),
            ]
          }
        }
      }
    }
  }

  @Test("keeps the laws and has the fewest moves for all short lists")
  func allShortLists() {
    let lists = Self.allShortLists()
    for old in lists {
      for new in lists {
        #expect(Self.brokenLaw(old, new) == nil, "\(old) → \(new)")
        let moveCount = Difference(from: old, to: new).moves.count
        #expect(moveCount == Self.leastMoveCount(old, new), "\(old) → \(new)")
      }
    }
  }

  /// Up to seven sections of up to five elements.
  static func randomList(areUnique: Bool, using random: inout SplitMix64) -> [Section] {
    var ids = Array(0..<40).shuffled(using: &random)
    let count = Int.random(in: 0...7, using: &random)
    return Array(0..<8).shuffled(using: &random).prefix(count).map { id in
      let elements = (0..<Int.random(in: 0...5, using: &random)).map { _ in
        ListItem(
          id: areUnique ? ids.removeLast() : Int.random(in: 0..<9, using: &random),
          version: Int.random(in: 0..<2, using: &random))
      }
      return section(id, elements, version: Int.random(in: 0..<2, using: &random))
    }
  }

  @Test("keeps the laws for random lists, with and without duplicates")
  func randomLists() {
    for seed in 0..<600 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      let areUnique = seed % 2 == 0
      let old = Self.randomList(areUnique: areUnique, using: &random)
      let new = Self.randomList(areUnique: areUnique, using: &random)
      #expect(Self.brokenLaw(old, new) == nil, "seed \(seed)")
      if areUnique {
        let moveCount = Difference(from: old, to: new).moves.count
        #expect(moveCount == Self.leastMoveCount(old, new), "seed \(seed)")
      }
    }
  }

  @Test("moves elements out of a deleted section and into an inserted one")
  func moveAcrossSections() throws {
    let items = (0..<5).map { ListItem(id: $0) }
    let old = [Self.section(7, [items[0], items[1]]), Self.section(8, [items[2]])]
    let new = [
      Self.section(8, [ListItem(id: 2, version: 1)]),
      Self.section(9, [items[4], ListItem(id: 1, version: 1)]),
    ]
    let difference = Difference(from: old, to: new)
    let expected = Difference(
      sections: try #require(
        ListDifference(
          deletions: [.init(offset: 0, element: Self.section(7, [items[0]]))],
          insertions: [.init(offset: 1, element: Self.section(9, [items[4]]))])),
      moves: [.init(from: .init(section: 0, element: 1), to: .init(section: 1, element: 1))],
      updates: [
        .init(
          oldOffset: .init(section: 1, element: 0), newOffset: .init(section: 0, element: 0),
          old: items[2], new: ListItem(id: 2, version: 1)),
        .init(
          oldOffset: .init(section: 0, element: 1), newOffset: .init(section: 1, element: 1),
          old: items[1], new: ListItem(id: 1, version: 1)),
      ])
    #expect(difference == expected)
    let batches = difference.batches
    #expect(batches.map(\.sections.insertions.count) == [1, 0, 0, 0])
    #expect(batches.map(\.moves.count) == [0, 1, 0, 0])
    #expect(batches.map(\.sections.deletions.count) == [0, 0, 1, 0])
    #expect(batches.map(\.updates.count) == [0, 1, 0, 1])
  }

  @Test("is refused where it does not fit or contradicts itself")
  func misfits() throws {
    let item = ListItem(id: 1)
    let old = [Self.section(7, [item]), Self.section(8, [])]
    let new = [Self.section(8, [item], version: 1)]
    let difference = Difference(from: old, to: new)
    #expect(difference.applying(to: []) == nil)
    #expect(difference.applying(to: new) == nil)
    #expect(difference.applying(to: [Self.section(7, []), Self.section(8, [])]) == nil)
    #expect(difference.applying(to: [Self.section(7, [item, item]), Self.section(8, [])]) == nil)
    #expect(difference.applying(to: [Self.section(9, [item]), Self.section(8, [])]) == nil)
    let place = SectionedOffset(section: 0, element: 0)
    let far = SectionedOffset(section: .max, element: .max)
    let gone = difference.sections
    let same = ListDifference<Section>()
    #expect(Difference(sections: gone, deletions: [.init(offset: place, element: item)]) == nil)
    #expect(Difference(sections: same, moves: [.init(from: far, to: place)]) == nil)
    #expect(
      Difference(
        sections: same, moves: [.init(from: place, to: place), .init(from: place, to: place)])
        == nil)
    #expect(
      Difference(
        sections: same,
        updates: [.init(oldOffset: place, newOffset: far, old: item, new: item)]) == nil)
    let hole = SectionedOffset(section: 0, element: 3)
    #expect(Difference(sections: gone, moves: [.init(from: hole, to: place)]) == nil)
  }

  @Test("survives encoding, and is checked when decoded")
  func coding() throws {
    let old = [Self.section(7, [ListItem(id: 1), ListItem(id: 2)])]
    let new = [Self.section(8, [ListItem(id: 2)]), Self.section(7, [], version: 1)]
    let difference = Difference(from: old, to: new)
    let data = try JSONEncoder().encode(difference)
    #expect(try JSONDecoder().decode(Difference.self, from: data) == difference)
    let text = try #require(String(data: data, encoding: .utf8))
    let contradiction = text.replacing(
      #""element":1,"section":0"#, with: #""element":-1,"section":0"#
    )
    .replacing(#""section":0,"element":1"#, with: #""section":0,"element":-1"#)
    #expect(contradiction != text)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Difference.self, from: Data(contradiction.utf8))
    }
  }

  @Test("takes identities and equivalence from closures and key paths")
  func closures() {
    let old = [ListSection(header: "A", elements: ["x", "yy"])]
    let new = [ListSection(header: "a", elements: ["zz", "q"])]
    let difference = SectionedListDifference(
      from: old, to: new, sectionsIdentifiedBy: { $0.lowercased() }, elementsIdentifiedBy: \.count)
    #expect(difference.sections.updates.map(\.new.header) == ["a"])
    #expect(difference.moves.count == 1)
    #expect(difference.updates.count == 2)
    #expect(difference.applying(to: old) == new)
  }
}
