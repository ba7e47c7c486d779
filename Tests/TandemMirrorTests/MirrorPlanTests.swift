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
  func everySubset() throws {
    for source in Self.subsets {
      for local in Self.subsets {
        for updates in Self.subsets {
          let items = source.map { Item(id: $0) }
          let answers = Set(updates)
          let expected = Self.expected(source: items, localIDs: local, updates: answers)
          for planner in [MirrorPlanner<Item>.unsorted, .sorted] {
            var asked: [Int] = []
            let plan = try MirrorPlan(source: items, localIDs: local, by: planner) {
              asked.append($0.id)
              return answers.contains($0.id)
            }
            #expect(plan == expected)
            #expect(asked == source.filter(local.contains))
          }
        }
      }
    }
  }

  @Test("keeps the source's order among items of one order value, in every arrangement")
  func everyOrder() throws {
    for arrangement in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      for orders in 0..<27 {
        let items = arrangement.enumerated().map { offset, id in
          Item(id: id, order: [orders % 3, orders / 3 % 3, orders / 9][offset])
        }
        for local in Self.subsets {
          let plan = try MirrorPlan(source: items, localIDs: local, order: \.order) { $0.id == 1 }
          #expect(plan == Self.expected(source: items, localIDs: local, updates: [1]))
        }
      }
    }
  }

  @Test("refuses all but the first item of an identity, and names their positions")
  func duplicates() throws {
    for source in Self.words(maxLength: 4) {
      for local in Self.words(maxLength: 3) {
        let items = source.map { Item(id: $0) }
        let expected = Self.expected(source: items, localIDs: local, updates: [1])
        let plan = try MirrorPlan(source: items, localIDs: local) { $0.id == 1 }
        #expect(plan == expected)
        guard source == source.sorted(), local == local.sorted() else { continue }
        let sorted = try MirrorPlan(source: items, localIDs: local, by: .sorted) {
          $0.id == 1
        }
        #expect(sorted == expected)
      }
    }
  }

  @Test("is refused if it should be sorted and either side is not")
  func unsorted() {
    for (source, local) in [
      ([2, 1], []), ([], [2, 1]), ([1, 3, 2], [1, 2, 3]), ([1, 2, 3], [1, 3, 2]),
    ] {
      #expect(throws: MirrorError.self) {
        try MirrorPlan(
          source: source.map { Item(id: $0) }, localIDs: local, by: .sorted
        ) { _ in false }
      }
    }
  }

  @Test("neither hangs nor crashes on identities that cannot be compared")
  func incomparable() throws {
    struct Odd: Identifiable, Sendable { var id: Double }
    for planner in [MirrorPlanner<Odd>.unsorted, .sorted] {
      let items = [Odd(id: 1), Odd(id: .nan), Odd(id: .nan), Odd(id: 2)]
      let plan = try? MirrorPlan(
        source: items, localIDs: [.nan, 1, .nan], by: planner
      ) { _ in false }
      #expect(plan?.sourceCount ?? 4 == 4)
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

  /// Plans as a run does, with pages of these sizes, and checks what is asked for.
  static func plan(
    _ planner: MirrorPlanner<Item>, source: [Int], local: [Int], sourcePage: Int,
    localPage: Int, updates: Set<Int>
  ) -> (plan: MirrorPlan<Item>, asked: [Int], maxQuestionCount: Int)? {
    var planning = planner
    var sourceRest = source.map { Item(id: $0) }[...]
    var localRest = local[...]
    var asked: [Int] = []
    var maxQuestionCount = 0
    while true {
      while planning.needsLocalIDs {
        planning.addLocalIDs(localRest.isEmpty ? nil : Array(localRest.prefix(localPage)))
        localRest = localRest.dropFirst(localPage)
      }
      guard planning.violation == nil else { return nil }
      if planning.isSourceEnded { return (planning.plan { $0.order }, asked, maxQuestionCount) }
      asked += planning.questions.map(\.id)
      maxQuestionCount = max(maxQuestionCount, planning.questions.count)
      let questions = planning.questions
      planning.answer(questions.indices.filter { updates.contains(questions[$0].id) })
      planning.addSource(sourceRest.isEmpty ? nil : Array(sourceRest.prefix(sourcePage)))
      sourceRest = sourceRest.dropFirst(sourcePage)
    }
  }

  @Test("gives the same plan however the lists are cut into pages")
  func pages() {
    let words = MirrorPlanTests.words(maxLength: 4).filter { $0 == $0.sorted() }
    for source in words {
      for local in words {
        for (sourcePage, localPage) in [(1, 1), (1, 3), (3, 1), (2, 2), (9, 9)] {
          for planner in [MirrorPlanner<Item>.sorted, .unsorted] {
            let result = Self.plan(
              planner, source: source, local: local, sourcePage: sourcePage,
              localPage: localPage, updates: [1])
            let expected = MirrorPlanTests.expected(
              source: source.map { Item(id: $0) }, localIDs: local, updates: [1])
            #expect(result?.plan == expected)
            #expect(result?.maxQuestionCount ?? 9 <= sourcePage)
          }
        }
      }
    }
  }

  @Test("gives the plan of the definition for random lists, sorted or not", arguments: 0..<50)
  func random(seed: Int) {
    var random = SplitMix64(seed: UInt64(seed))
    let source = (0..<200).map { _ in Int.random(in: 0..<150, using: &random) }
    let local = (0..<200).map { _ in Int.random(in: 0..<150, using: &random) }
    let updates = Set((0..<50).map { _ in Int.random(in: 0..<150, using: &random) })
    let pageSize = Int.random(in: 1...40, using: &random)
    for isSorted in [false, true] {
      let (source, local) = isSorted ? (source.sorted(), local.sorted()) : (source, local)
      let result = Self.plan(
        isSorted ? .sorted : .unsorted, source: source, local: local, sourcePage: pageSize,
        localPage: 41 - pageSize, updates: updates)
      let expected = MirrorPlanTests.expected(
        source: source.map { Item(id: $0) }, localIDs: local, updates: updates)
      #expect(result?.plan == expected, "seed \(seed), sorted \(isSorted)")
    }
  }

  @Test("notices a page that does not ascend from the one before")
  func unsortedPages() {
    for (source, local) in [
      ([2, 1], [1, 2]), ([1, 2], [2, 1]), ([0, 2, 1], []), ([], [0, 2, 1]),
    ] {
      let result = Self.plan(
        .sorted, source: source, local: local, sourcePage: 1, localPage: 1, updates: [])
      #expect(result == nil)
    }
  }

  @Test("ignores answers about what it did not ask, and takes silence for no")
  func strayAnswers() {
    for planner in [MirrorPlanner<Item>.sorted, .unsorted] {
      var planning = planner
      planning.addLocalIDs([1, 3, 9])
      planning.addLocalIDs(nil)
      planning.addSource([Item(id: 0), Item(id: 1), Item(id: 2), Item(id: 3)])
      #expect(planning.questions.map(\.id) == [1, 3])
      planning.answer([-1, 2, 1, 1, .max])
      #expect(planning.questions.isEmpty)
      planning.addSource([Item(id: 9)])
      #expect(planning.questions.map(\.id) == [9])
      planning.addSource([Item(id: 10)])
      planning.addSource(nil)
      #expect(!planning.needsLocalIDs)
      let plan = planning.plan { _ in 0 }
      #expect(plan.transfers.map(\.id) == [0, 2, 3, 10])
      #expect(plan.skippedCount == 2)
    }
  }
}

extension MirrorPlan {
  /// The plan of a planner for two sides, each in one page.
  fileprivate init(
    source: [Item], localIDs: [Item.ID], by planner: MirrorPlanner<Item> = .unsorted,
    order: (Item) -> Int = { _ in 0 }, needsUpdate: (Item) throws -> Bool
  ) throws {
    var planner = planner
    var locals = [localIDs][...]
    for page in [source, nil] {
      while planner.needsLocalIDs { planner.addLocalIDs(locals.popFirst()) }
      planner.addSource(page)
      while planner.needsLocalIDs { planner.addLocalIDs(locals.popFirst()) }
      if let violation = planner.violation { throw violation }
      let questions = planner.questions
      planner.answer(try questions.indices.filter { try needsUpdate(questions[$0]) })
    }
    self = planner.plan(order: order)
  }
}
