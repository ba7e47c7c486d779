internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The difference of a list from which some rows were removed and to which some were added, while
/// the others kept their order.
struct PlacedChanges {
  typealias Placement = ListDifference<KeyedRow>.Placement

  private let removed: [Placement]
  private let added: [Placement]
  private let limit: Int
  private let oldVisible: Int
  private let newVisible: Int
  private let places: TouchedPlaces

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
    places = TouchedPlaces(old: removed.map(\.offset), new: added.map(\.offset))
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
      deletions.append(
        .init(offset: places.oldOffset(rest), element: newElement(places.newOffset(rest))))
    }
    for rest in min(newRest, oldRest)..<newRest {
      let offset = places.newOffset(rest)
      insertions.append(.init(offset: offset, element: newElement(offset)))
    }
    let difference = ListDifference(
      deletions: Array(deletions), insertions: Array(insertions),
      moves: places.moves(pairs, untouchedCount: min(newRest, oldRest)),
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
