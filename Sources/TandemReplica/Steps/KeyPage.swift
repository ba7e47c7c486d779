internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// Some keys of a table, in ascending order.
struct KeyPage {
  /// A key, with texts that are not UTF-8.
  struct Position {
    /// The values; texts are blobs of their bytes if one of them is not UTF-8.
    let values: [FieldValue]
    /// The expressions of the values, each with a parameter. A cast has an affinity, which could
    /// change the comparison; the sign removes it.
    let marks: [String]

    /// True if it has bytes of texts.
    var isRaw: Bool { marks.contains { $0 != "?" } }

    /// A key that can be read.
    init(key: [FieldValue]) {
      values = key
      marks = key.map { _ in "?" }
    }

    /// A key as a query returns it: for each column its value, and whether it is a text.
    init(columns: [FieldValue]) {
      values = columns.indices.filter { $0 % 2 == 0 }.map { columns[$0] }
      marks = columns.indices.filter { $0 % 2 == 1 }.map { offset in
        columns[offset] == 1 ? "+CAST(? AS TEXT)" : "?"
      }
    }
  }

  /// The keys that can be read.
  var keys: [[FieldValue]]
  /// The other keys.
  var unreadable: [Position] = []
  /// The last key, if there may be more.
  var next: Position?
}

extension ReplicaTables {
  /// The number of keys that are read at a time.
  private static var keyStepCount: Int { 500 }

  /// Some keys of a table with the key columns of another one, ascending, after a given one. Keys
  /// with a null are left out.
  ///
  /// - Parameter presence: Only those with a row, or without.
  func keys(
    of table: ReplicaTable, in list: String, _ presence: RowPresence? = nil,
    after last: KeyPage.Position?
  ) throws -> KeyPage {
    let names = table.keyNames.sqlList
    var conditions = table.keyNames.map { "\($0.sqlQuoted) NOT NULL" }
    if let last { conditions.append("(\(names)) > (\(last.marks.joined(separator: ", ")))") }
    if let presence {
      let isSame = table.declaration.sameKey("t", "s")
      let row = "SELECT 1 FROM \(table.name.sqlQuoted) AS t WHERE \(isSame)"
      conditions.append("\(presence == .present ? "" : "NOT ")EXISTS (\(row))")
    }
    let rest = """
      FROM \(list.sqlQuoted) AS s WHERE \(conditions.joined(separator: " AND "))
      ORDER BY \(names) LIMIT \(ReplicaTables.keyStepCount)
      """
    let (keys, unreadable) = try readableRows("SELECT \(names) \(rest)", last?.values ?? [])
    var page = KeyPage(keys: keys)
    if !unreadable.isEmpty {
      // Again, with the bytes of texts.
      let columns = table.keyNames.map { name in
        let name = name.sqlQuoted
        return "CASE typeof(\(name)) WHEN 'text' THEN CAST(\(name) AS BLOB) ELSE \(name) END, "
          + "typeof(\(name)) = 'text'"
      }
      let raw = try rows(
        "SELECT \(columns.joined(separator: ", ")) \(rest)", last?.values ?? []
      ).map(KeyPage.Position.init(columns:))
      page.unreadable = unreadable.map { raw[$0] }
      page.next = raw.last
    } else {
      page.next = keys.last.map(KeyPage.Position.init(key:))
    }
    // In a UTF-16 database, SQLite may alter the bytes of such a text, so that nothing comes after it.
    let isLast = keys.count + unreadable.count < ReplicaTables.keyStepCount
    if isLast || page.next?.values == last?.values { page.next = nil }
    return page
  }

  /// Notes a row whose key is a text that is not UTF-8. If there is no such row any more, forgets
  /// that it has changed: the space never had it.
  func noteUnreadable(_ key: KeyPage.Position, _ table: ReplicaTable) throws {
    let condition = zip(table.keyNames, key.marks).map { "\($0.sqlQuoted) = \($1)" }
      .joined(separator: " AND ")
    let name = table.name.sqlQuoted
    if try rows("SELECT 1 FROM \(name) WHERE \(condition)", key.values).isEmpty {
      try run("DELETE FROM \(table.shadow.name.sqlQuoted) WHERE \(condition)", key.values)
    } else {
      try noteRow(
        table.syncKey(key.values),
        "the key has a text that is not UTF-8 (its bytes are shown as a blob); repair it")
    }
  }

  /// The rows of a query, and the offsets of those that are left out because they have a text that
  /// is not UTF-8: no message can name such a key.
  func readableRows(
    _ sql: String, _ values: [FieldValue]
  ) throws -> (rows: [[FieldValue]], unreadable: [Int]) {
    try connection.withStatement(sql) { statement throws(DatabaseError) in
      try statement.bind(values)
      var rows: [[FieldValue]] = []
      var unreadable: [Int] = []
      while try statement.step() {
        do throws(DatabaseError) {
          rows.append(try statement.values())
        } catch {
          guard error.code == .mismatch else { throw error }
          unreadable.append(rows.count + unreadable.count)
        }
      }
      return (rows, unreadable)
    }
  }
}
