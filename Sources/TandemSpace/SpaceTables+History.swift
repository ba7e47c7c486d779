internal import TandemRecords
internal import TandemSQLite
package import TandemSync

/// A commit in the history of a space.
package struct SpaceCommit: Hashable, Sendable {
  /// The version that it made.
  package let version: Int
  /// The time when the space accepted it, in milliseconds since 1970.
  package let time: Int
  /// The identity of the commit.
  package let id: SyncToken
  /// The replica that made it.
  package let replica: SyncToken
  /// The account of the replica; `nil` if it has none.
  package let account: String?
  /// The versions of records that merges of the replica overruled.
  package let overruled: [SyncRecordState]
}

extension SpaceTables {
  /// The last commits above the horizon, the newest first.
  package func history(maxCount: Int) throws -> [SpaceCommit] {
    let rows = try connection.withStatement(
      """
      SELECT version, time, history.commit_id, replica, account FROM history
        LEFT JOIN replica ON replica.id = history.replica
        WHERE history.commit_id IS NOT NULL ORDER BY version DESC LIMIT ?
      """
    ) { (statement) throws(DatabaseError) in
      try statement.bind([.integer(Int64(maxCount))])
      return try allRows(of: statement)
    }
    return try rows.map { row in
      guard case .integer(let version) = row[0], case .integer(let time) = row[1],
        case .text(let idText) = row[2], let id = SyncToken(idText),
        case .text(let replicaText) = row[3], let replica = SyncToken(replicaText)
      else { throw damaged("the history") }
      var account: String?
      if case .text(let text) = row[4] { account = text }
      return SpaceCommit(
        version: Int(version), time: Int(time), id: id, replica: replica, account: account,
        overruled: try overruled(in: version))
    }
  }

  private func overruled(in version: Int64) throws -> [SyncRecordState] {
    let rows = try connection.withStatement(
      "SELECT tab, id, record_version, fields FROM overruled WHERE version = ? ORDER BY rowid"
    ) { (statement) throws(DatabaseError) in
      try statement.bind([.integer(version)])
      return try allRows(of: statement)
    }
    return try rows.map { row in
      guard case .text(let table) = row[0], case .text(let idText) = row[1],
        case .integer(let recordVersion) = row[2]
      else { throw damaged("the overruled versions") }
      let id = try decoded("a key of the table \(table)") { () throws(TextFault) in
        try reader.id(Array(idText.utf8))
      }
      let key = SyncKey(table: table, id: id)
      return SyncRecordState(
        key: key, version: Int(recordVersion), fields: try fields(row[3], of: key))
    }
  }

  private func allRows(of statement: borrowing Statement) throws(DatabaseError) -> [[FieldValue]] {
    var rows: [[FieldValue]] = []
    while try statement.step() { rows.append(try statement.values()) }
    return rows
  }
}
