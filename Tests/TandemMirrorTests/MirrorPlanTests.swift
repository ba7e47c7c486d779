import TestRandom
import Testing

@testable import TandemMirror

@Suite("A mirror's plan")
struct MirrorPlanTests {
  struct Item: Identifiable, Hashable, Sendable {
    var id: Int
    var order = 0
  }

  static let subsets: [[Int]] = (0..<8).map { bits in (0..<3).filter { bits >> $0 & 1 == 1 } }

  /// The plan, by definition.
  static func expected(
    source: [Item], localIDs: [Int], updates: Set<Int>
  ) -> MirrorPlan<Item> {
    var plan = MirrorPlan<Item>()
    plan.sourceCount = source.count
    plan.localCount = localIDs.count
    for (position, item) in source.enumerated() {
      if let first = source[..<position].firstIndex(where: { $0.id == item.id }) {
        plan.duplicates.append(
          MirrorDuplicate(id: item.id, position: position, firstPosition: first))
      } else if !localIDs.contains(item.id) || updates.contains(item.id) {
        let index = plan.transfers.firstIndex { $0.order > item.order } ?? plan.transfers.endIndex
        plan.transfers.insert(item, at: index)
      } else {
        plan.skippedCount += 1
      }
    }
    for id in localIDs where !source.contains(where: { $0.id == id }) {
      if !plan.removals.contains(id) { plan.removals.append(id) }
    }
    return plan
  }

  @Test("is right for every subset of three items on both sides and every answer")
  func everySubset() async throws {
    for source in Self.subsets {
      for local in Self.subsets {
        for updates in Self.subsets {
          let items = source.map { Item(id: $0) }
          let answers = Set(updates)
          let expected = Self.expected(source: items, localIDs: local, updates: answers)
          for planner in [MirrorPlanner<Item>.unsorted, .sorted] {
            let planning = MirrorPlanning(source: items, local: local, updates: answers)
            let (plan, asked) = try await planning.plan(by: planner)
            #expect(plan == expected)
            #expect(asked.joined().elementsEqual(source.filter(local.contains)))
          }
        }
      }
    }
  }

  @Test("keeps the source's order among items of one order value, in every arrangement")
  func everyOrder() async throws {
    for arrangement in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      for orders in 0..<27 {
        let items = arrangement.enumerated().map { offset, id in
          Item(id: id, order: [orders % 3, orders / 3 % 3, orders / 9][offset])
        }
        for local in Self.subsets {
          let planning = MirrorPlanning(source: items, local: local, updates: [1])
          let plan = try await planning.plan(by: .unsorted).plan
          #expect(plan == Self.expected(source: items, localIDs: local, updates: [1]))
        }
      }
    }
  }

  @Test("refuses all but the first item of an identity, and names their positions")
  func duplicates() async throws {
    for source in Self.words(maxLength: 4) {
      for local in Self.words(maxLength: 3) {
        let items = source.map { Item(id: $0) }
        let expected = Self.expected(source: items, localIDs: local, updates: [1])
        let planning = MirrorPlanning(source: items, local: local, updates: [1])
        #expect(try await planning.plan(by: .unsorted).plan == expected)
        guard source == source.sorted(), local == local.sorted() else { continue }
        #expect(try await planning.plan(by: .sorted).plan == expected)
      }
    }
  }

  @Test("is refused if it should be sorted and either side is not")
  func unsorted() async {
    for (source, local) in [
      ([2, 1], []), ([], [2, 1]), ([1, 3, 2], [1, 2, 3]), ([1, 2, 3], [1, 3, 2]),
    ] {
      let planning = MirrorPlanning(source: source.map { Item(id: $0) }, local: local)
      await #expect(throws: MirrorError.self) { try await planning.plan(by: .sorted) }
    }
  }

  @Test("neither hangs nor crashes on identities that cannot be compared")
  func incomparable() async throws {
    struct Odd: Identifiable, Sendable { var id: Double }
    let processor = MirrorProcessor<Odd>(
      list: { MirrorPages([1, .nan, .nan, 2].map(Odd.init)) },
      local: { MirrorPages([.nan, 1, .nan]) }, transfer: { _, _, _ in }, remove: { _ in })
    var unsorted = MirrorPlanner<Odd>.unsorted
    let plan = try await unsorted.plan(processor) { _ in }
    #expect(plan.sourceCount == 4)
    await #expect(throws: MirrorError.self) {
      var sorted = MirrorPlanner<Odd>.sorted
      _ = try await sorted.plan(processor) { _ in }
    }
  }

  /// All sequences of 0, 1 and 2 up to a length.
  static func words(maxLength: Int) -> [[Int]] {
    var words: [[Int]] = [[]]
    var last = words
    for _ in 0..<maxLength {
      last = last.flatMap { word in (0..<3).map { word + [$0] } }
      words += last
    }
    return words
  }
}

@Suite("A mirror's planner")
struct MirrorPlannerTests {
  typealias Item = MirrorPlanTests.Item

