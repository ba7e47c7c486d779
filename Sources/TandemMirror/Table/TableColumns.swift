internal import TandemRecords
internal import TandemSQLite

/// The columns of a table that a list of records is compared with, and the conversion of its fields.
struct TableColumns {
  struct Column {
    var name: String
    var affinity: ColumnAffinity
    /// The column as it must be added to the table, if it is not there yet.
    var addition: ColumnDefinition?
    /// The kinds of values that the column takes: all, but in a strict table or the column that is the rowid.
    let takenKinds: ValueKinds
    /// The kinds of values of which the column stores every one unchanged.
    let keptKinds: ValueKinds

    init(
      _ name: String, _ affinity: ColumnAffinity, takenKinds: ValueKinds = .all,
      addition: ColumnDefinition? = nil
    ) {
      self.name = name
      self.affinity = affinity
      self.addition = addition
      self.takenKinds = takenKinds
      keptKinds = affinity.keptKinds.intersection(takenKinds)
    }

    /// The value as the column stores it; `nil` if the column would change or reject it.
    func stored(_ value: FieldValue) -> FieldValue? {
      if keptKinds.contains(value.kind) { return value }
      return affinity.stored(value).flatMap { takenKinds.contains($0.kind) ? $0 : nil }
    }
  }

  let columns: [Column]
  let layout: RecordLayout

  init(_ columns: [Column]) throws(MirrorError) {
    guard let layout = RecordLayout(columns.map(\.name)) else { throw TableColumns.tooManyFields }
    self.columns = columns
    self.layout = layout
  }

  /// The columns for records that go into a table of this schema, or into a new table if it is `nil`.
  ///
  /// - Parameters:
  ///   - owned: The key, and the columns that earlier runs wrote: they are compared even if no record has the
  ///     field any more. Other columns of the table that no record has a field for are left alone.
  ///   - fileFields: Columns for the paths of files, which follow those of the fields if there are records.
  ///   - onlyTypes: The only types that columns of the table take, by name.
  ///   - widened: The columns that will be widened: they take every value.
  ///   - types: The types of columns to be added, by name; of others, the narrowest for their values.
  init(
    schema: TableSchema?, records: PackedRecords, owned: [String], fileFields: [String] = [],
    onlyTypes: [String: ColumnType] = [:], widened: [String] = [], types: [String: ColumnType] = [:]
  ) throws(MirrorError) {
    var columns: [Column] = []
    let fields = try TableColumns.fieldNames(of: records.layouts)
    let fieldNames = Set(fields.map(FoldedName.init))
    for column in schema?.columns ?? [] {
      let isField = fieldNames.contains(FoldedName(column.name))
      guard isField || (owned + fileFields).contains(where: column.name.isSameSQLName) else {
        continue
      }
      guard !column.isGenerated else {
        if !isField { continue }
        throw MirrorError(
          .unfitDestination,
          "column \(column.name) is generated, and cannot take the field's values")
      }
      let isWidened = widened.contains(where: column.name.isSameSQLName)
      let takenKinds = isWidened ? nil : onlyTypes[column.name]?.kinds
      columns.append(
        Column(
          column.name, isWidened ? .none : column.affinity, takenKinds: takenKinds ?? .all))
    }
    let known = Set(columns.map { FoldedName($0.name) })
    let missing = fields.filter { !known.contains(FoldedName($0)) }
    let declared = Dictionary(
      types.map { (FoldedName($0), $1) }, uniquingKeysWith: { first, _ in first })
    for (field, narrowest) in zip(missing, TableColumns.types(of: missing, in: records)) {
      let type = declared[FoldedName(field)] ?? narrowest
      let affinity = ColumnAffinity(declaredType: type.rawValue)
      columns.append(
        Column(field, affinity, addition: ColumnDefinition(name: field, type: type)))
    }
    for field in fileFields
    where !records.isEmpty && schema?.column(named: field) == nil
      && !fieldNames.contains(FoldedName(field))
    {
      let addition = ColumnDefinition(name: field, type: .text)
      columns.append(Column(field, .text, addition: addition))
    }
    try self.init(columns)
  }

