internal import TandemRecords
internal import TandemSQLite

/// Which changes matter to a query, and whether each row of its result depends on nothing but the
/// row of one table that has its key.
struct QueryShape {
  /// What matters; `nil` if everything may.
  let interests: [TableInterest]?
  /// Whether a change of some rows changes no others of the result.
  let isIncremental: Bool
  /// The same in words.
  let explanation: String
  /// The log of its one table, if that is tracked.
  let log: TrackingLog?

  init(
    _ statement: Statement, reads: StatementReads, keyOffsets: [Int],
    in connection: DatabaseConnection
  ) throws(DatabaseError) {
    let words = SQLWords(statement.sql).words
    guard let tables = try QueryShape.tables(of: reads, in: connection) else {
      interests = nil
      isIncremental = false
      explanation = "runs again after every commit: it reads more than ordinary tables"
      log = nil
      return
    }
    let keyNames = QueryShape.keyNames(statement, keyOffsets, tables)
    let key = keyNames.map { tables[0].key(ofColumns: $0) } ?? .none
    var reason = QueryShape.obstacle(reads, words, tables, key)
    if reason == nil, try !QueryShape.readsOneTableOnce(statement, in: connection) {
      reason = "it reads its table more than once"
    }
    isIncremental = reason == nil
    // Columns that joins by name compare are not reported.
    let joinsByName = !words.isDisjoint(with: ["USING", "NATURAL"])
    interests = tables.map { table in
      TableInterest(
        table: table.schema.name, key: reason == nil ? key : .none,
        columns: joinsByName
          ? nil : table.positions(ofColumns: reads.columns[table.schema.name] ?? []))
    }
    let names = tables.map(\.schema.name).sorted().joined(separator: ", ")
    if let reason {
      log = nil
      explanation = "runs again after commits that change \(names): \(reason)"
    } else {
      log = try QueryShape.log(of: tables[0], key: keyNames ?? [], in: connection)
      let others = log == nil ? "; if another process wrote, runs again" : ", whoever wrote"
      explanation = "reads only the rows of \(names) that a commit touched\(others)"
    }
  }

  /// The log of a table, if it is tracked as its schema is now.
  private static func log(
    of table: TableFacts, key: [String], in connection: DatabaseConnection
  ) throws(DatabaseError) -> TrackingLog? {
    let tracking = try TableTracking(table: table.schema.name, in: connection)
    return try connection.isTracking(tracking) ? TrackingLog(tracking, key: key) : nil
  }

  /// The ordinary tables read; `nil` if something else is read as well.
  private static func tables(
    of reads: StatementReads, in connection: DatabaseConnection
  ) throws(DatabaseError) -> [TableFacts]? {
    guard !reads.reachesFurther else { return nil }
    var tables: [TableFacts] = []
    for name in reads.columns.keys.sorted() {
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

  /// Why rows cannot be read one by one, if so.
  private static func obstacle(
    _ reads: StatementReads, _ words: Set<String>, _ tables: [TableFacts],
    _ key: TableInterest.Key
  ) -> String? {
    if tables.count != 1 { return "it reads \(tables.count) tables" }
    if reads.selectCount != 1 { return "it has subqueries" }
    if let word = words.intersection(wholeResultWords).min() {
      return "\(word) makes rows depend on each other"
    }
    if let function = reads.functions.subtracting(rowFunctions).min() {
      return "\(function)() may depend on more than its row"
    }
    if key == .none { return "its key is not the primary key of \(tables[0].schema.name)" }
    return nil
  }

  /// Whether the plan has one loop, so that no row meets another of the same table.
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
    "INTERSECT", "JOIN", "LIMIT", "OFFSET", "OVER", "UNION", "VALUES", "WINDOW", "WITH",
  ]

  /// Functions of SQLite whose result follows from their arguments alone.
  private static let rowFunctions: Set<String> = [
    "abs", "ceil", "char", "coalesce", "concat", "concat_ws", "floor", "format", "glob", "hex",
    "ifnull", "iif", "instr", "json", "json_array", "json_array_length", "json_extract",
    "json_object", "json_quote", "json_type", "json_valid", "length", "like", "likelihood",
    "likely", "lower", "ltrim", "nullif", "octet_length", "printf", "quote", "replace", "round",
    "rtrim", "sign", "soundex", "substr", "substring", "trim", "trunc", "typeof", "unhex",
    "unicode", "unlikely", "upper", "->", "->>",
  ]
}
