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
  /// The value that the column gave to all rows is no edit, and neither is that of a column which was
  /// renamed: a value of the space replaces it. The value of a renamed column may be the newer one all the
  /// same, if the space has the name from a column that was dropped before. Any other value is an edit, and
  /// replaces such a value of the space. If the space has none, all values are edits, so that it gets them.
  /// If it has deleted the record, the value that this file has parked is that of the space.
  ///
  /// - Parameters:
  ///   - value: The value in the row.
  ///   - parked: The fields that the file has parked.
  ///   - dropped: The columns that the table no longer has.
  /// - Returns: The resolution, if a value is replaced that may have been an edit.
  func adjust(
    _ base: inout Record, _ local: inout Record, _ value: FieldValue, remote: Record?,
    parked: Record?, dropped: [FieldName]
  ) -> MergeResolution<Record>? {
    let other = remote?[name.text] ?? parked?[name.text] ?? .null
    let isStandard = isStandard(value)
    local[field: name] = value.isNull ? nil : value
    base[field: name] = nil
    guard let remote else {
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
    let carried = dropped.map { remote[$0.text] }
    if isStandard || carried.contains(where: value.hasSameStorage) {
      base[field: name] = other
      local[field: name] = other
      return isStandard ? nil : .unresolved
    }
    if other.hasSameStorage(as: standard) || carried.contains(where: other.hasSameStorage) {
      base[field: name] = other
      return .local
    }
    return nil
  }
}
