/// A record whose fields are found by name at run time, such as a row or a JSON object.
///
/// Conforming makes ``MergePolicy/fieldwise(byName:otherwise:)`` available. Two records whose
/// fields are all equal should be equal.
public protocol NamedFields: Equatable, SendableMetatype {
  /// The type of a field's name.
  associatedtype FieldName: Hashable & Sendable
  /// The type of a field's value.
  associatedtype FieldValue: Equatable & SendableMetatype

  /// The names of the fields this record has, each once.
  var fieldNames: [FieldName] { get }

  /// The value of the field, or `nil` if this record has none of that name. Setting `nil` removes
  /// the field.
  subscript(field name: FieldName) -> FieldValue? { get set }
}

extension MergePolicy where Value: NamedFields {
  /// Merges records field by field, as ``fieldwise(_:)-(MergeField<Value>...)`` does, with the
  /// policy for a field's name in `policies`, or else with `otherwise`.
  ///
  /// A field that only some versions have counts as added or deleted, as a record does. So
  /// ``editBeatsDelete`` applies to fields too.
  ///
  /// - Complexity: O(*f*) for *f* different names, per conflict.
  @inlinable
  public static func fieldwise(
    byName policies: [Value.FieldName: MergePolicy<Value.FieldValue>],
    otherwise: MergePolicy<Value.FieldValue> = .unresolved
  ) -> MergePolicy {
    MergePolicy { conflict in
      guard var versions = RecordVersions(conflict) else { return .unresolved }
      for name in versions.fieldNames
      where !versions.merge(name, policies[name] ?? otherwise) {
        return .unresolved
      }
      return versions.remainder
    }
  }
}

extension RecordVersions where Record: NamedFields {
  /// The names of all versions' fields, each once.
  @inlinable
  var fieldNames: [Record.FieldName] {
    var seen = Set<Record.FieldName>()
    let names = remote.fieldNames + local.fieldNames + (base?.fieldNames ?? [])
    return names.filter { seen.insert($0).inserted }
  }

  /// Merges the field in all versions. Returns `false` if it stays in conflict.
  @inlinable
  mutating func merge(
    _ name: Record.FieldName, _ policy: MergePolicy<Record.FieldValue>
  ) -> Bool {
    let ours = local[field: name]
    let theirs = remote[field: name]
    switch policy.resolution(base: base?[field: name], local: ours, remote: theirs) {
    case .local: set(name, to: ours)
    case .remote: set(name, to: theirs)
    case .merged(let value): set(name, to: value)
    case .deleted: set(name, to: nil)
    case .unresolved: return false
    }
    return true
  }

  @inlinable
  mutating func set(_ name: Record.FieldName, to value: Record.FieldValue?) {
    base?[field: name] = value
    local[field: name] = value
    remote[field: name] = value
  }
}
