internal import TandemRecords

/// How the result of a live query is kept true in a database, as its schema is now.
public struct LiveQueryExplanation: Hashable, Sendable, CustomStringConvertible {
  /// The columns of the result, in order.
  public let columns: [String]
  /// Those that identify a row.
  public let key: [String]
  /// Whether only rows that a commit touched are read again.
  public let isIncremental: Bool
  /// Whether that holds for the result as a list too, whose order is then kept in memory.
  public let isListIncremental: Bool
  /// A sentence that says which way the query goes, and why.
  public let description: String

  init(_ plan: QueryPlan) {
    columns = plan.layout.names
    key = plan.keyOffsets.map { plan.layout.names[$0] }
    isIncremental = plan.rereading != nil
    isListIncremental = plan.rereading != nil && plan.list.order != nil
    description = plan.explanation
  }
}
