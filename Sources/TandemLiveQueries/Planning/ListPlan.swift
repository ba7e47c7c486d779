internal import TandemRecords
internal import TandemSQLite

/// The way in which the order of a result, and its rows within a LIMIT, are kept up to date.
struct ListPlan {
  /// Reads the rows in their order, the reserve included.
  let sql: String
  let parameters: [FieldValue]
  /// The order in which rows are placed, or `nil` if only SQLite knows it.
  let order: QueryOrder?
  /// The rows that are kept for a LIMIT, if there is one and ``order`` is known.
  let window: RowWindow?
  /// True if the statement has no order, so that rows come in the order of their keys.
  let isSortedByKey: Bool
  /// The reason if ``order`` is not known.
  let obstacle: String?

  init(
    _ query: ResolvedQuery, _ clauses: QueryClauses, _ shape: QueryShape, keyOffsets: [Int],
    _ resolver: QueryOrderResolver, reserveCount: Int
  ) throws(DatabaseError) {
    let outcome = try ListPlan.order(query, clauses, shape, resolver)
    switch outcome {
    case .order(let order):
      let limit = clauses.limit(query.parameters).count
      let window = limit.map { RowWindow(limit: $0, reserveCount: reserveCount) }
      self.order = order
      self.window = window
      obstacle = nil
      isSortedByKey = false
      parameters = clauses.bodyParameters(query.parameters)
      sql = clauses.ordered(
        byKey: keyOffsets, limit: window.map { "LIMIT \($0.rowCount)" })
    case .unknown(let obstacle):
      order = nil
      window = nil
      self.obstacle = obstacle
      // A LIMIT without an order would select arbitrary rows. Rows that are equal by an order that
      // only SQLite knows are in the order of their keys.
      isSortedByKey = clauses.orderTerms.isEmpty && !clauses.hasLimit
      parameters = query.parameters
      sql =
        isSortedByKey
        ? clauses.sql : clauses.ordered(byKey: keyOffsets, limit: clauses.limitText)
    }
  }

  private static func order(
    _ query: ResolvedQuery, _ clauses: QueryClauses, _ shape: QueryShape,
    _ resolver: QueryOrderResolver
  ) throws(DatabaseError) -> QueryOrderResolver.Outcome {
    guard case .rows(let table, _) = shape.source else {
      return .unknown("its rows are not read one by one")
    }
    guard clauses.limit(query.parameters) != .other else {
      return .unknown("its LIMIT is not a plain decimal number")
    }
    return try resolver.resolve(table)
  }
}

extension QueryClauses.Limit {
  /// The maximum number of rows; `nil` for any number.
  fileprivate var count: Int? {
    if case .count(let count) = self { return count }
    return nil
  }
}

/// The rows of an ordered result that are kept for a LIMIT: those within it, and a reserve of those
/// that follow, which replace rows that leave.
struct RowWindow: Hashable, Sendable {
  /// The default number of rows in reserve. When they are used up, the query runs again.
  static let defaultReserveCount = 100

  /// The number of rows of the LIMIT.
  var limit: Int
  /// The number of rows in reserve.
  var reserveCount = defaultReserveCount

  /// The number of rows that are read.
  var rowCount: Int { limit == 0 ? 0 : sum(reserveCount) }

  /// The maximum number of rows that are kept; with more, those at the end are dropped.
  var maxRowCount: Int { sum(2 * reserveCount) }

  private func sum(_ count: Int) -> Int { min(limit, Int.max - count) + count }
}
