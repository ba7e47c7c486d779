internal import TandemRecords
internal import TandemSync

/// What the live records of a space take.
package struct SpaceUsage: Hashable, Sendable {
  package var recordCount = 0
  /// The bytes of their keys and fields: of texts and BLOBs the length, of other values 8. History, names and indexes
  /// are not counted.
  package var byteCount = 0

  mutating func add(_ key: SyncKey, _ fields: Record, times count: Int = 1) {
    recordCount += count
    byteCount += count * (key.id + fields.values).reduce(0) { $0 + $1.byteCount }
  }
}

/// A space with a quota counts with each commit what its records take. The count belongs to a version: after commits
/// without it, as through a server without quotas, the records are counted anew.
extension SpaceTables {
  /// What the records take now.
  package func usage() throws -> SpaceUsage { try usage(of: state()) }

  private func usage(of state: SpaceState) throws -> SpaceUsage {
    if try connection.has(.usage), let row = try connection.row(.usage, []),
      row[0].integerValue == state.head.version, let records = row[1].integerValue,
      let bytes = row[2].integerValue
    {
      return SpaceUsage(recordCount: records, byteCount: bytes)
    }
    var usage = SpaceUsage()
    for table in state.tables {
      try forEachRecord(of: FieldName(table.name)) { usage.add($0, $1) }
    }
    return usage
  }

  /// Counts what the records take after a commit.
  ///
  /// - Throws: ``TandemSync/SyncRequestError`` with code `overQuota` if the commit takes more than there was, and than the
  ///   quota. The commit must then be undone.
  func noteUsage(
    after edits: [SpaceLedger.Edit], of state: SpaceState, in version: Int
  ) throws {
    guard limits.hasQuota else { return }
    let former = try usage(of: state)
    var usage = former
    for edit in edits {
      if let fields = edit.old?.fields { usage.add(edit.key, fields, times: -1) }
      if let fields = edit.new.fields { usage.add(edit.key, fields) }
    }
    try check(usage.recordCount, after: former.recordCount, limits.maxSpaceRecordCount, "records")
    try check(usage.byteCount, after: former.byteCount, limits.maxSpaceByteCount, "bytes")
    try connection.make(.usage)
    try connection.run(
      .setUsage, [version, usage.recordCount, usage.byteCount].map { .integer(Int64($0)) })
  }

  private func check(
    _ count: Int, after former: Int, _ quota: Int?, _ unit: String
  ) throws(SyncRequestError) {
    guard let quota, count > quota, count > former else { return }
    throw SyncRequestError(
      .overQuota,
      "the space may have \(quota) \(unit): it has \(former), and would have \(count). Delete records, or ask the "
        + "operator for more; until then the changes stay in this file"
    )
  }
}

extension SyncLimits {
  var hasQuota: Bool { maxSpaceRecordCount != nil || maxSpaceByteCount != nil }
}