  @Test("gives the same plan however the lists are cut into pages")
  func pages() async throws {
    let words = MirrorPlanTests.words(maxLength: 4).filter { $0 == $0.sorted() }
    for source in words {
      for local in words {
        let items = source.map { Item(id: $0) }
        let expected = MirrorPlanTests.expected(source: items, localIDs: local, updates: [1])
        for (sourcePage, localPage) in [(1, 1), (1, 3), (3, 1), (2, 2), (9, 9)] {
          for planner in [MirrorPlanner<Item>.sorted, .unsorted] {
            let planning = MirrorPlanning(
              source: items, local: local, updates: [1], sourcePage: sourcePage,
              localPage: localPage)
            let (plan, asked) = try await planning.plan(by: planner)
            #expect(plan == expected)
            #expect(asked.allSatisfy { !$0.isEmpty && $0.count <= sourcePage })
          }
        }
      }
    }
  }

  @Test("gives the plan of the definition for random lists, sorted or not", arguments: 0..<50)
  func random(seed: Int) async throws {
    var random = SplitMix64(seed: UInt64(seed))
    let source = (0..<200).map { _ in Int.random(in: 0..<150, using: &random) }
    let local = (0..<200).map { _ in Int.random(in: 0..<150, using: &random) }
    let updates = Set((0..<50).map { _ in Int.random(in: 0..<150, using: &random) })
    let pageSize = Int.random(in: 1...40, using: &random)
    for isSorted in [false, true] {
      let (source, local) = isSorted ? (source.sorted(), local.sorted()) : (source, local)
      let items = source.map { Item(id: $0) }
      let planning = MirrorPlanning(
        source: items, local: local, updates: updates, sourcePage: pageSize,
        localPage: 41 - pageSize)
      let plan = try await planning.plan(by: isSorted ? .sorted : .unsorted).plan
      let expected = MirrorPlanTests.expected(source: items, localIDs: local, updates: updates)
      #expect(plan == expected, "seed \(seed), sorted \(isSorted)")
    }
  }

  @Test("notices a page that does not ascend from the one before")
  func unsortedPages() async {
    for (source, local) in [
      ([2, 1], [1, 2]), ([1, 2], [2, 1]), ([0, 2, 1], []), ([], [0, 2, 1]),
    ] {
      let planning = MirrorPlanning(
        source: source.map { Item(id: $0) }, local: local, sourcePage: 1, localPage: 1)
      await #expect(throws: MirrorError.self) { try await planning.plan(by: .sorted) }
    }
  }

  @Test("ignores answers about what it did not ask, and takes silence for no")
  func strayAnswers() async throws {
    for planner in [MirrorPlanner<Item>.sorted, .unsorted] {
      var planning = MirrorPlanning(
        source: [0, 1, 2, 3, 9, 10].map { Item(id: $0) }, local: [1, 3, 9], sourcePage: 4)
      planning.answer = { $0 == [1, 3] ? [-1, 2, 1, 1, .max] : [] }
      let (plan, asked) = try await planning.plan(by: planner)
      #expect(asked == [[1, 3], [9]])
      #expect(plan.transfers.map(\.id) == [0, 2, 3, 10])
      #expect(plan.skippedCount == 2)
    }
  }
}

/// Two sides in pages, and the answers of a processor about the items that both have.
private struct MirrorPlanning: Sendable {
  typealias Item = MirrorPlanTests.Item

  var source: [Item]
  var local: [Int]
  var sourcePage: Int
  var localPage: Int
  /// Returns the offsets of the items, given by their identities, that need an update.
  var answer: @Sendable ([Int]) -> [Int]

  init(
    source: [Item], local: [Int], updates: Set<Int> = [], sourcePage: Int = 1_000,
    localPage: Int = 1_000
  ) {
    self.source = source
    self.local = local
    self.sourcePage = sourcePage
    self.localPage = localPage
    answer = { ids in ids.indices.filter { updates.contains(ids[$0]) } }
  }

  /// Plans as a run does. Returns the plan, and the identities of each page that were asked about.
  func plan(
    by planner: MirrorPlanner<Item>
  ) async throws -> (plan: MirrorPlan<Item>, asked: [[Int]]) {
    let asked = Locked<[[Int]]>([])
    var processor = MirrorProcessor<Item>(
      list: { [self] in Self.pages(of: source, sourcePage) },
      local: { [self] in Self.pages(of: local, localPage) },
      transfer: { _, _, _ in }, remove: { _ in })
    processor.order = { $0.order }
    processor.itemsToUpdate = { [answer] items in
      let ids = items.map(\.id)
      asked.withLock { $0.append(ids) }
      return answer(ids)
    }
    var planner = planner
    let plan = try await planner.plan(processor) { _ in }
    return (plan, asked.current)
  }

  private static func pages<Element: Sendable>(
    of list: [Element], _ pageSize: Int
  ) -> MirrorPages<Element> {
    MirrorPages(from: 0) { start in
      let end = min(start + pageSize, list.count)
      return (Array(list[start..<end]), end < list.count ? end : nil)
    }
  }
}
