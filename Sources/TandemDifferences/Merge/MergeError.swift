/// Why three versions cannot be merged.
public enum MergeError: Error, Hashable, Sendable {
  /// One of the three versions.
  public enum Side: String, Hashable, Sendable, Codable {
    /// The ancestor.
    case base
    /// The local version.
    case local
    /// The remote version.
    case remote
  }

  /// An element breaks the rule that identities are unique and, for the sorted form, strictly
  /// ascending. `offset` is its position on that side, counted from 0.
  case identity(side: Side, offset: Int, kind: IdentityViolation.Kind)

  /// A policy or resolver answered conflict number `conflict`, counted from 0 in the order of
  /// ``ThreeWayMerge/conflicts``, with a record of another identity.
  case changedIdentity(conflict: Int)
}

extension MergeError: CustomStringConvertible {
  /// A sentence such as "element 3 of the local version has the identity of an earlier one".
  public var description: String {
    switch self {
    case .changedIdentity(let conflict):
      return "conflict \(conflict) was resolved to a record of another identity"
    case .identity(let side, let offset, let kind):
      let subject = "element \(offset) of the \(side.rawValue) version"
      switch kind {
      case .duplicate: return "\(subject) has the identity of an earlier one"
      case .descending:
        return "\(subject) is out of order: its identity is less than the one before"
      case .incomparable: return "\(subject) has an identity that cannot be ordered, such as NaN"
      }
    }
  }
}
