internal import TandemRecords
internal import TandemSQLite

/// The tables that a query reads, and the dependence of its result on their rows.
struct QueryShape {
  /// The tables that a query reads.
  enum Source {
    /// More than ordinary tables.
    case anything
    /// Tables whose rows do not correspond to those of the result, and the reason.
    case tables([TableFacts], obstacle: String)
    /// One table, of which each row yields at most one row of the result, and nothing else does;
    /// the key of the result consists of these columns.
    case rows(TableFacts, keyNames: [String])
  }

  let source: Source
  /// True if a join compares columns by name, which are not reported as read.
  private let joinsByName: Bool

  init(
    _ statement: Statement, _ clauses: QueryClauses, reads: StatementReads, keyOffsets: [Int],
    in connection: DatabaseConnection
  ) throws(DatabaseError) {
    let words = clauses.tokens.words
    joinsByName = try QueryShape.joinsByName(words, reads, in: connection)
    // A table of which only columns compared by name are read is not reported itself.
    let names =
      try joinsByName
      ? connection.openedTables(by: statement.sql).union(reads.columns.keys)
      : Set(reads.columns.keys)
    guard let tables = try QueryShape.tables(names, reads, in: connection) else {
      source = .anything
      return
    }
    let keyNames = QueryShape.keyNames(statement, keyOffsets, tables) ?? []
    let key = keyNames.isEmpty ? .none : tables[0].key(ofColumns: keyNames)
    var obstacle = QueryShape.obstacle(reads, clauses.tokens, tables, key)
    if obstacle == nil, try !QueryShape.readsOneTableOnce(statement, in: connection) {
      obstacle = "it reads its table more than once"
    }
    source = obstacle.map { .tables(tables, obstacle: $0) } ?? .rows(tables[0], keyNames: keyNames)
  }

  /// True if a change of some rows changes no other rows of the result, except for those that a
  /// LIMIT adds or removes.
  var isOfRows: Bool {
    if case .rows = source { return true }
    return false
  }

  /// A query of its one table by rowid, if it has one.
  var rowidQuery: String? {
    guard case .rows(let table, _) = source else { return nil }
    return table.rowidName.map { "SELECT \($0), * FROM \(table.schema.name.sqlQuoted)" }
  }

  /// The changes that matter, with the keys of rows if requested and possible; `nil` if all changes
  /// may.
  func interests(_ reads: StatementReads, withKeys: Bool) -> [TableInterest]? {
    switch source {
    case .anything: return nil
    case .rows(let table, let names):
      return [interest(in: table, withKeys ? table.key(ofColumns: names) : .none, reads)]
    case .tables(let tables, _): return tables.map { interest(in: $0, .none, reads) }
    }
  }

  private func interest(
    in table: TableFacts, _ key: TableInterest.Key, _ reads: StatementReads
  ) -> TableInterest {
    let columns = reads.columns[table.schema.name] ?? []
    return TableInterest(
      table: table.schema.name, key: key,
      columns: joinsByName ? nil : table.positions(ofColumns: columns))
  }

  /// The tracking of its one table, if it is tracked by its present schema.
  func tracking(in connection: DatabaseConnection) throws(DatabaseError) -> TableTracking? {
    guard case .rows(let table, _) = source, !TriggerSet.isOwnName(table.schema.name) else {
      return nil
    }
    let tracking = try TableTracking(table: table.schema.name, in: connection)
    return try connection.isTracking(tracking) ? tracking : nil
  }

  /// The log of the tracking, by the key of the result.
  func log(_ tracking: TableTracking) -> TrackingLog? {
    guard case .rows(_, let names) = source else { return nil }
    return TrackingLog(tracking, key: names)
  }

  /// True if its one table was tracked, by a schema that has changed since.
  private func isTrackingOutdated(in connection: DatabaseConnection) throws(DatabaseError) -> Bool {
    guard case .rows(let table, _) = source else { return false }
    return try connection.hasTrackingLog(ofTable: table.schema.name)
  }

  /// The way of the query, in words.
  func explanation(_ list: ListPlan, readsRows: Bool, _ others: String) -> String {
    switch source {
    case .anything: return "runs again after every commit: it reads more than ordinary tables"
    case .tables(let tables, _) where tables.isEmpty:
      return "runs once: it reads no table, so no commit changes its result"
    case .tables(let tables, let obstacle):
      let names = tables.map(\.schema.name).sorted().joined(separator: ", ")
      return "runs again after commits that change \(names): \(obstacle)"
    case .rows(let table, _):
      let name = table.schema.name
      guard readsRows else {
        return "runs again after commits that change \(name): \(list.obstacle ?? "")"
      }
      let order = list.obstacle.map { "; as a list, runs again: \($0)" } ?? ""
      return "reads only the rows of \(name) that a commit touched\(others)\(order)"
    }
  }

