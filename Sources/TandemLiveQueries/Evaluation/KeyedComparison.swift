internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// A comparison of all rows of a result, as they come, with those known.
///
/// Rows mostly come in the same order each time. So each is first compared, packed, with the row
/// after the last one found, and only others are looked up by their keys. An error ends the sequence,
/// and leaves the rows in part old and in part new.
struct KeyedComparison {
  private let plan: QueryPlan
  private(set) var rows: PackedRows
  /// Rows that have other columns, or that the consumer started from.
  private var former: [RecordKey: Record] = [:]
  /// True for each slot whose row was found in the result or added to it.
  private var isFound: [Bool]
  /// The slot whose row is expected next.
  private var next = 0
  private var packed = PackedRow()
  /// `nil` if the caller makes the difference of ``slots`` and ``replaced``.
  private var changes: KeyedChanges?
  private var foundCount = 0
  /// For a list, the slots of the rows, in the order in which they came.
  private(set) var slots: [UInt32] = []
  /// The former rows of the slots whose row changed.
  private(set) var replaced: [Int: Record] = [:]

  /// A comparison for a set, with rows that have other columns, or that the consumer started from.
  ///
  /// - Parameter notesChanges: False to leave the difference empty.
  init(_ plan: QueryPlan, with rows: PackedRows, former records: [Record], notesChanges: Bool) {
    self.init(plan, with: rows)
    changes = KeyedChanges(isKept: notesChanges)
    for record in records { former[plan.key(of: record)] = record }
  }

  /// A comparison for a list.
  init(_ plan: QueryPlan, with rows: PackedRows) {
    self.plan = plan
    self.rows = rows
    isFound = Array(repeating: false, count: rows.slotCount)
  }

  /// Adds the row at which a statement stands.
  mutating func add(_ statement: Statement) throws(DatabaseError) {
    packed.removeAll()
    statement.appendRow(to: &packed)
    while next < isFound.count, rows.isFree(next) { next += 1 }
    if next < isFound.count, !isFound[next], rows.hasRow(packed, at: next) { return find(next) }
    let key = try plan.currentKey(statement)
    let slot = isNext(key) ? next : rows.slot(of: key)
    if let slot, !isFound[slot], rows.hasRow(packed, at: slot) { return find(slot) }
    try add(plan.currentRow(statement).record, key, slot)
  }

  /// True if the row that is expected next has this key, so that it need not be looked up.
  private func isNext(_ key: RecordKey) -> Bool {
    next < isFound.count && !isFound[next] && rows.key(at: next) == key
  }

  /// Adds a row.
  mutating func add(_ row: KeyedRow) throws(DatabaseError) {
    packed.removeAll()
    packed.append(contentsOf: row.record.values)
    try add(row.record, row.key, rows.slot(of: row.key))
  }

  private mutating func add(
    _ record: Record, _ key: RecordKey, _ slot: Int?
  ) throws(DatabaseError) {
    if let slot {
      guard !isFound[slot] else { throw plan.duplicateError(key) }
      let old = rows.record(at: slot)
      if changes != nil {
        changes?.note(key, from: old, to: record)
      } else if !old.hasSameStorage(as: record) {
        replaced[slot] = old
      }
      rows.replace(at: slot, by: packed)
      find(slot)
    } else {
      changes?.note(key, from: former.removeValue(forKey: key), to: record)
      let slot = rows.insert(packed, key)
      if slot == isFound.count { isFound.append(false) }
      find(slot)
    }
  }

  private mutating func find(_ slot: Int) {
    isFound[slot] = true
    foundCount += 1
    if changes == nil { slots.append(UInt32(slot)) }
    next = slot + 1
  }

  /// Gives back the memory that was reserved for more rows.
  mutating func shrink() {
    rows.shrink()
    slots.shrink()
  }

  /// Removes the rows that were not found, and returns all changes.
  mutating func finish() -> SetDifference<Record> {
    shrink()
    if foundCount < rows.count {
      for slot in isFound.indices where !isFound[slot] && !rows.isFree(slot) {
        changes?.note(rows.key(at: slot), from: rows.record(at: slot), to: nil)
        rows.remove(at: slot)
      }
    }
    for (key, record) in former { changes?.note(key, from: record, to: nil) }
    return changes?.difference() ?? SetDifference()
  }
}
