internal import TandemDifferences

/// The changes of the columns by one side.
struct ColumnChanges {
  /// The columns of this side, in order.
  let columns: [FieldName]
  /// The columns that the base does not have under another name either.
  private(set) var added: [FieldName] = []
  /// The columns of the base in which this side changed a cell or added a record with one.
  private(set) var edited: Set<FieldName> = []
  /// The name at this side of each column of the base that it has.
  private var names: [FieldName: FieldName] = [:]

  init(from base: ListText, to side: ListText, key: [String]) {
    columns = side.columnNames
    let pairs = ColumnChanges.pairs(base, side, key: key)
    for column in base.columnNames where side.columnNames.contains(column) {
      names[column] = column
    }
    let missing = base.columnNames.filter { names[$0] == nil }
    let new = side.columnNames.filter { !base.columnNames.contains($0) }
    var renamed: [FieldName: [FieldName]] = [:]
    for column in missing {
      let same = new.filter { candidate in
        pairs.contains { ($0.old?[column.text] ?? .null) != .null }
          && pairs.allSatisfy { $0.old == nil || $0.old?[column.text] == $0.new[candidate.text] }
      }
      let inPlace = same.filter {
        side.columnNames.firstIndex(of: $0) == base.columnNames.firstIndex(of: column)
      }
      // Of several columns with the same cells, none is known to be the one.
      if let name = inPlace.first ?? (same.count == 1 ? same.first : nil) {
        renamed[name, default: []].append(column)
      }
    }
    for (name, origins) in renamed where origins.count == 1 { names[origins[0]] = name }
    added = new.filter { !names.values.contains($0) }
    for (column, name) in names {
      let isEdited = pairs.contains { old, new in
        old.map { $0[column.text] != new[name.text] } ?? ((new[name.text] ?? .null) != .null)
      }
      if isEdited { edited.insert(column) }
    }
  }

  /// The name of a column of the base at this side; `nil` if the side removed it.
  func name(of column: FieldName) -> FieldName? { names[column] }

  /// The column of the base that a column of this side is; `nil` for an added one.
  func origin(of column: FieldName) -> FieldName? { names.first { $0.value == column }?.key }

  /// The records of the side, each with the one of the base that has the same key.
  private static func pairs(
    _ base: ListText, _ side: ListText, key: [String]
  ) -> [(old: ListRecord?, new: ListRecord)] {
    let old = Dictionary(
      base.records.map { (base.key(of: $0, key), $0) }, uniquingKeysWith: { first, _ in first })
    return side.records.map { (old[side.key(of: $0, key)], $0) }
  }
}
