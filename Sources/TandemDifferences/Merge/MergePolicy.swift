/// How conflicts are resolved: a value that can be stored, passed on and combined.
///
/// The same type serves whole records and single fields. A policy that has no answer says
/// ``MergeResolution/unresolved``, and the one after it is asked:
///
/// ```swift
/// let policy: MergePolicy<Note> =
///   .editBeatsDelete
///   .then(.fieldwise(MergeField(\.title), MergeField(\.likes, .counter)))
///   .then(.keepRemote)
/// ```
///
/// A policy is only asked about conflicts: a change of one side alone is always taken.
public struct MergePolicy<Value>: Sendable {
  @usableFromInline
  let resolve: @Sendable (MergeConflict<Value>) -> MergeResolution<Value>

  /// A policy of one's own. The closure should be pure: the same conflict, the same answer.
  @inlinable
  public init(_ resolve: @escaping @Sendable (MergeConflict<Value>) -> MergeResolution<Value>) {
    self.resolve = resolve
  }

  /// What this policy makes of `conflict`.
  @inlinable
  public func resolution(of conflict: MergeConflict<Value>) -> MergeResolution<Value> {
    resolve(conflict)
  }

  /// This policy, and `next` for the conflicts it leaves unresolved.
  @inlinable
  public func then(_ next: MergePolicy) -> MergePolicy {
    MergePolicy { conflict in
      let resolution = resolve(conflict)
      return resolution.isUnresolved ? next.resolve(conflict) : resolution
    }
  }
}

extension MergePolicy {
  /// Decides nothing: every conflict is reported as open.
  @inlinable
  public static var unresolved: MergePolicy { MergePolicy { _ in .unresolved } }

  /// The local version stands, a deletion included.
  @inlinable
  public static var keepLocal: MergePolicy { MergePolicy { _ in .local } }

  /// The remote version stands, a deletion included.
  @inlinable
  public static var keepRemote: MergePolicy { MergePolicy { _ in .remote } }

  /// A value that one side edited and the other deleted stays, as edited; other conflicts are left
  /// unresolved.
  @inlinable
  public static var editBeatsDelete: MergePolicy {
    MergePolicy { conflict in
      switch conflict {
      case .editDelete: .local
      case .deleteEdit: .remote
      case .editEdit, .addAdd: .unresolved
      }
    }
  }
}

extension MergePolicy where Value: Equatable {
  /// The resolution of three versions, where `nil` is an absent one. This policy is asked only if
  /// they conflict; sides that agree resolve to ``MergeResolution/remote``.
  @inlinable
  public func resolution(base: Value?, local: Value?, remote: Value?) -> MergeResolution<Value> {
    if let conflict = MergeConflict(base: base, local: local, remote: remote) {
      return resolve(conflict)
    }
    return local == remote || local == base ? .remote : .local
  }
}
