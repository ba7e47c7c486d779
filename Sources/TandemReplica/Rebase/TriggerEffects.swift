internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// Undoes the changes that triggers of the application make in synchronized tables while a record of
/// the space is written: the commit that the record came with has these changes already, and a local
/// edit that was not sent must not be overwritten by them. What triggers write into other tables stays.
///
/// A capture of the connection shows for each record whether triggers have changed other rows. If they
/// have, the row is written again, and temporary triggers keep each row of a synchronized table, with all
/// columns, as it was before its first change. They exist from then on until the pull is applied: each
/// change of the schema makes SQLite compile all statements again.
final class TriggerEffects {
  private let tables: ReplicaTables
  private let synchronized: [ReplicaTable]
  private let capture: ChangeCapture
  private var logs: [TriggerEffectLog] = []

  /// - Returns: `nil` if no trigger of the application names a synchronized table.
  init?(_ tables: ReplicaTables) throws {
    self.tables = tables
    synchronized = try tables.schema().tables
    guard try tables.foreignTriggers().nameTables else { return nil }
    capture = ChangeCapture(tables.connection)
    capture.setInterests(synchronized.map(\.interest), seesTruncation: false)
  }

  func drop() throws {
    capture.setInterests([])
    try forgetUndoneLogs()
    for log in logs { try log.drop(tables.connection) }
    logs = []
  }

  /// Runs `body`, which writes the row of a record, and undoes what its triggers change in other rows.
  ///
  /// - Parameter body: It may run a second time, after the first one was undone.
  /// - Throws: The errors of `body`. If a row cannot become what it was, because the new row has its
  ///   unique value, nothing is changed.
  func undoing(
    besides table: ReplicaTable, _ key: [FieldValue], _ body: () throws -> Void
  ) throws {
    try forgetUndoneLogs()
    if logs.isEmpty {
      do {
        return try tables.connection.savepoint {
          _ = capture.take()
          try body()
          guard touches(nothingBut: key, of: table) else { throw OtherRows() }
        }
      } catch is OtherRows {}
      for table in synchronized {
        let log = TriggerEffectLog(table, number: logs.count)
        try log.create(tables.connection)
        logs.append(log)
      }
    }
    try undoingLogged(besides: table, key, body)
  }

  private struct OtherRows: Error {}

  /// Forgets the logs if a savepoint in which they were created was undone.
  private func forgetUndoneLogs() throws {
    guard let log = logs.first else { return }
    if try tables.connection.integer(log.existence) != 1 { logs = [] }
  }

  /// True if no other row of a synchronized table was written since the last call.
  private func touches(nothingBut key: [FieldValue], of table: ReplicaTable) -> Bool {
    capture.take().allSatisfy { interest, touched in
      interest == table.interest && touched.keys.map { $0 == [RecordKey(key)] } ?? false
    }
  }

  private func undoingLogged(
    besides table: ReplicaTable, _ key: [FieldValue], _ body: () throws -> Void
  ) throws {
    for log in logs { try tables.run(log.clear, []) }
    try tables.connection.savepoint {
      try body()
      for log in logs {
        if log.table === table { try tables.run(log.forget, key) }
        let keys = try tables.readableRows(log.keys, []).rows
        guard !keys.isEmpty else { continue }
        let statements = log.table.statements
        try tables.quietly {
          for key in keys {
            try tables.run(statements.delete, key)
          }
          try tables.run(log.restore, [])
        }
        for key in keys {
          let row = try tables.row(log.table, key)
          if row.isTouched, !row.isUnreadable, row.local.hasSameStorage(as: row.base) {
            try tables.setShadow(nil, log.table, key)
          }
        }
      }
    }
  }
}

extension ReplicaTable {
  /// All changes of its rows.
  fileprivate var interest: TableInterest {
    TableInterest(table: shadow.table, key: shadow.changedKey)
  }
}

extension Optional where Wrapped == TriggerEffects {
  /// Runs `body`, and undoes what its triggers change, if they may change anything.
  func undoing(
    besides table: ReplicaTable, _ key: [FieldValue], _ body: () throws -> Void
  ) throws {
    guard let self else { return try body() }
    try self.undoing(besides: table, key, body)
  }
}

/// The triggers of the application, as far as they concern synchronized tables.
struct ForeignTriggers {
  /// True if a synchronized table has one.
  let areOnTables: Bool
  /// True if the body of one names a synchronized table.
  let nameTables: Bool

  init(_ replica: ReplicaTables, _ tables: [ReplicaTable]) throws {
    let (triggers, unreadable) = try replica.readableRows(
      """
      SELECT tbl_name, substr(sql, instr(lower(sql), 'begin')) FROM (
        SELECT * FROM main.sqlite_schema UNION ALL SELECT * FROM temp.sqlite_schema)
      WHERE type = 'trigger' AND substr(name, 1, ?1) <> ?2
      """, [.integer(Int64(TableShadow.prefix.utf8.count)), .text(TableShadow.prefix)])
    areOnTables =
      !unreadable.isEmpty
      || triggers.contains { trigger in
        guard case .text(let name) = trigger[0] else { return false }
        return tables.contains { $0.name.isSameSQLName(as: name) }
      }
    nameTables =
      !unreadable.isEmpty
      || triggers.contains { trigger in
        guard case .text(let body) = trigger[1] else { return false }
        let lowered = body.lowercased()
        return tables.contains { lowered.namesTable($0.name.lowercased()) }
      }
  }
}

