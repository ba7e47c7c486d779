internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The rows that local edits have deleted, by the values that a foreign key refers to. They compare as the columns of
/// the parent do.
struct DeletedParents {
  private let foreignKey: ForeignKey
  private let collations: [ComparedColumn.Collation]
  private var keys: [[FieldValue]: [FieldValue]] = [:]

  /// - Complexity: O(*n*) in the number of deleted rows, in time and memory.
  init(_ foreignKey: ForeignKey, _ tables: ReplicaTables) throws {
    self.foreignKey = foreignKey
    let parent = foreignKey.parent
    collations = foreignKey.columns.map { column in
      let origin = ColumnOrigin(table: parent.name, column: column.parent)
      return tables.connection.collation(of: origin).flatMap { .init(name: $0) } ?? .binary
    }
    try tables.forEachTouchedRow(parent, .missing) { key, row in
      if let base = row.base { add(base, key) }
      return true
    }
  }

  private mutating func add(_ record: Record, _ key: [FieldValue]) {
    guard let values = foreignKey.values(of: record, key) else { return }
    keys[comparable(values)] = key
  }

  /// The key of the row that these values of a child refer to.
  func key(of values: [FieldValue]) -> [FieldValue]? {
    if keys.isEmpty { return nil }
    let parent = foreignKey.parent
    let stored = zip(values, foreignKey.columns).map { value, column in
      parent.stored(value, inColumn: column.parent) ?? value
    }
    return keys[comparable(stored)]
  }

  private func comparable(_ values: [FieldValue]) -> [FieldValue] {
    zip(values, collations).map { $0.canonical($1) }
  }
}
