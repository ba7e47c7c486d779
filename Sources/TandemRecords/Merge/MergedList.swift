public import TandemDifferences

/// The result of a ``ListMerge``.
public struct MergedList: Sendable {
  /// The merge of the records. If a column is in conflict, it is that of the records as they are.
  public let merge: ThreeWayMerge<ListRecord, RecordKey>
  /// The columns of CSV that both sides changed in different ways. Each is identified by its name in
  /// the base.
  public let columnConflicts: [ConflictReport<String, String>]
  let local: TextSide
  let remote: TextSide
  let comments: CommentMerge
  /// The merged records and one version of each record in conflict, in the merged order.
  let ordered: [ListRecord]
  /// True if both versions changed the order of the base's records, in different ways. The merged list
  /// has that of remote.
  package let hasDisputedOrder: Bool

  /// True if a column is in conflict and no policy resolved it. The lists cannot be merged by records
  /// then.
  public var hasOpenColumns: Bool {
    columnConflicts.contains { $0.resolution.isUnresolved }
  }

  /// True if nothing is in conflict, or the policies resolved all conflicts.
  public var isResolved: Bool { merge.unresolved.isEmpty && !hasOpenColumns }

  /// True if both versions changed the comment lines of CSV at one place, in different ways. The merged
  /// list has those of local, except between conflict markers.
  package var hasDisputedComments: Bool { comments.decisions(for: parts).contains(.disputed) }

  /// True if one version changed comment lines of CSV above a row that the other one deleted. The merged
  /// list lacks them.
  package var hasLostComments: Bool { comments.decisions(for: parts).contains(.lost) }

  /// Writes the merged list in the format and layout of the local version, in UTF-8.
  ///
  /// - Parameters:
  ///   - marksConflicts: True to write records in conflict in both versions, between lines with
  ///     `<<<<<<< local`, `=======` and `>>>>>>> remote`; false to write the local version only.
  ///   - showsBase: True to write the base of each conflict too, below a line `||||||| base`.
  /// - Precondition: No column is in conflict.
  /// - Complexity: O(*n*) in the bytes of the texts.
  public func text(marksConflicts: Bool, showsBase: Bool = false) -> [UInt8] {
    precondition(!hasOpenColumns, "A list with columns in conflict has no text")
    let parts = marksConflicts ? parts : merge.merged.map { .record($0) }
    let writer = MergedTextWriter(
      local: local, remote: remote, comments: comments, showsBase: showsBase)
    return local.list.text(of: parts, by: writer)
  }

  /// The records of the result, and those in conflict, in the merged order.
  private var parts: [MergedPart] {
    var open: [RecordKey: MergeConflict<ListRecord>] = [:]
    for report in merge.unresolved { open[report.id] = report.conflict }
    return ordered.map { record in
      guard let conflict = open.isEmpty ? nil : open[local.list.key(of: record, local.key)] else {
        return .record(record)
      }
      let base = conflict.base.flatMap { $0.isUnresolved ? nil : $0 }
      return .conflict(base: base, local: conflict.local, remote: conflict.remote)
    }
  }
}
