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
  /// The value of a column that was renamed may be older than that of the space, which other copies have edited under
  /// the new name, or newer, if the name is that of a column that was dropped before. So both are edits, but for
  /// additions to a counter: it would count them twice.
  ///
  /// - Parameters:
  ///   - value: The value in the row.
  ///   - parked: The fields that the file has parked.
  ///   - dropped: The columns that the table no longer has.
  ///   - isCounter: True if the field has this policy.
  /// - Returns: True if a value of the space is replaced that may have been an edit.
  func adjust(
    _ base: inout Record, _ local: inout Record, _ value: FieldValue, remote: Record?,
    parked: Record?, dropped: [FieldName], isCounter: Bool
  ) -> Bool {
    let other = remote?[name.text] ?? parked?[name.text] ?? .null
    let isStandard = isStandard(value)
    local[field: name] = value.isNull ? nil : value
    base[field: name] = nil
    guard let remote else {
      if !other.isNull { base[field: name] = other }
      if isStandard, !other.isNull { local[field: name] = other }
      if isStandard, other.isNull { base[field: name] = local[field: name] }
      return false
    }
    guard !other.isNull else { return false }
    if other.hasSameStorage(as: value) {
      // Two additions to a counter would not agree.
      base[field: name] = other
      return false
    }
    let carried = dropped.map { remote[$0.text] }
    if isStandard || isCounter && carried.contains(where: value.hasSameStorage) {
      base[field: name] = other
      local[field: name] = other
      return false
    }
    guard other.hasSameStorage(as: standard) || carried.contains(where: other.hasSameStorage)
    else { return false }
    base[field: name] = other
    return true
  }
}
