public import TandemDifferences

/// The merge of two versions of a list over their common base, by key, with the types of the list's
/// format.
///
/// A list of JSON merges by JSON's types: `1`, `1.0`, `true` and `"1"` are four values, `[1,2]` and
/// `"[1,2]"` are two, and a null is not an absent field. A list of CSV merges by the texts of its
/// cells. Its header merges too: a column that one side removed or renamed is removed or renamed, or
/// in conflict with the other side's change. ``RecordMerge`` merges records as a table would store
/// them.
public struct ListMerge: Sendable {
  /// The fields that identify a record.
  public var key: [String]
  /// The policy for records in conflict.
  public var policy: MergePolicy<ListRecord>
  /// The policy for columns of CSV in conflict; the value of a column is its name.
  public var columnPolicy: MergePolicy<String>

  /// Creates a merge by the given key fields.
  ///
  /// - Precondition: `key` names one or more fields, each once.
  public init(
    key: [String], policy: MergePolicy<ListRecord> = .unresolved,
    columnPolicy: MergePolicy<String> = .unresolved
  ) {
    precondition(!key.isEmpty && RecordLayout(key) != nil, "A key names fields, each once")
    self.key = key
    self.policy = policy
    self.columnPolicy = columnPolicy
  }

  /// Merges three versions, each in any order.
  ///
  /// - Parameters:
  ///   - base: The version that both sides started from; `nil` if it is unknown.
  ///   - local: One side's version, whose layout the result has.
  ///   - remote: The other side's version.
  /// - Throws: ``RecordMergeError`` if a version has a record without a key, or two records of one
  ///   key, if one version is CSV and another one JSON, or if CSV has no header; the base is checked
  ///   first, then local, then remote. `MergeError.changedIdentity` if the policy returns a record of another key.
  /// - Complexity: O(*n* log *n*) for *n* records on all sides; O(*n*) if they ascend by key.
  public func merge(base: ListText?, local: ListText, remote: ListText) throws -> MergedList {
    try check(base, local, remote)
    var (base, local, remote) = (base, local, remote)
    var columns: [ConflictReport<String, String>] = []
    if local.format.isCSV {
      // Without a base, or without a text of it, nothing is known about its columns.
      let known = base.flatMap { $0.columns.isEmpty ? nil : $0 }
      let merge = ColumnMerge(
        base: known ?? ListText(emptyOf: local.format), local: local, remote: remote, key: key,
        policy: columnPolicy)
      columns = merge.conflicts
      (base, local, remote) = (base == nil ? nil : merge.base, merge.local, merge.remote)
    }
    let plan = try MergePlan(
      base: base?.records ?? [], local: local.records, remote: remote.records,
      identifiedBy: { local.key(of: $0, key) })
    func merge(_ policy: MergePolicy<ListRecord>) throws -> ThreeWayMerge<ListRecord, RecordKey> {
      try plan.merge(
        plan.conflicts.map(policy.resolution), identifiedBy: { local.key(of: $0, key) })
    }
    let result = try merge(policy)
    // A merge that keeps a version of each record in conflict has the place of each.
    let kept = MergePolicy<ListRecord> { $0.remote == nil ? .local : .remote }
    let ordered = result.unresolved.isEmpty ? result : try merge(policy.then(kept))
    let (ours, theirs) = (TextSide(local, key: key), TextSide(remote, key: key))
    let former = local.csv.comment == nil ? nil : base.map { TextSide($0, key: key) }
    let comments = CommentMerge(base: former, local: ours, remote: theirs)
    return MergedList(
      merge: result, columnConflicts: columns, local: ours, remote: theirs, comments: comments,
      ordered: ordered.merged, hasDisputedOrder: plan.order == .remoteDisputed)
  }

  private func check(
    _ base: ListText?, _ local: ListText, _ remote: ListText
  ) throws(RecordMergeError) {
    let versions: [(MergeError.Side, ListText?)] = [
      (.base, base), (.local, local), (.remote, remote),
    ]
    for case (let side, let list?) in versions {
      do throws(RecordError) {
        guard list.format.isCSV == local.format.isCSV else {
          throw RecordError(
            .malformed,
            "it is \(list.format.rawValue), and the local version \(local.format.rawValue), whose "
              + "values have other types; convert one of them")
        }
        guard list.csv.hasHeader else {
          throw RecordError(.malformed, "it is CSV without a header, whose columns have no names")
        }
        _ = try KeyedListText(list, by: key)
      } catch {
        throw RecordMergeError(side: side, error: error)
      }
    }
  }
}