extension String {
  /// True if this SQL contains the name of a table. A longer name that begins with it, such as that of the
  /// table's full-text index, does not count.
  fileprivate func namesTable(_ name: String) -> Bool {
    // SQL writes a quotation mark inside a name twice; such a name is assumed to occur.
    if name.contains("\"") { return true }
    func isPart(_ character: Character) -> Bool {
      character.isLetter || character.isNumber || character == "_" || character == "$"
    }
    return ranges(of: name).contains { range in
      !(prefix(upTo: range.lowerBound).last.map(isPart) ?? false)
        && !(suffix(from: range.upperBound).first.map(isPart) ?? false)
    }
  }
}

/// The rows of one table as they were before triggers changed them.
private struct TriggerEffectLog {
  let table: ReplicaTable
  private let name: String
  /// All stored columns, and the rowid if it is not the key.
  private let columns: [String]

  init(_ table: ReplicaTable, number: Int) {
    self.table = table
    name = "tandem_effect_\(number)"
    columns =
      table.schema.columns.filter { !$0.isGenerated }.map(\.name)
      + (table.shadow.rowidName.map { [$0] } ?? [])
  }

  private var keyPlaces: [String] { table.keyNames.indices.map { "k\($0)" } }
  private var places: [String] { columns.indices.map { "c\($0)" } }
  private var main: String { "main.\(table.name.sqlQuoted)" }

  func create(_ connection: DatabaseConnection) throws {
    let keys = keyPlaces.joined(separator: ", ")
    try connection.execute(
      """
      CREATE TEMP TABLE \(name) (\(keys), existed, \(places.joined(separator: ", ")), PRIMARY KEY (\(keys)))
      """)
    func key(_ row: String) -> String {
      table.keyNames.map { "\(row).\($0.sqlQuoted)" }.joined(separator: ", ")
    }
    func isKnown(_ row: String) -> String {
      table.keyNames.map { "\(row).\($0.sqlQuoted) NOT NULL" }.joined(separator: " AND ")
    }
    let all = (keyPlaces + ["existed"] + places).joined(separator: ", ")
    let old = columns.map { "old.\($0.sqlQuoted)" }.joined(separator: ", ")
    let keepOld = """
      INSERT INTO \(name) (\(all)) SELECT \(key("old")), 1, \(old) WHERE \(isKnown("old"))
        ON CONFLICT DO NOTHING;
      """
    let sameKey = table.keyNames.map { column in
      let pair = "t.\(column.sqlQuoted) = new.\(column.sqlQuoted)"
      return "\(pair) AND \(pair) COLLATE BINARY"
    }.joined(separator: " AND ")
    let keepReplaced = """
      INSERT INTO \(name) (\(all))
        SELECT \(key("t")), 1, \(columns.map { "t.\($0.sqlQuoted)" }.joined(separator: ", "))
        FROM \(main) AS t WHERE \(sameKey) ON CONFLICT DO NOTHING;
      """
    let keepNew = """
      INSERT INTO \(name) (\(keys), existed) SELECT \(key("new")), 0 WHERE \(isKnown("new"))
        ON CONFLICT DO NOTHING;
      """
    let triggers = [
      ("BEFORE INSERT", keepReplaced + keepNew), ("AFTER INSERT", keepNew),
      ("BEFORE UPDATE", keepOld + keepReplaced + keepNew), ("BEFORE DELETE", keepOld),
    ]
    for (number, (event, body)) in triggers.enumerated() {
      try connection.execute(
        "CREATE TEMP TRIGGER \(name)_\(number) \(event) ON \(main) BEGIN \(body) END")
    }
  }

  func drop(_ connection: DatabaseConnection) throws {
    for number in 0..<4 { try connection.execute("DROP TRIGGER temp.\(name)_\(number)") }
    try connection.execute("DROP TABLE temp.\(name)")
  }

  var existence: String { "SELECT count(*) FROM temp.sqlite_schema WHERE name = '\(name)'" }
  var clear: String { "DELETE FROM temp.\(name)" }
  /// The parameters are those of a key.
  var forget: String {
    "DELETE FROM temp.\(name) WHERE \(keyPlaces.map { "\($0) = ?" }.joined(separator: " AND "))"
  }
  var keys: String { "SELECT \(keyPlaces.joined(separator: ", ")) FROM temp.\(name)" }

  /// Inserts the rows as they were.
  var restore: String {
    """
    INSERT OR ABORT INTO \(main) (\(columns.sqlList))
    SELECT \(places.joined(separator: ", ")) FROM temp.\(name) WHERE existed
    """
  }
}
