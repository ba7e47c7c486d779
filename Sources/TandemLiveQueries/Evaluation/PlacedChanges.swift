internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The difference of a list from which some rows were removed and to which some were added, while
/// the others kept their order.
///
/// The cost does not depend on the length of the list: untouched rows count as runs, between the
/// old and new places of touched ones.
struct PlacedChanges {
  typealias Placement = ListDifference<KeyedRow>.Placement

  private let removed: [Placement]
  private let added: [Placement]
  private let limit: Int
  private let oldVisible: Int
  private let newVisible: Int
  /// For each row removed and added, the number of untouched rows before it.
  private let oldUntouched: [Int]
  private let newUntouched: [Int]

  /// - Parameters:
  ///   - removed: The rows removed, by ascending offsets in the old list.
  ///   - added: The rows added, by ascending offsets in the new list.
  ///   - oldCount: The length of the old list.
  ///   - newCount: The length of the new list.
  ///   - limit: The number of rows of either list that are compared.
  init(removed: [Placement], added: [Placement], oldCount: Int, newCount: Int, limit: Int) {
    self.removed = removed
    self.added = added
    self.limit = limit
    oldVisible = min(oldCount, limit)
    newVisible = min(newCount, limit)
    oldUntouched = removed.enumerated().map { $1.offset - $0 }
    newUntouched = added.enumerated().map { $1.offset - $0 }
  }

  private func oldOffset(_ untouched: Int) -> Int {
    untouched + oldUntouched.partitioningIndex { $0 > untouched }
  }

  private func newOffset(_ untouched: Int) -> Int {
    untouched + newUntouched.partitioningIndex { $0 > untouched }
  }

  /// The changes of the rows within the limit, with the fewest moves.
  ///
  /// - Parameter newElement: The row at an offset in the new list.
  func difference(
    newElement: (_ offset: Int) -> KeyedRow
  ) -> ListDifference<KeyedRow> {
    let leaving = removed.prefix { $0.offset < limit }
    let arriving = added.prefix { $0.offset < limit }
    let pairs = pairs(leaving, arriving)
    let oldRest = oldVisible - leaving.count
    let newRest = newVisible - arriving.count
    let isPaired = Set(pairs.map { removed[$0.old].element.key })
    var deletions = leaving.filter { !isPaired.contains($0.element.key) }
    var insertions = arriving.filter { !isPaired.contains($0.element.key) }
    // Untouched rows cross the limit as others come or go before them.
    for rest in min(newRest, oldRest)..<oldRest {
      deletions.append(.init(offset: oldOffset(rest), element: newElement(newOffset(rest))))
    }
    for rest in min(newRest, oldRest)..<newRest {
      insertions.append(.init(offset: newOffset(rest), element: newElement(newOffset(rest))))
    }
    let difference = ListDifference(
      deletions: Array(deletions), insertions: Array(insertions),
      moves: moves(pairs, untouchedCount: min(newRest, oldRest)),
      updates: pairs.map { pair in
        .init(
          oldOffset: removed[pair.old].offset, newOffset: added[pair.new].offset,
          old: removed[pair.old].element, new: added[pair.new].element)
      })
    guard let difference else {
      preconditionFailure("Each row has one offset in each list")
    }
    return difference
  }

  /// The places in ``removed`` and ``added`` of rows that are in both, in their new order.
  private func pairs(
    _ leaving: ArraySlice<Placement>, _ arriving: ArraySlice<Placement>
  ) -> [(old: Int, new: Int)] {
    var places: [RecordKey: Int] = [:]
    for (place, row) in leaving.enumerated() { places[row.element.key] = place }
    return arriving.enumerated().compactMap { place, row in
      places[row.element.key].map { (old: $0, new: place) }
    }
  }
}

// MARK: - Moves

extension PlacedChanges {
  /// The fewest moves: of all pairs and runs except a heaviest selection that keeps its order.
  private func moves(
    _ pairs: [(old: Int, new: Int)], untouchedCount: Int
  ) -> [ListDifference<KeyedRow>.Move] {
    let old = pairs.map { min(oldUntouched[$0.old], untouchedCount) }
    let new = pairs.map { min(newUntouched[$0.new], untouchedCount) }
    let cuts = Set(old).union(new).sorted()
    var rows: [OrderedRun] = pairs.indices.map { place in
      OrderedRun(
        weight: 1, old: .init(old[place], pairs[place].old),
        new: .init(new[place], pairs[place].new))
    }
    for (start, end) in zip(cuts, cuts.dropFirst()) {
      rows.append(OrderedRun(weight: end - start, old: .init(start), new: .init(start)))
    }
    let stays = OrderedRun.heaviestAscent(of: rows)
    var moves: [ListDifference<KeyedRow>.Move] = []
    for (place, run) in rows.enumerated() where !stays[place] {
      if place < pairs.count {
        moves.append(
          .init(from: removed[pairs[place].old].offset, to: added[pairs[place].new].offset))
      } else {
        for rest in run.new.untouched..<run.new.untouched + run.weight {
          moves.append(.init(from: oldOffset(rest), to: newOffset(rest)))
        }
      }
    }
    return moves
  }
}
