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
  private var rows: PackedRows
  /// The slots of the rows, in the order of the list.
  private var slots: BlockList<UInt32>
  /// True if there are no rows after those known.
  private var isComplete: Bool
  /// The last row up to which all rows are known; `nil` if all rows are.
  private var frontier: KeyedRow?
  /// True if the rows came in the expected order. It is false if a collation was replaced.
  private let isInOrder: Bool

  /// The rows as they were read, at most as many as the window has.
  init(_ rows: [KeyedRow], _ columns: ResultColumns, order: QueryOrder, window: RowWindow?) {
    self.order = order
    self.window = window
    var packedRows = PackedRows(columns.layout, keyOffsets: columns.keyOffsets)
    slots = BlockList(rows.map { packedRows.insert($0) })
    packedRows.shrink()
    self.rows = packedRows
    isComplete = window.map { rows.count < $0.rowCount } ?? true
    frontier = isComplete ? nil : rows.last
    isInOrder = zip(rows, rows.dropFirst()).allSatisfy { order.compare($0, $1) < 0 }
  }

  private var limit: Int { window?.limit ?? .max }

  /// The rows within the limit.
  var visible: [KeyedRow] { slots.prefix(limit).map(row) }

  private func row(at slot: UInt32) -> KeyedRow { rows.row(at: Int(slot)) }

  private func isKnownPlace(_ row: KeyedRow) -> Bool {
    isComplete || frontier.map { order.compare(row, $0) <= 0 } ?? false
  }

  private func position(of row: KeyedRow) -> BlockList<UInt32>.Position {
    slots.position { order.compare(self.row(at: $0), row) < 0 }
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
      let old = rows.slot(of: row.key).map(rows.row)
      var new = row.record.map { KeyedRow(key: row.key, record: $0) }
      if let place = new, !isKnownPlace(place) { new = nil }
      guard old != new else { continue }
      if let old { removed.append(old) }
      if let new { added.append(new) }
    }
    let count = slots.count - removed.count + added.count
    guard isComplete || count >= limit else { return nil }
    return replace(removed, by: added)
  }

  private mutating func replace(
    _ removed: [KeyedRow], by added: [KeyedRow]
  ) -> ListDifference<KeyedRow>? {
    let oldCount = slots.count
    guard let leaving = placements(of: removed) else { return nil }
    for row in removed {
      slots.remove(at: position(of: row))
      if let slot = rows.slot(of: row.key) { rows.remove(at: slot) }
    }
    for row in added {
      let position = position(of: row)
      slots.insert(rows.insert(row), at: position)
    }
    guard let arriving = placements(of: added) else {
      preconditionFailure("A row is at the place where it was just inserted")
    }
    let starts = slots.starts()
    let difference = PlacedChanges(
      removed: leaving, added: arriving, oldCount: oldCount, newCount: slots.count, limit: limit
    ).difference { row(at: slots.element(at: $0, starts)) }
    trim()
    return difference
  }

  /// The rows with their offsets, ascending; `nil` if one is not at its place.
  private func placements(of some: [KeyedRow]) -> [ListDifference<KeyedRow>.Placement]? {
    let starts = slots.starts()
    var placements: [ListDifference<KeyedRow>.Placement] = []
    placements.reserveCapacity(some.count)
    for row in some {
      let position = position(of: row)
      guard let slot = slots[position], rows.key(at: Int(slot)) == row.key else { return nil }
      placements.append(.init(offset: slots.offset(of: position, starts), element: row))
    }
    placements.sort { $0.offset < $1.offset }
    return placements
  }

  /// Drops rows if there are too many.
  private mutating func trim() {
    guard let window, slots.count > window.maxRowCount else { return }
    for slot in slots.prefix(slots.count)[window.rowCount...] { rows.remove(at: Int(slot)) }
    slots.keepFirst(window.rowCount)
    isComplete = false
    frontier = slots.prefix(window.rowCount).last.map(row)
  }
}
