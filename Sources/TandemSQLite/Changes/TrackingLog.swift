internal import TandemRecords

/// Reads the log of a ``TableTracking``.
package struct TrackingLog: Sendable {
  private let bounds: String
  private let entries: String

  /// The log of a tracked table, for keys whose columns are in the given order.
  package init?(_ tracking: TableTracking, key: [String]) {
    let log = tracking.logName.sqlQuoted
    var columns: [String] = []
    for name in key {
      guard let place = tracking.identity.firstIndex(where: name.isSameSQLName) else { return nil }
      columns.append("k\(place + 1)")
    }
    // One minimum or maximum at a time is found without reading the table.
    bounds = "SELECT (SELECT min(seq) FROM \(log)), (SELECT max(seq) FROM \(log))"
    entries = "SELECT \(columns.joined(separator: ", ")) FROM \(log) WHERE seq > ?"
  }

  /// The number of the last entry, for a reader that has just read the table; 0 if somebody emptied
  /// the log.
  package func end(in connection: DatabaseConnection) throws(DatabaseError) -> Int64 {
    try bounds(in: connection)?.upperBound ?? 0
  }

  /// The keys logged after an entry; `nil` if the log no longer goes back to it.
  package func keys(
    after position: Int64, in connection: DatabaseConnection
  ) throws(DatabaseError) -> TouchedKeys? {
    guard let bounds = try bounds(in: connection), bounds.contains(position) else { return nil }
    return try connection.withStatement(entries) { statement throws(DatabaseError) in
      var keys = TouchedKeys()
      try statement.bind([.integer(position)])
      while try statement.step() { keys.insert(RecordKey(try statement.values())) }
      return keys
    }
  }

  /// The first and the last entry; `nil` after somebody emptied the log, until the table is tracked
  /// again.
  private func bounds(
    in connection: DatabaseConnection
  ) throws(DatabaseError) -> ClosedRange<Int64>? {
    try connection.withStatement(bounds) { statement throws(DatabaseError) in
      guard try statement.step(), case .integer(let first) = try statement.value(at: 0),
        case .integer(let last) = try statement.value(at: 1),
        first >= TableTracking.minFirstEntry
      else { return nil }
      return first...last
    }
  }
}