  /// The way after changes by others, in words. A table whose rows are identified by rowid, and most of
  /// which is watched, is compared by its pages (`QueryReader`).
  func othersExplanation(
    _ tracking: TableTracking?, in connection: DatabaseConnection
  ) throws(DatabaseError) -> String {
    guard let tracking else {
      let isOutdated = try isTrackingOutdated(in: connection)
      return "; if another process wrote, runs again"
        + (isOutdated ? ", because its tracking is out of date: track it again" : "")
    }
    let spots = tracking.blindSpots.joined(separator: ", nor ")
    return ", whoever wrote" + (spots.isEmpty ? "" : "; of other processes, it cannot see \(spots)")
  }

  /// True if a join may compare columns by name: in the query or, if that has more than one SELECT,
  /// in a view. SQLite does not always report the views that a query reads, so every view counts.
  private static func joinsByName(
    _ words: Set<String>, _ reads: StatementReads, in connection: DatabaseConnection
  ) throws(DatabaseError) -> Bool {
    let joinWords: Set<String> = ["NATURAL", "USING"]
    guard words.isDisjoint(with: joinWords) else { return true }
    guard reads.selectCount > 1 else { return false }
    let views = try connection.prepare("SELECT sql FROM sqlite_schema WHERE type = 'view'")
    while try views.step() {
      if case .text(let sql) = try views.value(at: 0),
        !SQLTokens(sql).words.isDisjoint(with: joinWords)
      {
        return true
      }
    }
    return false
  }

  /// The ordinary tables read; `nil` if something else is read as well.
  private static func tables(
    _ names: Set<String>, _ reads: StatementReads, in connection: DatabaseConnection
  ) throws(DatabaseError) -> [TableFacts]? {
    guard !reads.reachesFurther else { return nil }
    var tables: [TableFacts] = []
    for name in names.sorted() {
      guard !name.lowercased().hasPrefix("sqlite_"),
        let facts = try TableFacts(name, in: connection)
      else { return nil }
      // The tables that a view reads are reported beside it.
      if facts.schema.isView { continue }
      guard facts.isOrdinary else { return nil }
      tables.append(facts)
    }
    return tables
  }

  /// The columns of the one table that are the result's key.
  private static func keyNames(
    _ statement: Statement, _ offsets: [Int], _ tables: [TableFacts]
  ) -> [String]? {
    guard tables.count == 1 else { return nil }
    var names: [String] = []
    for offset in offsets {
      guard let origin = statement.origin(ofColumn: offset),
        origin.table.isSameSQLName(as: tables[0].schema.name)
      else { return nil }
      names.append(origin.column)
    }
    return names
  }

  /// The reason if rows cannot be read one by one.
  private static func obstacle(
    _ reads: StatementReads, _ tokens: SQLTokens, _ tables: [TableFacts],
    _ key: TableInterest.Key
  ) -> String? {
    if tables.count != 1 { return "it reads \(tables.count) tables" }
    if reads.selectCount != 1 || tokens.hasSubqueries { return "it has subqueries" }
    if let word = tokens.words.intersection(wholeResultWords).min() {
      return "\(word) makes rows depend on each other"
    }
    if let function = reads.functions.subtracting(rowFunctions).min() {
      return "\(function)() may depend on more than its row"
    }
    if key == .none { return "its key is not the primary key of \(tables[0].schema.name)" }
    return nil
  }

  /// True if the plan has one loop, so that it does not join rows of the same table.
  private static func readsOneTableOnce(
    _ statement: Statement, in connection: DatabaseConnection
  ) throws(DatabaseError) -> Bool {
    let plan = try connection.prepare("EXPLAIN QUERY PLAN \(statement.sql)")
    var loopCount = 0
    while try plan.step() {
      guard try plan.value(at: 1) == .integer(0), case .text(let detail) = try plan.value(at: 3)
      else { continue }
      let isLoop = ["SCAN ", "SEARCH ", "MULTI-INDEX OR"].contains(where: detail.hasPrefix)
      if isLoop { loopCount += 1 }
    }
    return loopCount == 1
  }

  private static let wholeResultWords: Set<String> = [
    "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "DISTINCT", "EXCEPT", "GROUP", "HAVING",
    "INTERSECT", "JOIN", "OFFSET", "OVER", "UNION", "VALUES", "WINDOW", "WITH",
  ]

  /// Functions of SQLite whose result depends only on their arguments.
  private static let rowFunctions: Set<String> = [
    "abs", "ceil", "char", "coalesce", "concat", "concat_ws", "floor", "format", "glob", "hex",
    "ifnull", "iif", "instr", "json", "json_array", "json_array_length", "json_extract",
    "json_object", "json_quote", "json_type", "json_valid", "length", "like", "likelihood",
    "likely", "lower", "ltrim", "nullif", "octet_length", "printf", "quote", "replace", "round",
    "rtrim", "sign", "soundex", "substr", "substring", "trim", "trunc", "typeof", "unhex",
    "unicode", "unlikely", "upper", "->", "->>",
  ]
}
