public import TandemDifferences

extension MergePolicy where Value: NamedFields {
  /// Merges the given fields by their own policy, and takes the other fields from the side that
  /// alone changed them. Unresolved if both sides changed other fields, if one of the given fields
  /// stays in conflict, or if one side deleted the record.
  ///
  /// So a note with a text that both sides edited is merged, without mixing the other fields of two
  /// edits.
  ///
  /// - Complexity: O(*f*) for *f* fields, per conflict.
  public static func merging(
    fields: [Value.FieldName], _ policy: MergePolicy<Value.FieldValue>
  ) -> MergePolicy {
    MergePolicy { conflict in
      guard var local = conflict.local, var remote = conflict.remote else { return .unresolved }
      var base = conflict.base
      for name in fields {
        let (ours, theirs) = (local[field: name], remote[field: name])
        let value: Value.FieldValue?
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

extension MergePolicy<FieldValue> {
  /// For integers, the base plus the changes of both sides. Unresolved for other values, for a sum
  /// beyond 64 bits, and without a base. See `MergePolicy.counter`.
  public static var counter: MergePolicy {
    merging(MergePolicy<Int64>.counter) {
      if case .integer(let number) = $0 { number } else { nil }
    } wrap: {
      .integer($0)
    }
  }

  /// For texts, the text with the edits of both sides. Unresolved for other values, if the edits
  /// overlap, and without a base. See `TextMerge`.
  public static var textMerge: MergePolicy {
    merging(MergePolicy<String>.textMerge) {
      if case .text(let text) = $0 { text } else { nil }
    } wrap: {
      .text($0)
    }
  }
}

extension MergePolicy<ListValue> {
  /// For strings of JSON and cells of CSV, the text with the edits of both sides. Unresolved for other
  /// values, if the edits overlap, and without a base. See `TextMerge`.
  public static var textMerge: MergePolicy {
    merging(MergePolicy<String>.textMerge) {
      if case .text(let text) = $0 { text } else { nil }
    } wrap: {
      $0.isEmpty ? nil : .text($0)
    }
  }
}

extension MergePolicy {
  /// Returns a policy for one type of value, called if all three versions have that type.
  fileprivate static func merging<Part: Sendable>(
    _ policy: MergePolicy<Part>, unwrap: @escaping @Sendable (Value) -> Part?,
    wrap: @escaping @Sendable (Part) -> Value?
  ) -> MergePolicy {
    .merging { base, local, remote in
      guard let base = unwrap(base), let local = unwrap(local), let remote = unwrap(remote),
        case .merged(let value) = policy.resolution(
          of: .editEdit(base: base, local: local, remote: remote))
      else { return .none }
      return wrap(value)
    }
  }
}

/// Records merge field by field: `MergePolicy<Record>.fieldwise(byName: ["visits": .counter])`.
extension Record: NamedFields {
  /// The names of the fields that are not null.
  public var fieldNames: [FieldName] {
    zip(layout.names, values).compactMap { $1.isNull ? nil : FieldName($0) }
  }

  /// The value of a field, or `nil` if it is null or absent, which count as the same.
  ///
  /// Setting an absent field adds it at the end.
  ///
  /// - Complexity: O(*n*) in the number of fields.
  public subscript(field name: FieldName) -> FieldValue? {
    get {
      let value = self[name.text]
      return value.isNull ? .none : value
    }
    set {
      let value = newValue ?? .null
      if let offset = layout.offset(of: name.text) {
        values[offset] = value
      } else if !value.isNull {
        // A merge of two records may have more fields than either was allowed to.
        let wider = RecordLayout(uniqueNames: layout.names + [name.text])
        self = Record(uncheckedLayout: wider, values: values + [value])
      }
    }
  }
}
