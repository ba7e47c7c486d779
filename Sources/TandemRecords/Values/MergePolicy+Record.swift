public import TandemDifferences

extension MergePolicy<Record> {
  /// Merges the given fields by their own policy, and then takes the record of the side that alone
  /// changed anything else; unresolved if both did, if a field stays in conflict, or if one side
  /// deleted the record.
  ///
  /// So a note whose text both sides edited is merged, without mixing their other fields.
  ///
  /// - Complexity: O(*f*) for *f* fields, per conflict.
  public static func merging(
    fields: [FieldName], _ policy: MergePolicy<FieldValue>
  ) -> MergePolicy {
    MergePolicy { conflict in
      guard var local = conflict.local, var remote = conflict.remote else { return .unresolved }
      var base = conflict.base
      for name in fields {
        let (ours, theirs) = (local[field: name], remote[field: name])
        let value: FieldValue?
        switch policy.resolution(base: base?[field: name], local: ours, remote: theirs) {
        case .local: value = ours
        case .remote: value = theirs
        case .merged(let merged): value = merged
        case .deleted: value = nil
        case .unresolved: return .unresolved
        }
        base?[field: name] = value
        local[field: name] = value
        remote[field: name] = value
      }
      if local == remote || local == base { return .merged(remote) }
      return remote == base ? .merged(local) : .unresolved
    }
  }
}
