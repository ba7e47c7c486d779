/// Why a ``SetDiffer`` refuses a snapshot. It is then as it was before.
public enum SetDifferError: Error, Hashable, Sendable {
  /// The snapshot, which is the new version, breaks the rule that identities are unique and, for the
  /// sorted form, strictly ascending; or the last snapshot, which is the old version, does not ascend.
  case identity(IdentityViolation)

  /// `onInsert` or `onUpdate` returned something of another identity for the source at `offset` of
  /// the snapshot, counted from 0.
  case changedIdentity(offset: Int)
}

extension SetDifferError: CustomStringConvertible {
  /// A sentence such as "element 3 of the snapshot is presented under another identity".
  public var description: String {
    switch self {
    case .identity(let violation): violation.description
    case .changedIdentity(let offset):
      "element \(offset) of the snapshot is presented under another identity"
    }
  }
}
