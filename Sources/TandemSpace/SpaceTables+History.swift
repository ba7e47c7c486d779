internal import TandemRecords
internal import TandemSQLite
public import TandemSync

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
        WHERE history.commit_id IS NOT NULL AND version > (SELECT horizon FROM space)
        ORDER BY version DESC LIMIT ?
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

  /// The version before the first commit that is to be kept.
  ///
  /// - Parameters:
  ///   - time: Commits from this time on are kept, in milliseconds since 1970; `nil` to keep none
  ///     for its age.
  ///   - count: The number of the last commits that are kept.
  package func horizon(keepingSince time: Int?, count: Int) throws -> Int {
    let head = try state().head.version
    let firstRecent = try time.flatMap { time in
      try row("SELECT min(version) FROM history WHERE time >= ?", [.integer(Int64(time))])?.first
    }
    var horizon = max(0, head - count)
    if case .integer(let version)? = firstRecent { horizon = min(horizon, Int(version) - 1) }
    return max(0, horizon)
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

  func allRows(of statement: borrowing Statement) throws(DatabaseError) -> [[FieldValue]] {
    var rows: [[FieldValue]] = []
    while try statement.step() { rows.append(try statement.values()) }
    return rows
  }
}

extension SyncSpace {
  /// Forgets the history of a space in a file: its oldest commits, the deletions that they made, and
  /// the versions that they overruled. Records stay.
  ///
  /// Without it, a space keeps everything. A replica that has not synchronized since then fetches
  /// all records the next time. It loses no edit, but finds some conflicts that the history would
  /// have resolved.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - age: Commits of at most this age are kept; `nil` to keep none for its age.
  ///   - count: The number of the last commits that are kept, whatever their age.
  /// - Returns: The number of commits that were forgotten.
  /// - Throws: ``SpaceError`` if the file is no space; `DatabaseError`.
  @discardableResult
  public static func forgetHistory(
    ofFileAt path: String, olderThan age: Duration?, keeping count: Int = 0
  ) async throws -> Int {
    let store = try await SQLiteSpaceStore.open(path: path, creates: false)
    let now = millisecondsSince1970()
    // Within thirty thousand years, so that milliseconds cannot overflow.
    let time = age.map { now - Int(max(0, min($0.components.seconds, 1 << 40))) * 1_000 }
    let result: Result<Int, any Error>
    do {
      result = .success(try await store.forget(keepingSince: time, count: count))
    } catch {
      result = .failure(error)
    }
    await store.close()
    return try result.get()
  }
}

extension SQLiteSpaceStore {
  /// Forgets the history before a time, except for the last commits; returns the number of commits
  /// that were forgotten.
  package func forget(keepingSince time: Int?, count: Int) async throws -> Int {
    try await write { space in
      let before = try space.state().horizon
      try space.forget(before: try space.horizon(keepingSince: time, count: count))
      return try space.state().horizon - before
    }
  }
}
