internal import TandemRecords
package import TandemSync

/// A space as its operators see it: who changed it when, and the keys of records in conflict. It has
/// no fields of records.
package struct SpaceInspection: Hashable, Sendable {
  /// A replica that has sent commits.
  package struct Replica: Hashable, Sendable {
    package let id: SyncToken
    /// The account that it belongs to; `nil` if it has none.
    package let account: String?
    /// The number of its last commit, and the outcome.
    package let sequence: Int
    package let outcome: SyncOutcome
    /// The time of that commit, in milliseconds since 1970; `nil` if it was not accepted, or the
    /// space has forgotten it.
    package let time: Int?
  }

  /// A version of a record that lost a merge on a replica, or waits for a decision there.
  package struct Overruled: Hashable, Sendable {
    package let key: SyncKey
    /// The commit that reported it.
    package let version: Int
    /// The commit that made the version.
    package let recordVersion: Int
  }

  package let state: SpaceState
  /// The size of the file in bytes, without the newest commits in its log; `nil` for a space without a file.
  package let byteCount: Int?
  /// The number of all replicas that have sent commits.
  package let replicaCount: Int
  /// Those whose last commit was not accepted, then the others, the last active first.
  package let replicas: [Replica]
  /// The last commits, the newest first, without the versions that they overruled.
  package let commits: [SpaceCommit]
  /// The number of all versions that are kept.
  package let overruledCount: Int
  /// The last ones, the newest first.
  package let overruled: [Overruled]
}

extension SpaceTables {
  /// What operators see. It reads all replicas and the rows that it returns, no records.
  ///
  /// - Parameter maxCount: The maximum number of replicas, of commits, and of overruled versions.
  package func inspection(maxCount: Int) throws -> SpaceInspection {
    SpaceInspection(
      state: try state(), byteCount: try connection.byteCount().map { Int($0) },
      replicaCount: Int(try connection.integer(.replicaCount)),
      replicas: try replicas(maxCount),
      commits: try history(maxCount: maxCount, includesOverruled: false),
      overruledCount: Int(try connection.integer(.overruledCount)),
      overruled: try overruled(maxCount))
  }

  private func replicas(_ maxCount: Int) throws -> [SpaceInspection.Replica] {
    try connection.rows(.lastReplicas, [.integer(Int64(maxCount))]).map { row in
      guard let id = row[0].textValue.flatMap({ SyncToken($0) }),
        let standing = try standing(of: id)
      else { throw damaged("the replicas") }
      return SpaceInspection.Replica(
        id: id, account: row[1].textValue, sequence: standing.sequence, outcome: standing.outcome,
        time: row[2].integerValue)
    }
  }

  private func overruled(_ maxCount: Int) throws -> [SpaceInspection.Overruled] {
    try connection.rows(.lastOverruled, [.integer(Int64(maxCount))]).map { row in
      guard let table = row[0].textValue, let idText = row[1].textValue,
        let version = row[2].integerValue, let recordVersion = row[3].integerValue
      else { throw damaged("the overruled versions") }
      return SpaceInspection.Overruled(
        key: try storedKey(table, idText), version: version, recordVersion: recordVersion)
    }
  }
}