  /// All columns of a table, generated ones too, and those that only the records have.
  init(comparing schema: TableSchema, with records: PackedRecords) throws(MirrorError) {
    var columns = schema.columns.map { Column($0.name, $0.affinity) }
    for field in try TableColumns.fieldNames(of: records.layouts)
    where schema.column(named: field) == nil {
      let addition = ColumnDefinition(name: field, type: .any)
      columns.append(Column(field, .none, addition: addition))
    }
    try self.init(columns)
  }

  /// The columns that the table does not have.
  var missingOffsets: Set<Int> { Set(columns.indices.filter { columns[$0].addition != nil }) }

  /// The columns to add to the table, or to create it with.
  var additions: [ColumnDefinition] { columns.compactMap(\.addition) }

  /// The offset of a column, by a name as SQLite compares names.
  func offset(of name: String) -> Int? {
    columns.firstIndex { $0.name.isSameSQLName(as: name) }
  }

  /// The field names of all layouts, in the order of their first appearance.
  ///
  /// - Throws: ``MirrorError`` if two differ in nothing but the case of ASCII letters, which SQLite
  ///   takes for one column.
  private static func fieldNames(of layouts: [RecordLayout]) throws(MirrorError) -> [String] {
    var names: [String] = []
    var seen: [FoldedName: String] = [:]
    for layout in layouts {
      for name in layout.names {
        if let other = seen.updateValue(name, forKey: FoldedName(name)) {
          guard UTF8Order.areEqual(other, name) else {
            throw MirrorError(
              .unfitDestination,
              "the fields \(FieldValue.text(other)) and \(FieldValue.text(name)) differ only in "
                + "case, and would be one column in SQLite")
          }
          continue
        }
        guard !name.isEmpty, !name.utf8.contains(0) else {
          throw MirrorError(
            .unfitDestination, "a field with an empty name, or a NUL in it, cannot be a column")
        }
        names.append(name)
        guard names.count <= RecordLayout.maxFieldCount else { throw tooManyFields }
      }
    }
    return names
  }

  private static var tooManyFields: MirrorError {
    MirrorError(
      .unfitDestination,
      "the records have more than \(RecordLayout.maxFieldCount) different fields, "
        + "which is more than a table can have")
  }

  /// The narrowest type for the values of each field.
  private static func types(of fields: [String], in records: PackedRecords) -> [ColumnType] {
    guard !fields.isEmpty else { return [] }
    let positions = Dictionary(
      uniqueKeysWithValues: fields.enumerated().map { (FieldName($1), $0) })
    var kinds = [ValueKinds](repeating: [], count: fields.count)
    for (index, layout) in records.layouts.enumerated() {
      for (offset, name) in layout.names.enumerated() {
        guard let position = positions[FieldName(name)] else { continue }
        kinds[position].formUnion(records.kinds(at: offset, ofLayout: index))
      }
    }
    return kinds.map(ColumnType.narrowest)
  }
}

/// A name as SQLite compares names: without regard to the case of ASCII letters.
private struct FoldedName: Hashable {
  private let bytes: [UInt8]

  init(_ name: String) {
    bytes = name.utf8.map { (65...90).contains($0) ? $0 | 0x20 : $0 }
  }
}

// MARK: - Records

extension TableColumns {
  /// The columns whose texts are compared by structure, because those that look like arrays or objects
  /// of JSON are arrays or objects in the list, and not strings.
  func structuredOffsets(of records: PackedRecords) -> Set<Int> {
    var nested = Set<Int>()
    for layout in records.layouts {
      nested.formUnion(layout.nestedOffsets.compactMap { self.offset(of: layout.names[$0]) })
    }
    guard !nested.isEmpty else { return [] }
    let strings = records.layouts.map { layout in
      let offsets = offsets(in: layout)
      return nested.compactMap { column in offsets[column].map { (offset: $0, column: column) } }
        .filter { !layout.nestedOffsets.contains($0.offset) }
    }
    guard strings.contains(where: { !$0.isEmpty }) else { return nested }
    for position in records.indices {
      for string in strings[records.layoutIndex(at: position)] where nested.contains(string.column)
      {
        let value = records.value(at: string.offset, ofRecordAt: position)
        if case .text(let text) = value, JSONStructure.isNested(text) {
          nested.remove(string.column)
        }
      }
    }
    return nested
  }

