internal import TandemRecords
internal import TandemSQLite

/// How the order of a result is kept true, and which of its rows a LIMIT lets through.
struct ListPlan {
  /// Reads the rows in their order, the reserve included.
  let sql: String
  let parameters: [FieldValue]
  /// The order in which rows are placed, or `nil` if SQLite alone knows it.
  let order: QueryOrder?
  /// Which rows are kept for a LIMIT, if there is one and ``order`` is known.
  let window: RowWindow?
  /// Whether the statement leaves the order open, so that rows come in the order of their keys.
  let isSortedByKey: Bool
  /// Why ``order`` is not known, if so.
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
      // A LIMIT without an order would let any rows through. Rows that are equal by an order that
      // SQLite alone knows follow that of their keys.
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
  /// The most rows, if there is a most.
  fileprivate var count: Int? {
    if case .count(let count) = self { return count }
    return nil
  }
}

/// Which rows of an ordered result are kept for a LIMIT: those that it lets through, and some that
/// follow, to take the places of those that leave.
struct RowWindow: Hashable, Sendable {
  /// How many rows are kept in reserve, unless told otherwise. When they are used up, the query runs
  /// again.
  static let defaultReserveCount = 100

  /// How many rows the LIMIT lets through.
  var limit: Int
  /// How many rows are read beyond those.
  var reserveCount = defaultReserveCount

  /// How many rows are read.
  var rowCount: Int { limit == 0 ? 0 : sum(reserveCount) }

  /// How many rows are kept at most, before those at the end are forgotten.
  var maxRowCount: Int { sum(2 * reserveCount) }

  private func sum(_ count: Int) -> Int { min(limit, Int.max - count) + count }
}
