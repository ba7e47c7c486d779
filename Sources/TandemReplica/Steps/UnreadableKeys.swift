internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

// Keys with a text that is not UTF-8, which no message can name.
extension ReplicaTables {
  /// Notes the changed rows with such a key. If there is no such row any more, forgets that it has changed: the space
  /// never had it.
  func noteUnreadableKeys(of table: ReplicaTable, _ presence: RowPresence) throws {
    let names = table.keyNames.map { "s.\($0.sqlQuoted)" }
    let bytes = names.map {
      "CASE typeof(\($0)) WHEN 'text' THEN CAST(\($0) AS BLOB) ELSE \($0) END"
    }
    let areTexts = names.map { "typeof(\($0)) = 'text'" }
    let shadow = table.shadow.name.sqlQuoted
    let count = names.count
    var found: [[FieldValue]] = []
    try connection.forEachRow(
      """
      SELECT \((names + bytes + areTexts).joined(separator: ", ")) FROM \(shadow) AS s
      WHERE \(presence == .present ? "" : "NOT ")EXISTS (
        SELECT 1 FROM \(table.name.sqlQuoted) AS t WHERE \(table.shadow.sameKey("t", "s")))
      """
    ) { statement in
      if (try? statement.values(in: 0..<count)) == nil {
        found.append(try statement.values(in: count..<(3 * count)))
      }
      return true
    }
    for row in found {
      let key = Array(row.prefix(count))
      if presence == .present {
        try noteRow(
          table.syncKey(key),
          "the key has a text that is not UTF-8 (its bytes are shown as a blob); repair it")
      } else {
        // A cast has an affinity, which could change the comparison. The sign removes it.
        let condition = zip(names, row.dropFirst(count)).map { name, isText in
          "\(name) = \(isText == 1 ? "+CAST(? AS TEXT)" : "?")"
        }
        try run("DELETE FROM \(shadow) AS s WHERE \(condition.joined(separator: " AND "))", key)
      }
    }
  }

  /// The rows of a query, without those that have a text which is not UTF-8.
  func readableRows(_ sql: String, _ values: [FieldValue] = []) throws -> [[FieldValue]] {
    var rows: [[FieldValue]] = []
    try connection.forEachRow(sql, values) { statement in
      do throws(DatabaseError) {
        rows.append(try statement.values())
      } catch {
        guard error.code == .mismatch else { throw error }
      }
      return true
    }
    return rows
  }
}