  /// The columns without a type whose values in the list are cells of CSV.
  func cellOffsets(of records: PackedRecords) -> Set<Int> {
    let layouts = records.layouts.map { (areCells: $0.areCells, offsets: offsets(in: $0)) }
    return Set(
      columns.indices.filter { column in
        columns[column].affinity == .none && columns[column].addition == nil
          && layouts.allSatisfy { $0.areCells || $0.offsets[column] == nil }
      })
  }

  /// The names of the columns of the table that would change or reject a value of a record.
  func misfits(of records: PackedRecords) -> [String] {
    var misfits = Set<Int>()
    forEachMisfit(of: records) { column, _, _ in
      misfits.insert(column)
      return true
    }
    return misfits.sorted().map { columns[$0].name }
  }

  /// The error for the first record with a value that its column would change or reject; `nil` if there is none.
  func firstMisfit(of records: PackedRecords) -> RecordError? {
    var error: RecordError?
    forEachMisfit(of: records) { column, value, position in
      let column = columns[column]
      // Without an affinity, only a column of a strict table rejects values.
      let type = column.affinity == .none ? "BLOB" : column.affinity.rawValue.uppercased()
      error = RecordError(
        .notRepresentable,
        "the value \(value) of field \(column.name) would be "
          + "\(column.affinity.stored(value) == nil ? "changed" : "rejected") by its column, "
          + "which is of type \(type); widen the column (`widensColumns`), "
          + "or declare it without a type",
        record: position + 1)
      return false
    }
    return error
  }

  /// Calls `body` with each value that its column would change or reject, until it returns false. Values of kinds
  /// that their columns keep are not read.
  private func forEachMisfit(
    of records: PackedRecords,
    _ body: (_ column: Int, _ value: FieldValue, _ position: Int) -> Bool
  ) {
    let doubtful = records.layouts.enumerated().map { index, layout in
      offsets(in: layout).enumerated().compactMap { column, offset -> (column: Int, offset: Int)? in
        guard let offset else { return nil }
        let kinds = records.kinds(at: offset, ofLayout: index)
        return columns[column].keptKinds.isSuperset(of: kinds) ? nil : (column, offset)
      }
    }
    guard doubtful.contains(where: { !$0.isEmpty }) else { return }
    for position in records.indices {
      for (column, offset) in doubtful[records.layoutIndex(at: position)] {
        let value = records.value(at: offset, ofRecordAt: position)
        if columns[column].stored(value) == nil, !body(column, value, position) { return }
      }
    }
  }

  /// The offset of each column's field in records of a layout; `nil` for a field that they lack.
  func offsets(in layout: RecordLayout) -> [Int?] {
    let offsets = Dictionary(
      layout.names.enumerated().map { (FoldedName($1), $0) },
      uniquingKeysWith: { first, _ in first })
    return columns.map { offsets[FoldedName($0.name)] }
  }

  /// The values of a record as the table stores them: absent fields null, each value as its column's affinity
  /// makes it. A value that its column would change stays as it is.
  ///
  /// - Parameter offsets: The offset of each column's field, as ``offsets(in:)`` finds them.
  func stored(_ values: [FieldValue], at offsets: [Int?]) -> [FieldValue] {
    zip(columns, offsets).map { column, offset in
      guard let offset else { return .null }
      return column.stored(values[offset]) ?? values[offset]
    }
  }

  /// True if records of a layout have the columns as their fields, in the same order.
  func areFields(in layout: RecordLayout) -> Bool {
    layout.names.count == columns.count
      && offsets(in: layout).elementsEqual(columns.indices, by: ==)
  }

  /// True if the columns store all values unchanged of the records of a layout, whose fields they are.
  func keepValues(ofLayout index: Int, in records: PackedRecords) -> Bool {
    columns.indices.allSatisfy {
      columns[$0].keptKinds.isSuperset(of: records.kinds(at: $0, ofLayout: index))
    }
  }
}
