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
