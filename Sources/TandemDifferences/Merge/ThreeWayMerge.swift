/// The merge of two versions of the same records over their common base.
///
/// If only one side changed, added or deleted a record, the merge takes that side's state. If both
/// sides made the same change, it takes that. Everything else is a conflict. The policy resolves it
/// or leaves it open; in both cases it is in ``conflicts`` with all its versions.
///
/// **Order.** An order that only one side changed wins: if only local changed the order of the records
/// that all three versions have, the merge has local order, otherwise remote order. If both sides
/// changed it, in different ways, the merge has that of remote. A record that only the other
/// side has comes after the nearest record before it there that both sides have; behind other such
/// records, and first if there is none. The resolution of conflicts does not change the order. Records
/// merged from sorted sides are sorted.
///
/// **Open conflicts.** If a conflict is unresolved, ``merged`` has the local version, or no version
/// if the local side deleted the record. Neither difference changes the record.
///
/// **Laws.** `toLocal` applied to the local version gives `merged`. `toRemote` applied to the
/// remote version gives the same records, except open conflicts, which keep the remote version.
///
/// With an unknown base, every record that only one side has is kept. Two unequal versions of a
/// record are a conflict, ``MergeConflict/addAdd(local:remote:)``.
public struct ThreeWayMerge<Element, ID: Equatable> {
  /// The merged records.
  public var merged: [Element]
  /// The difference from the local version to ``merged``. Insertions and updates are in merged
  /// order, deletions in local order.
  public var toLocal: SetDifference<Element>
  /// The difference from the remote version to ``merged``. Insertions and updates are in merged
  /// order, deletions in remote order.
  public var toRemote: SetDifference<Element>
  /// Every conflict and its resolution, in merged order, including records that the merge removes.
  public var conflicts: [ConflictReport<Element, ID>]

  /// Creates a result from its parts.
  @inlinable
  public init(
    merged: [Element], toLocal: SetDifference<Element>, toRemote: SetDifference<Element>,
    conflicts: [ConflictReport<Element, ID>]
  ) {
    self.merged = merged
    self.toLocal = toLocal
    self.toRemote = toRemote
    self.conflicts = conflicts
  }

  /// The conflicts that are still open.
  @inlinable
  public var unresolved: [ConflictReport<Element, ID>] {
    conflicts.filter(\.resolution.isUnresolved)
  }
}

extension ThreeWayMerge where Element: Equatable {
  /// Merges records in any order, identified by `id`.
  ///
  /// - Complexity: O(*n*) for *n* records on all sides, plus O(*d* log *d*) for *d* records that
  ///   differ. About one hash per local record, and one or two more for each record that is not in
  ///   step with it. The order of local costs a second search.
  /// - Throws: ``MergeError`` if an identity occurs twice on a side or does not equal itself, as
  ///   NaN, or if the policy returns a record of another identity. The base is checked first, then
  ///   local, then remote.
  @inlinable
  public init(
    base: MergeBase<Element>, local: [Element], remote: [Element],
    identifiedBy id: (Element) -> ID, policy: MergePolicy<Element> = .unresolved
  ) throws(MergeError) where ID: Hashable {
    let plan = try MergePlan(
      base: base.elements, local: local, remote: remote, identifiedBy: id)
    self = try plan.merge(plan.conflicts.map(policy.resolve), identifiedBy: id)
  }

  /// Merges records that ascend strictly by `id` on every side, without hashing any.
  ///
  /// - Complexity: O(*n*) for *n* records on all sides.
  /// - Throws: ``MergeError`` if a side does not ascend, which is checked in every build, or if the
  ///   policy returns a record of another identity. The base is checked first, then local, then
  ///   remote.
  @inlinable
  public init(
    base: MergeBase<Element>, local: [Element], remote: [Element],
    sortedBy id: (Element) -> ID, policy: MergePolicy<Element> = .unresolved
  ) throws(MergeError) where ID: Comparable {
    let plan = try MergePlan(base: base.elements, local: local, remote: remote, sortedBy: id)
    self = try plan.merge(plan.conflicts.map(policy.resolve), identifiedBy: id)
  }
}

extension ThreeWayMerge where Element: Equatable & Identifiable, ID == Element.ID {
  /// Merges records in any order, identified by their `id`.
  /// See ``init(base:local:remote:identifiedBy:policy:)``.
  @inlinable
  public init(
    base: MergeBase<Element>, local: [Element], remote: [Element],
    policy: MergePolicy<Element> = .unresolved
  ) throws(MergeError) {
    try self.init(
      base: base, local: local, remote: remote, identifiedBy: { $0.id }, policy: policy)
  }
}

extension ThreeWayMerge: Sendable where Element: Sendable, ID: Sendable {}
extension ThreeWayMerge: Equatable where Element: Equatable {}
extension ThreeWayMerge: Hashable where Element: Hashable, ID: Hashable {}
extension ThreeWayMerge: Encodable where Element: Encodable, ID: Encodable {}
extension ThreeWayMerge: Decodable where Element: Decodable, ID: Decodable {}

/// The version that two sides last had in common, if it is known.
///
/// An *unknown* base differs from an empty one. A record missing from a known base was added since.
/// With an unknown base nothing is known about the record, and it is kept. An optional could not
/// express the difference.
public enum MergeBase<Element> {
  /// The version both sides started from.
  case known([Element])
  /// There is no such version: the sides never met, or their common history is lost.
  case unknown

  /// The base's records; empty if it is unknown.
  @inlinable
  package var elements: [Element] {
    switch self {
    case .known(let elements): elements
    case .unknown: []
    }
  }
}

extension MergeBase: Sendable where Element: Sendable {}
extension MergeBase: Equatable where Element: Equatable {}
extension MergeBase: Hashable where Element: Hashable {}

/// The error of a merge of three versions.
public enum MergeError: Error, Hashable, Sendable {
  /// One of the three versions.
  public enum Side: String, Hashable, Sendable, Codable {
    /// The version both sides started from.
    case base
    /// The local version.
    case local
    /// The remote version.
    case remote
  }

  /// An element breaks the rule that identities are unique and, for the sorted form, strictly
  /// ascending. `offset` is its position on that side, counted from 0.
  case identity(side: Side, offset: Int, kind: IdentityViolation.Kind)

  /// A policy or resolver resolved conflict number `conflict`, counted from 0 in the order of
  /// ``ThreeWayMerge/conflicts``, to a record of another identity.
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
