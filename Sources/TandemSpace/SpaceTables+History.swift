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
  /// The name of the replica; `nil` if it has none.
  package let name: String?
  /// The account of the replica; `nil` if it has none.
  package let account: String?
  /// The number of records that it changed, by table; empty if nobody counted them.
  package let counts: [String: Int]
  /// The versions of records that merges of the replica overruled; empty if they were not asked for.
  package let overruled: [SyncRecordState]
}

extension SpaceTables {
  /// The last commits above the horizon, the newest first.
  ///
  /// - Parameter includesOverruled: False to leave out the versions that merges overruled.
  package func history(
    maxCount: Int, includesOverruled: Bool = true
  ) throws -> [SpaceCommit] {
    let hasCounts = try connection.has(.changeCounts)
    return try connection.rows(
      try connection.has(.replicaNames) ? .lastCommits : .lastCommitsWithoutNames,
      [.integer(Int64(maxCount))]
    ).map { row in
      guard let version = row[0].integerValue, let time = row[1].integerValue,
        let id = row[2].textValue.flatMap({ SyncToken($0) }),
        let replica = row[3].textValue.flatMap({ SyncToken($0) })
      else { throw damaged("the history") }
      return SpaceCommit(
        version: version, time: time, id: id, replica: replica, name: row[5].textValue,
        account: row[4].textValue, counts: hasCounts ? try counts(in: version) : [:],
        overruled: includesOverruled ? try overruled(in: version) : [])
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
      try connection.row(.firstVersionSince, [.integer(Int64(time))])?.first
    }
    var horizon = max(0, head - count)
    if case .integer(let version)? = firstRecent { horizon = min(horizon, Int(version) - 1) }
    return max(0, horizon)
  }

  /// Forgets the commits of more than an age, except for the last ones.
  ///
  /// - Returns: The number of commits that were forgotten.
  package func forget(olderThan age: Duration?, keeping count: Int) throws -> Int {
    let now = millisecondsSince1970()
    // Within thirty thousand years, so that milliseconds cannot overflow.
    let time = age.map { now - Int(max(0, min($0.components.seconds, 1 << 40))) * 1_000 }
    let before = try state().horizon
    try forget(before: try horizon(keepingSince: time, count: count))
    return try state().horizon - before
  }

  private func overruled(in version: Int) throws -> [SyncRecordState] {
    try connection.rows(.overruledByCommit, [.integer(Int64(version))]).map { row in
      guard let table = row[0].textValue, let idText = row[1].textValue,
        let recordVersion = row[2].integerValue
      else { throw damaged("the overruled versions") }
      let key = try storedKey(table, idText)
      return SyncRecordState(key: key, version: recordVersion, fields: try fields(row[3], of: key))
    }
  }
}

extension SyncSpace {
  /// Forgets the history of a space in a file: its oldest commits, the deletions that they made, and
  /// the versions that they overruled. Records stay, and so do the identities of all commits and the marks of their
  /// versions.
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
    try await SQLiteSpaceStore.write(path: path) {
      try $0.forget(olderThan: age, keeping: count)
    }
  }
}
