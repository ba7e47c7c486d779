internal import TandemRecords
internal import TandemSQLite

/// A foreign key between two synchronized tables.
struct ForeignKey: Sendable {
  let child: ReplicaTable
  let parent: ReplicaTable
  /// The columns of the child, and those of the parent that they refer to.
  let columns: [(child: String, parent: String)]
}

extension DatabaseConnection {
  /// The foreign keys between synchronized tables.
  func foreignKeys(between tables: [ReplicaTable]) throws(DatabaseError) -> [ForeignKey] {
    let listing = try prepare(
      "SELECT id, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list(?) ORDER BY id, seq")
    var found: [ForeignKey] = []
    for child in tables {
      var columns: [(child: String, parent: String?)] = []
      var parent: ReplicaTable?
      func end() {
        if let parent, !columns.isEmpty {
          let names = columns.enumerated().map { offset, pair in
            (child: pair.child, parent: pair.parent ?? parent.keyNames[safe: offset] ?? "")
          }
          found.append(ForeignKey(child: child, parent: parent, columns: names))
        }
        columns = []
      }
      var lastID: FieldValue?
      listing.reset()
      try listing.bind([.text(child.name)])
      while try listing.step() {
        let row = try listing.values()
        guard case .text(let table) = row[1], case .text(let from) = row[2] else { continue }
        if row[0] != lastID {
          end()
          lastID = row[0]
          parent = tables.first { $0.name.isSameSQLName(as: table) }
        }
        if case .text(let to) = row[3] {
          columns.append((from, to))
        } else {
          columns.append((from, nil))
        }
      }
      end()
    }
    return found
  }
}

extension ReplicaTables {
  /// True if a row refers to a record that has no row.
  func hasChild(_ foreignKey: ForeignKey, of record: Record, _ key: [FieldValue]) throws -> Bool {
    let parent = foreignKey.parent
    var values: [FieldValue] = []
    for column in foreignKey.columns {
      if let offset = parent.keyNames.firstIndex(where: column.parent.isSameSQLName) {
        values.append(key[offset])
      } else if let name = parent.columnNames.first(where: column.parent.isSameSQLName) {
        values.append(record[name])
      } else {
        return false
      }
    }
    guard !values.contains(where: \.isNull) else { return false }
    let condition = foreignKey.columns.map { "\($0.child.sqlQuoted) = ?" }
      .joined(separator: " AND ")
    return try !rows(
      "SELECT 1 FROM \(foreignKey.child.name.sqlQuoted) WHERE \(condition) LIMIT 1", values
    ).isEmpty
  }
}

extension Array {
  /// The element at an offset, or `nil`.
  fileprivate subscript(safe offset: Int) -> Element? {
    indices.contains(offset) ? self[offset] : nil
  }
}
