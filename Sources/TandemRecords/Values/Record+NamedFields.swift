public import TandemDifferences

/// Records merge field by field: `MergePolicy<Record>.fieldwise(byName: ["visits": .counter])`.
extension Record: NamedFields {
  /// The names of the fields that are not null.
  public var fieldNames: [FieldName] {
    zip(layout.names, values).compactMap { $1.isNull ? nil : FieldName($0) }
  }

  /// The value of a field, or `nil` if it is null or absent, which are the same to a record.
  ///
  /// Setting a field that is absent adds it at the end.
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
        // A merge of two records may well have more fields than either was allowed to.
        let wider = RecordLayout(uniqueNames: layout.names + [name.text])
        self = Record(uncheckedLayout: wider, values: values + [value])
      }
    }
  }
}
