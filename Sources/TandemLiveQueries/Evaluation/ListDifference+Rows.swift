internal import TandemDifferences
internal import TandemRecords

extension ListDifference: LiveChange where Element == KeyedRow {
  func isComposable(with next: Self) -> Bool { true }

  static func composing(_ changes: [Self]) -> Self {
    changes.dropFirst().reduce(changes[0]) { $0.composed(with: $1) }
  }

  /// One difference for this one followed by `next`, with the fewest moves.
  ///
  /// - Complexity: O(*d* log *d*) for *d* changes of both, whatever the length of the list.
  func composed(with next: Self) -> Self {
    let first = touchedRows
    let second = next.touchedRows
    let firstPlaces = TouchedPlaces(first)
    let secondPlaces = TouchedPlaces(second)
    var offsets: [Int: Int] = [:]
    for (offset, row) in first.enumerated() { if let place = row.new { offsets[place] = offset } }
    var isTouchedAgain = [Bool](repeating: false, count: first.count)
    var rows: [ListedRow] = []
    for row in second {
      guard let middle = row.old else {
        rows.append(row)
        continue
      }
      if let offset = offsets[middle] {
        isTouchedAgain[offset] = true
        rows.append(first[offset].followed(by: row))
      } else {
        var row = row
        row.old = firstPlaces.oldOffset(ofNew: middle)
        rows.append(row)
      }
    }
    for (var row, isTouchedAgain) in zip(first, isTouchedAgain) where !isTouchedAgain {
      row.new = row.new.map(secondPlaces.newOffset(ofOld:))
      rows.append(row)
    }
    return ListDifference(ListedRow.pairing(rows))
  }

  /// The rows that are deleted, inserted, moved or updated.
  private var touchedRows: [ListedRow] {
    var rows = deletions.map { ListedRow(old: $0.offset, from: $0.element) }
    rows += insertions.map { ListedRow(new: $0.offset, to: $0.element) }
    rows += updates.map {
      ListedRow(old: $0.oldOffset, new: $0.newOffset, from: $0.old, to: $0.new)
    }
    let updated = Set(updates.map(\.newOffset))
    for move in moves where !updated.contains(move.to) {
      rows.append(ListedRow(old: move.from, new: move.to))
    }
    return rows
  }

  /// The difference of these rows, while all others kept their order.
  private init(_ rows: [ListedRow]) {
    let places = TouchedPlaces(rows)
    // The place of each row among those touched in a version.
    var olds = [Int](repeating: 0, count: rows.count)
    let leaving = rows.indices.filter { rows[$0].old != nil }
    for (place, row) in leaving.sorted(by: { (rows[$0].old ?? 0) < (rows[$1].old ?? 0) })
      .enumerated()
    {
      olds[row] = place
    }
    let arriving = rows.indices.filter { rows[$0].new != nil }
      .sorted { (rows[$0].new ?? 0) < (rows[$1].new ?? 0) }
    let pairs = arriving.enumerated().filter { rows[$1].old != nil }
      .map { (old: olds[$1], new: $0) }
    let difference = ListDifference(
      deletions: rows.compactMap { row in
        guard let old = row.old, row.new == nil, let element = row.from else { return nil }
        return .init(offset: old, element: element)
      },
      insertions: rows.compactMap { row in
        guard let new = row.new, row.old == nil, let element = row.to else { return nil }
        return .init(offset: new, element: element)
      },
      moves: places.moves(pairs),
      updates: rows.compactMap { row in
        guard let old = row.old, let new = row.new, let from = row.from, let to = row.to,
          from != to
        else { return nil }
        return .init(oldOffset: old, newOffset: new, old: from, new: to)
      })
    guard let difference else {
      preconditionFailure("Each row has one offset in each list")
    }
    self = difference
  }
}

/// A row that a difference of lists touches: its offsets before and after, and its versions unless
/// it only moves.
private struct ListedRow {
  var old: Int?
  var new: Int?
  var from: KeyedRow?
  var to: KeyedRow?

  /// This change, and then another one of the same row.
  func followed(by next: ListedRow) -> ListedRow {
    ListedRow(
      old: old, new: next.new, from: old == nil ? nil : from ?? next.from,
      to: next.new == nil ? nil : next.to ?? to)
  }

  /// The same changes, without rows that are in neither list, and with one for a row that was
  /// deleted and inserted again.
  static func pairing(_ rows: [ListedRow]) -> [ListedRow] {
    var deletions: [RecordKey: ListedRow] = [:]
    for row in rows where row.new == nil && row.old != nil {
      if let from = row.from { deletions[from.key] = row }
    }
    var paired: [ListedRow] = []
    for var row in rows where row.new != nil {
      if row.old == nil, let key = row.to?.key, let deletion = deletions.removeValue(forKey: key) {
        row.old = deletion.old
        row.from = deletion.from
      }
      paired.append(row)
    }
    return paired + deletions.values
  }
}

extension TouchedPlaces {
  fileprivate init(_ rows: [ListedRow]) {
    self.init(old: rows.compactMap(\.old).sorted(), new: rows.compactMap(\.new).sorted())
  }
}
