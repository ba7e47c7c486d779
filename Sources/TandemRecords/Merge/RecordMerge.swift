public import TandemDifferences

/// The merge of two versions of a list of records over their common base, by key.
///
/// This is `ThreeWayMerge` with the identity and equality of tables: keys and values compare as in
/// SQLite, and an absent field counts as null.
public struct RecordMerge: Sendable {
  /// The fields that identify a record.
  public var key: [String]
  /// The policy for conflicts.
  public var policy: MergePolicy<Record>

  /// Creates a merge by the given key fields.
  ///
  /// - Precondition: `key` names one or more fields, each once.
  public init(key: [String], policy: MergePolicy<Record> = .unresolved) {
    precondition(!key.isEmpty && RecordLayout(key) != nil, "A key names fields, each once")
    self.key = key
    self.policy = policy
  }

  /// Merges three versions, each in any order.
  ///
  /// - Throws: ``RecordMergeError`` if a version has a record without a key, or two records of one
  ///   key; the base is checked first, then local, then remote. `MergeError.changedIdentity` if the
  ///   policy returns a record of another key.
  /// - Complexity: O(*n* log *n*) for *n* records on all sides; O(*n*) if they ascend by key.
  public func merge(
    base: MergeBase<Record>, local: [Record], remote: [Record]
  ) throws -> ThreeWayMerge<Record, RecordKey> {
    if case .known(let records) = base { try check(records, .base) }
    try check(local, .local)
    try check(remote, .remote)
    return try ThreeWayMerge(
      base: base, local: local, remote: remote,
      identifiedBy: { record in RecordKey(key.map { record[$0] }) }, policy: policy)
  }

  private func check(_ records: [Record], _ side: MergeError.Side) throws(RecordMergeError) {
    do throws(RecordError) {
      _ = try KeyedRecords(records, key: key)
    } catch {
      throw RecordMergeError(side: side, error: error)
    }
  }
}

/// The error of one version of a list.
public struct RecordMergeError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The version.
  public var side: MergeError.Side
  /// The error in that version.
  public var error: RecordError

  /// Creates an error of one version.
  package init(side: MergeError.Side, error: RecordError) {
    self.side = side
    self.error = error
  }

  /// A sentence such as "the local version: record 3: …".
  public var description: String { "the \(side.rawValue) version: \(error)" }
}
