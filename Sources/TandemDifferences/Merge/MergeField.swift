/// One field of a record, and the policy for it, as part of ``MergePolicy/fieldwise(_:)``.
public struct MergeField<Record>: Sendable {
  /// Merges the field in all three versions. Returns `false` if it stays in conflict.
  @usableFromInline
  let merge: @Sendable (inout RecordVersions<Record>) -> Bool

  /// Creates the field at `path`. `policy` is called if both sides changed it to different values.
  @inlinable
  public init<Value: Equatable & SendableMetatype>(
    _ path: any WritableKeyPath<Record, Value> & Sendable,
    _ policy: MergePolicy<Value> = .unresolved
  ) {
    merge = { versions in
      let local = versions.local[keyPath: path]
      let remote = versions.remote[keyPath: path]
      let base = versions.base?[keyPath: path]
      switch policy.resolution(base: base, local: local, remote: remote) {
      case .local: versions.set(path, to: local)
      case .remote: versions.set(path, to: remote)
      case .merged(let value): versions.set(path, to: value)
      case .deleted, .unresolved: return false
      }
      return true
    }
  }
}

/// The versions of a record that both sides have, while its fields are merged one by one.
@usableFromInline
struct RecordVersions<Record> {
  @usableFromInline var base: Record?
  @usableFromInline var local: Record
  @usableFromInline var remote: Record

  /// The versions in `conflict`, or `nil` if one side deleted the record.
  @inlinable
  init?(_ conflict: MergeConflict<Record>) {
    guard let local = conflict.local, let remote = conflict.remote else { return nil }
    base = conflict.base
    self.local = local
    self.remote = remote
  }

  /// Sets one field to the same value in all versions.
  @inlinable
  mutating func set<Value>(_ path: WritableKeyPath<Record, Value>, to value: Value) {
    base?[keyPath: path] = value
    local[keyPath: path] = value
    remote[keyPath: path] = value
  }
}

extension RecordVersions where Record: Equatable {
  /// The resolution after every known field is merged. The other parts of the record merge if only
  /// one side changed them; they are never dropped.
  @inlinable
  var remainder: MergeResolution<Record> {
    switch MergePolicy.unresolved.resolution(base: base, local: local, remote: remote) {
    case .local: .merged(local)
    case .remote: .merged(remote)
    case .merged, .deleted, .unresolved: .unresolved
    }
  }
}

extension MergePolicy where Value: Equatable & SendableMetatype {
  /// Merges a record field by field. Edits of different fields are both taken. A field that both
  /// sides changed is resolved by its own policy.
  ///
  /// The record is unresolved if one of its fields is, if one side deleted it, or if both sides
  /// changed a part that no field covers. A part that only one side changed is kept even if no
  /// field covers it. Without a base, fields that differ are in conflict.
  ///
  /// - Complexity: O(*f*) copies for *f* fields, per conflict.
  @inlinable
  public static func fieldwise(_ fields: MergeField<Value>...) -> MergePolicy {
    fieldwise(fields)
  }

  /// ``fieldwise(_:)`` with the fields as an array.
  @inlinable
  public static func fieldwise(_ fields: [MergeField<Value>]) -> MergePolicy {
    MergePolicy { conflict in
      guard var versions = RecordVersions(conflict) else { return .unresolved }
      for field in fields where !field.merge(&versions) { return .unresolved }
      return versions.remainder
    }
  }
}
