internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The rows of a result in its order, where a row that a commit touched is placed by its values.
///
/// With a LIMIT it is a window on the result: the rows within the LIMIT, and a reserve of those
/// that follow. Rows after the last one that was read are ignored.
struct OrderedRows: Sendable {
  private let order: QueryOrder
  private let window: RowWindow?
  private var rows: BlockList<KeyedRow>
  private var records: [RecordKey: Record]
  /// True if there are no rows after those known.
  private var isComplete: Bool
  /// The last row up to which all rows are known; `nil` if all rows are.
  private var frontier: KeyedRow?
  /// True if the rows came in the expected order. It is false if a collation was replaced.
  private let isInOrder: Bool

  /// The rows as they were read, at most as many as the window has.
  init(_ rows: [KeyedRow], order: QueryOrder, window: RowWindow?) {
    self.order = order
    self.window = window
    self.rows = BlockList(rows)
    records = Dictionary(minimumCapacity: rows.count)
    for row in rows { records[row.key] = row.record }
    isComplete = window.map { rows.count < $0.rowCount } ?? true
    frontier = isComplete ? nil : rows.last
    isInOrder = zip(rows, rows.dropFirst()).allSatisfy { order.compare($0, $1) < 0 }
  }

  private var limit: Int { window?.limit ?? .max }

  /// The rows within the limit.
  var visible: [KeyedRow] { rows.prefix(limit) }

  private func isKnownPlace(_ row: KeyedRow) -> Bool {
    isComplete || frontier.map { order.compare(row, $0) <= 0 } ?? false
  }

  private func position(of row: KeyedRow) -> BlockList<KeyedRow>.Position {
    rows.position { order.compare($0, row) < 0 }
  }
}

// MARK: - Placing

extension OrderedRows {
  /// Places rows that were read again.
  ///
  /// - Returns: The changes of the rows within the limit, with the fewest moves; `nil`, with the
  ///   rows unchanged, if too few are left to know, and all must be read again.
  /// - Complexity: O(*d* log *n*) for *d* rows touched, and a step per block of rows.
  mutating func place(_ touched: [TouchedRow]) -> ListDifference<KeyedRow>? {
    guard isInOrder else { return nil }
    var removed: [KeyedRow] = []
    var added: [KeyedRow] = []
    for row in touched {
      let old = records[row.key].map { KeyedRow(key: row.key, record: $0) }
      var new = row.record.map { KeyedRow(key: row.key, record: $0) }
      if let place = new, !isKnownPlace(place) { new = nil }
      guard old != new else { continue }
      if let old { removed.append(old) }
      if let new { added.append(new) }
    }
    let count = rows.count - removed.count + added.count
    guard isComplete || count >= limit else { return nil }
    return replace(removed, by: added)
  }

  private mutating func replace(
    _ removed: [KeyedRow], by added: [KeyedRow]
  ) -> ListDifference<KeyedRow>? {
    let oldCount = rows.count
    guard let leaving = placements(of: removed) else { return nil }
    for row in removed {
      rows.remove(at: position(of: row))
      records[row.key] = nil
    }
    for row in added {
      rows.insert(row, at: position(of: row))
      records[row.key] = row.record
    }
    guard let arriving = placements(of: added) else {
      preconditionFailure("A row is at the place where it was just inserted")
    }
    let starts = rows.starts()
    let difference = PlacedChanges(
      removed: leaving, added: arriving, oldCount: oldCount, newCount: rows.count, limit: limit
    ).difference { rows.element(at: $0, starts) }
    trim()
    return difference
  }

  /// The rows with their offsets, ascending; `nil` if one is not at its place.
  private func placements(of some: [KeyedRow]) -> [ListDifference<KeyedRow>.Placement]? {
    let starts = rows.starts()
    var placements: [ListDifference<KeyedRow>.Placement] = []
    placements.reserveCapacity(some.count)
    for row in some {
      let position = position(of: row)
      guard rows[position]?.key == row.key else { return nil }
      placements.append(.init(offset: rows.offset(of: position, starts), element: row))
    }
    placements.sort { $0.offset < $1.offset }
    return placements
  }

  /// Drops rows if there are too many.
  private mutating func trim() {
    guard let window, rows.count > window.maxRowCount else { return }
    for row in rows.prefix(rows.count)[window.rowCount...] { records[row.key] = nil }
    rows.keepFirst(window.rowCount)
    isComplete = false
    frontier = rows.prefix(window.rowCount).last
  }
}
