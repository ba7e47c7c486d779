internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The rows of a query as a list, as they were last delivered.
struct OrderedResult: LiveResult {
  static let kind: UInt8 = 1

  private var reader: QueryReader
  /// The rows, if their values determine their places.
  private var placed: OrderedRows?
  /// The rows otherwise; `nil` before the first read.
  private var unplaced: UnplacedRows?

  init(_ definition: QueryDefinition) {
    self.init(definition, reserveCount: RowWindow.defaultReserveCount)
  }

  init(_ definition: QueryDefinition, reserveCount: Int) {
    reader = QueryReader(definition, reserveCount: reserveCount)
  }

  /// True if the next changes are expected to need the whole result.
  func readsEverything(ifUnknown isUnknown: Bool) -> Bool {
    reader.readsEverything(ifUnknown: isUnknown) || placed == nil
  }

  /// Advances to the state of the open snapshot.
  ///
  /// - Returns: The changes, with the fewest moves.
  /// - Complexity: O(*d* log *n*) for *d* rows touched among *n*, if rows are placed; O(*n*)
  ///   otherwise.
  mutating func advance(
    _ changes: CommittedChanges, _ reading: LiveReading
  ) throws(DatabaseError) -> ListDifference<KeyedRow> {
    let (plan, need) = try reader.advance(changes, reading)
    if case .rows(let keys, let rereading) = need {
      if keys.isEmpty { return ListDifference() }
      if placed != nil {
        let touched = try plan.rows(of: keys, rereading, in: reading.connection)
        if let difference = placed?.place(touched) { return difference }
      }
    }
    return try rerun(plan, reading.connection)
  }

  mutating func begin(
    _ changes: CommittedChanges, _ reading: LiveReading
  ) throws(DatabaseError) {
    _ = try advance(changes, reading)
  }

  func start() -> ListDifference<KeyedRow> { OrderedResult.insertion(of: rows) }

  func noChange() -> ListDifference<KeyedRow> { ListDifference() }

  /// The rows in their order.
  private var rows: [KeyedRow] { placed?.visible ?? unplaced?.keyedRows ?? [] }

  /// Reads the whole list and compares it.
  private mutating func rerun(
    _ plan: QueryPlan, _ connection: DatabaseConnection
  ) throws(DatabaseError) -> ListDifference<KeyedRow> {
    if plan.list.order == nil, let difference = try unplaced?.rerun(plan, connection) {
      return difference
    }
    let old = rows
    placed = nil
    unplaced = nil
    let new: [KeyedRow]
    if let order = plan.list.order {
      let rows = try OrderedRows(
        plan.listRows(in: connection), plan.columns, order: order, window: plan.list.window)
      placed = rows
      new = rows.visible
      try reader.didReadEverything(rowCount: new.count, in: connection)
    } else {
      var rows = UnplacedRows(plan)
      let difference = try rows.rerun(plan, connection)
      unplaced = rows
      if old.isEmpty, let difference { return difference }
      new = rows.keyedRows
    }
    guard !old.isEmpty else { return OrderedResult.insertion(of: new) }
    return ListDifference(
      from: old, to: new, identifiedBy: \.key,
      comparedBy: { $0.record.hasSameStorage(as: $1.record) })
  }

  private static func insertion(of rows: [KeyedRow]) -> ListDifference<KeyedRow> {
    let insertions = rows.enumerated().map { place, row in
      ListDifference.Placement(offset: place, element: row)
    }
    guard let difference = ListDifference(insertions: insertions) else {
      preconditionFailure("Each row has its own offset")
    }
    return difference
  }
}
