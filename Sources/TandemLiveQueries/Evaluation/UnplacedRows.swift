internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The rows of a result as a list whose order only SQLite knows.
struct UnplacedRows: Sendable {
  private var rows: PackedRows
  /// The slots of the rows, in the order of the list.
  private var slots: [UInt32] = []

  /// An empty list.
  init(_ plan: QueryPlan) { rows = PackedRows(plan.layout, keyOffsets: plan.keyOffsets) }

  /// The rows.
  var keyedRows: [KeyedRow] { slots.map(row) }

  private func row(at slot: UInt32) -> KeyedRow { rows.row(at: Int(slot)) }

  /// Reads the whole list and compares it.
  ///
  /// - Returns: The changes; `nil`, with the rows unchanged, if the plan has other columns.
  mutating func rerun(
    _ plan: QueryPlan, _ connection: DatabaseConnection
  ) throws(DatabaseError) -> ListDifference<KeyedRow>? {
    guard rows.adopt(plan.layout, keyOffsets: plan.keyOffsets) else { return nil }
    let oldSlots = slots
    var comparison = KeyedComparison(plan, with: rows)
    // The comparison changes the only copy of the rows.
    self = UnplacedRows(plan)
    try connection.withStatement(plan.list.sql) { statement throws(DatabaseError) in
      try statement.bind(plan.list.parameters)
      while try statement.step() { try comparison.add(statement) }
    }
    comparison.shrink()
    slots = comparison.slots
    let replaced = comparison.replaced
    rows = comparison.rows
    if plan.list.isSortedByKey, slots != oldSlots { sortByKey() }
    return advance(from: oldSlots, replaced: replaced)
  }

  private mutating func sortByKey() {
    let keys = slots.map { rows.key(at: Int($0)) }
    guard !zip(keys, keys.dropFirst()).allSatisfy({ $0 < $1 }) else { return }
    slots = keys.indices.sorted { keys[$0] < keys[$1] }.map { slots[$0] }
  }

  /// Removes the rows that are no longer in the list, and returns the changes from a list of other
  /// slots, in which some rows were others.
  private mutating func advance(
    from old: [UInt32], replaced: [Int: Record]
  ) -> ListDifference<KeyedRow> {
    if old == slots, replaced.isEmpty { return ListDifference() }
    let difference = ListDifference(
      from: old, to: slots, identifiedBy: { $0 },
      by: { slot, _ in replaced.isEmpty || replaced[Int(slot)] == nil })
    let result = ListDifference<KeyedRow>(
      deletions: difference.deletions.map {
        .init(offset: $0.offset, element: row(at: $0.element))
      },
      insertions: difference.insertions.map {
        .init(offset: $0.offset, element: row(at: $0.element))
      },
      moves: difference.moves.map { .init(from: $0.from, to: $0.to) },
      updates: difference.updates.map { update in
        let new = row(at: update.new)
        return .init(
          oldOffset: update.oldOffset, newOffset: update.newOffset,
          old: KeyedRow(key: new.key, record: replaced[Int(update.new)] ?? new.record), new: new)
      })
    guard let result else {
      preconditionFailure("Other elements at the same offsets do not contradict each other")
    }
    for deletion in difference.deletions { rows.remove(at: Int(deletion.element)) }
    return result
  }
}
