internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// A column that a table got after the base was made.
struct NewColumn {
  /// The position among the columns of the table.
  let offset: Int
  let name: FieldName
  /// The value that the column gave to all rows; null if it has no default that is a constant.
  let standard: FieldValue

  /// True if all rows got a value.
  func isStandard(_ value: FieldValue) -> Bool {
    value.isNull || value.hasSameStorage(as: standard)
  }

  /// Makes the column's values of two versions those that a merge needs.
  ///
  /// The value that the column gave to all rows is no edit: a value of the space replaces it. Any other value is an edit,
  /// and replaces such a value of the space. If the space has none, all values are edits, so that it gets them. If it has
  /// deleted the record, the value that this file has parked is that of the space.
  ///
  /// A column that may be renamed has the values of a dropped one. Such a value is older than that of the space if another
  /// copy has edited it, or newer if the name is that of a column from before. Nothing says which, unless it is an edit
  /// of this file. So the value of the space stays, and the other one is recorded.
  ///
  /// - Parameters:
  ///   - value: The value in the row.
  ///   - former: The value that this file has edited to that; `nil` if no edit is known.
  ///   - parked: The fields that the file has parked.
  ///   - mayBeRenamed: True if the table has lost columns meanwhile.
  /// - Returns: The resolution, if a value is replaced that may have been an edit.
  func adjust(
    _ base: inout Record, _ local: inout Record, _ value: FieldValue, former: FieldValue?,
    remote: Record?, parked: Record?, mayBeRenamed: Bool
  ) -> MergeResolution<FieldValue>? {
    let other = remote?[name.text] ?? parked?[name.text] ?? .null
    let isStandard = isStandard(value)
    local[field: name] = value.isNull ? nil : value
    base[field: name] = nil
    guard remote != nil else {
      if !other.isNull { base[field: name] = other }
      if isStandard, !other.isNull { local[field: name] = other }
      if isStandard, other.isNull { base[field: name] = local[field: name] }
      return nil
    }
    guard !other.isNull else { return nil }
    if other.hasSameStorage(as: value) {
      // Two additions to a counter would not agree.
      base[field: name] = other
      return nil
    }
    if isStandard {
      base[field: name] = other
      local[field: name] = other
      return nil
    }
    if let former {
      base[field: name] = former.isNull ? nil : former
      return nil
    }
    if other.hasSameStorage(as: standard) {
      base[field: name] = other
      return .local
    }
    guard mayBeRenamed else {
      base[field: name] = standard.isNull ? nil : standard
      return nil
    }
    base[field: name] = other
    local[field: name] = other
    return .unresolved
  }
}
