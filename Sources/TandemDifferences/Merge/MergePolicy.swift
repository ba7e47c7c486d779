/// A rule for resolving conflicts, as a value that can be stored, passed and combined.
///
/// The same type is used for whole records and for single fields. If a policy returns
/// ``MergeResolution/unresolved``, the next one in the chain is called:
///
/// <!-- Snippets/CodeInComments.swift policy -->
/// ```swift
/// let policy: MergePolicy<Note> =
///   .editBeatsDelete
///   .then(.fieldwise(MergeField(\.title), MergeField(\.likes, .counter)))
///   .then(.keepRemote)
/// ```
///
/// A policy is only called for conflicts. A change of one side alone is always taken.
public struct MergePolicy<Value>: Sendable {
  @usableFromInline
  let resolve: @Sendable (MergeConflict<Value>) -> MergeResolution<Value>

  /// Creates a policy from a closure, which should be pure: it should return the same resolution
  /// for the same conflict.
  @inlinable
  public init(_ resolve: @escaping @Sendable (MergeConflict<Value>) -> MergeResolution<Value>) {
    self.resolve = resolve
  }

  /// Returns this policy's resolution of `conflict`.
  @inlinable
  public func resolution(of conflict: MergeConflict<Value>) -> MergeResolution<Value> {
    resolve(conflict)
  }

  /// Returns a policy that calls `next` for the conflicts that this one leaves unresolved.
  @inlinable
  public func then(_ next: MergePolicy) -> MergePolicy {
    MergePolicy { conflict in
      let resolution = resolve(conflict)
      return resolution.isUnresolved ? next.resolve(conflict) : resolution
    }
  }
}

extension MergePolicy {
  /// Resolves nothing: every conflict is reported as open.
  @inlinable
  public static var unresolved: MergePolicy { MergePolicy { _ in .unresolved } }

  /// Takes the local version, even if it is a deletion.
  @inlinable
  public static var keepLocal: MergePolicy { MergePolicy { _ in .local } }

  /// Takes the remote version, even if it is a deletion.
  @inlinable
  public static var keepRemote: MergePolicy { MergePolicy { _ in .remote } }

  /// Takes the edit if one side edited the value and the other deleted it. Leaves other conflicts
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
  /// Returns the resolution of three versions, of which absent ones are `nil`. This policy is
  /// called only if they conflict. Sides that agree resolve to ``MergeResolution/remote``.
  @inlinable
  public func resolution(base: Value?, local: Value?, remote: Value?) -> MergeResolution<Value> {
    if let conflict = MergeConflict(base: base, local: local, remote: remote) {
      return resolve(conflict)
    }
    return local == remote || local == base ? .remote : .local
  }
}
