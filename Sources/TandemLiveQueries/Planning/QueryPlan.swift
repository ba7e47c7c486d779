internal import TandemRecords
internal import TandemSQLite

/// The way in which the result of a query is kept up to date after commits. It follows from the
/// statement and the schema, and is planned again whenever the schema changes.
struct QueryPlan {
  /// The file, for errors.
  let path: String
  /// Reads the whole result, in any order.
  let sql: String
  let parameters: [FieldValue]
  /// The columns of the result.
  let layout: RecordLayout
  /// The offsets of the key columns among them.
  let keyOffsets: [Int]
  /// The changes that may change the result; `nil` if any change may.
  let interests: [TableInterest]?
  /// Reads the row of one key, whose values follow the parameters of the list, regardless of a
  /// LIMIT; `nil` if the result must be read as a whole.
  let rereading: String?
  /// The plan for the result as a list.
  let list: ListPlan
  /// The log of the keys of touched rows, if the table is tracked.
  let log: TrackingLog?
  /// A query of the same table by its rowid, which is never null, if it has one.
  let rowidQuery: String?
  /// A sentence about the way, and the reason for it.
  let explanation: String

  init(
    _ definition: QueryDefinition, in connection: DatabaseConnection,
    reserveCount: Int = RowWindow.defaultReserveCount
  ) throws(DatabaseError) {
    // Compiling alone would trust the schema as the connection last saw it.
    _ = try connection.integer("SELECT count(*) FROM sqlite_schema")
    let query = try ResolvedQuery(definition, in: connection)
    let (statement, reads) = try connection.compile(query.sql)
    try QueryPlan.check(query, statement, path: connection.path)
    let clauses = QueryClauses(query.sql)
    path = connection.path
    layout = try QueryPlan.layout(of: statement, path: connection.path)
    keyOffsets = try QueryPlan.offsets(of: query.key, in: layout, path: connection.path)
    let shape = try QueryShape(
      statement, clauses, reads: reads, keyOffsets: keyOffsets, in: connection)
    let resolver = QueryOrderResolver(
      clauses: clauses, statement: statement, reads: reads, connection: connection)
    list = try ListPlan(
      query, clauses, shape, keyOffsets: keyOffsets, resolver, reserveCount: reserveCount)
    let unlimited = list.order == nil ? clauses.sql : clauses.body
    sql = clauses.hasLimit ? list.sql : unlimited
    parameters = list.parameters
    let readsRows = shape.isOfRows && (list.order != nil || !clauses.hasLimit)
    interests = shape.interests(reads, withKeys: readsRows)
    let tracking = readsRows ? try shape.tracking(in: connection) : nil
    log = tracking.flatMap(shape.log)
    rowidQuery = shape.rowidQuery
    let others = try shape.othersExplanation(log == nil ? nil : tracking, in: connection)
    explanation =
      shape.explanation(list, readsRows: readsRows, others)
      + QueryPlan.collations(statement, keyOffsets, in: connection)
    rereading = readsRows ? QueryPlan.rereading(unlimited, layout, keyOffsets) : nil
  }

  /// The difference that declared collations make, in words: keys are equal if their bytes are. The
  /// preupdate hook and the tracking report bytes, and only SQLite knows a collation of the
  /// application.
  private static func collations(
    _ statement: Statement, _ keyOffsets: [Int], in connection: DatabaseConnection
  ) -> String {
    keyOffsets.compactMap { offset -> String? in
      guard let origin = statement.origin(ofColumn: offset),
        let collation = connection.collation(of: origin),
        !collation.isSameSQLName(as: "BINARY")
      else { return nil }
      return "; \(origin.column) is compared by its bytes, not by its collation \(collation): "
        + "a row whose key changes to an equal one is deleted and inserted"
    }.joined()
  }

  private static func check(
    _ query: ResolvedQuery, _ statement: Statement, path: String
  ) throws(DatabaseError) {
    var message: String?
    if !statement.isReadOnly || statement.columnCount == 0 {
      message = "only a query that returns rows and changes nothing can be watched"
    } else if statement.parameterCount != query.parameters.count {
      message = "\(query.parameters.count) values for \(statement.parameterCount) parameters"
    } else if query.key.isEmpty {
      message = "a watched query needs a key: the columns that identify a row of its result"
    }
    if let message {
      throw DatabaseError(code: .error, message: message, sql: query.sql, path: path)
    }
  }

  private static func layout(
    of statement: Statement, path: String
  ) throws(DatabaseError) -> RecordLayout {
    guard let layout = RecordLayout(statement.columnNames) else {
      throw DatabaseError(
        code: .error, message: "two columns of the result have the same name; rename one with AS",
        sql: statement.sql, path: path)
    }
    return layout
  }

  private static func offsets(
    of key: [String], in layout: RecordLayout, path: String
  ) throws(DatabaseError) -> [Int] {
    var offsets: [Int] = []
    for name in key {
      guard let offset = layout.names.firstIndex(where: name.isSameSQLName) else {
        throw DatabaseError(
          code: .error,
          message: "the query has no column \(name) to be its key; it has "
            + layout.names.joined(separator: ", "), path: path)
      }
      offsets.append(offset)
    }
    return offsets
  }

  /// Reads the rows of the query that have one key. It filters the query from outside, so it is
  /// correct for every query.
  private static func rereading(_ sql: String, _ layout: RecordLayout, _ keys: [Int]) -> String {
    let condition = keys.map { "\(layout.names[$0].sqlQuoted) = ?" }.joined(separator: " AND ")
    return "SELECT * FROM (\(sql)\n) WHERE \(condition)"
  }
}
