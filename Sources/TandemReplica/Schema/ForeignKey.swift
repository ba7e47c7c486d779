internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// A foreign key that refers to a synchronized table.
struct ForeignKey: Sendable {
  /// Its number among those of a file.
  let number: Int
  /// The name of the table that has it, which need not be synchronized.
  let child: String
  /// That table, if it is synchronized.
  let attachedChild: ReplicaTable?
  let parent: ReplicaTable
  /// The columns of the child, and those of the parent that they refer to.
  let columns: [(child: String, parent: String)]
  /// What happens to the child when the parent is deleted; `nil` if the parent cannot be deleted.
  let action: Action?

  /// An action on the deletion of a parent. `SET DEFAULT` is treated as none: the default may refer to nothing.
  enum Action: String {
    case cascade = "CASCADE"
    case setNull = "SET NULL"
  }

  /// The values by which rows refer to a row of the parent; `nil` if none can, or if they are not
  /// synchronized.
  func values(of record: Record, _ key: [FieldValue]) -> [FieldValue]? {
    var values: [FieldValue] = []
    for column in columns {
      guard let value = parent.value(of: column.parent, in: record, key), !value.isNull else {
        return nil
      }
      values.append(value)
    }
    return values
  }

  /// The values of a record of the child in the columns; `nil` if one of them is null or not synchronized.
  func reference(of record: Record, _ key: [FieldValue]) -> [FieldValue]? {
    var values: [FieldValue] = []
    for column in columns {
      guard let value = attachedChild?.value(of: column.child, in: record, key), !value.isNull
      else { return nil }
      values.append(value)
    }
    return values
  }

  /// True if a record of the child has exactly these values in the columns.
  func refers(_ record: Record, _ key: [FieldValue], to values: [FieldValue]) -> Bool {
    guard let attachedChild else { return false }
    return zip(columns, values).allSatisfy { column, value in
      attachedChild.value(of: column.child, in: record, key)?.hasSameStorage(as: value) ?? false
    }
  }

  /// True if two records of the child refer to the same values.
  func hasSameReference(_ one: Record, _ other: Record, _ key: [FieldValue]) -> Bool {
    guard let attachedChild else { return false }
    return columns.allSatisfy { column in
      let values = [one, other].map { attachedChild.value(of: column.child, in: $0, key) ?? .null }
      return values[0].hasSameStorage(as: values[1])
    }
  }

  /// True if a row of the child refers to its parent by a local edit.
  func isEdited(in row: ReplicaRow, _ key: [FieldValue]) -> Bool {
    guard row.isTouched, let local = row.local else { return false }
    return row.base.map { !hasSameReference(local, $0, key) } ?? true
  }

  /// The key of the parent that a record of the child refers to; `nil` if there is none, or if the columns are not
  /// the primary key.
  func parentKey(of record: Record, _ key: [FieldValue]) -> [FieldValue]? {
    guard let values = reference(of: record, key), columns.count == parent.keyNames.count else {
      return nil
    }
    var parentKey: [FieldValue] = []
    for name in parent.keyNames {
      guard let place = columns.firstIndex(where: { name.isSameSQLName(as: $0.parent) }),
        let value = parent.stored(values[place], inColumn: name)
      else { return nil }
      parentKey.append(value)
    }
    return parentKey
  }

  /// The record with null in the columns; `nil` if one of them is part of the key.
  func withoutReference(_ record: Record) -> Record? {
    var record = record
    for column in columns {
      guard let name = attachedChild?.columnNames.first(where: column.child.isSameSQLName) else {
        return nil
      }
      record[field: FieldName(name)] = nil
    }
    return record
  }
}

extension ReplicaTable {
  /// The value of a synchronized column; `nil` if the column is not synchronized.
  func value(
    of column: String, in record: Record, _ key: [FieldValue]
  ) -> FieldValue? {
    if let offset = keyNames.firstIndex(where: column.isSameSQLName) { return key[offset] }
    return columnNames.first(where: column.isSameSQLName).map { record[$0] }
  }
}

/// A foreign key of any table of a file, as SQLite lists it.
struct ListedForeignKey {
  let child: String
  let parent: String
  /// The columns of the child, and those of the parent that they refer to.
  fileprivate(set) var columns: [(child: String, parent: String)] = []
  let action: ForeignKey.Action?

  /// All foreign keys of a file, in the order of tables.
  static func all(in connection: DatabaseConnection) throws(DatabaseError) -> [ListedForeignKey] {
    let rows = try connection.rows(
      """
      SELECT t.name, f."table", f.on_delete, f."from", coalesce(f."to", (
          SELECT p.name FROM pragma_table_info(f."table") AS p WHERE p.pk = f.seq + 1)), f.seq
      FROM main.sqlite_schema AS t, pragma_foreign_key_list(t.name) AS f
      WHERE t.type = 'table' ORDER BY t.name, f.id, f.seq
      """)
    var found: [ListedForeignKey] = []
    for row in rows {
      let texts = row.map { $0.textValue ?? "" }
      if row[5] == 0 {
        found.append(
          ListedForeignKey(
            child: texts[0], parent: texts[1], action: ForeignKey.Action(rawValue: texts[2])))
      }
      found[found.count - 1].columns.append((texts[3], texts[4]))
    }
    return found
  }
}

extension ForeignKey {
  /// A foreign key; `nil` if it refers to a table that is not synchronized.
  init?(_ listed: ListedForeignKey, number: Int, among tables: [ReplicaTable]) {
    func table(_ name: String) -> ReplicaTable? {
      tables.first { $0.name.isSameSQLName(as: name) }
    }
    guard let parent = table(listed.parent) else { return nil }
    self.init(
      number: number, child: listed.child, attachedChild: table(listed.child), parent: parent,
      columns: listed.columns, action: listed.action)
  }

  var childNames: [String] { columns.map(\.child) }
  var parentNames: [String] { columns.map(\.parent) }
}

extension [String] {
  /// The condition that these columns have given values, which are the parameters in order.
  var sqlEquality: String { map { "\($0.sqlQuoted) = ?" }.joined(separator: " AND ") }
}

extension ReplicaTables {
  /// Finds the rows that refer to some rows of the parent, all in one query. The columns compare with
  /// the collation of the parent's, as SQLite does.
  ///
  /// - Parameters:
  ///   - parents: The keys of the rows, each with a number.
  ///   - body: Called with the number of a row and the key of a row that refers to it. The key is `nil`
  ///     if the child is not synchronized, or if no message can name the key.
  /// - Complexity: O(*n* log *n*) in the number of the rows and of those that refer to them, and of all
  ///   rows of the child if it has no index on the columns.
  func forEachReference(
    _ foreignKey: ForeignKey, to parents: [(number: Int, key: [FieldValue])],
    _ body: (Int, [FieldValue]?) -> Void
  ) throws {
    let places = foreignKey.parent.keyNames.indices.map { "k\($0)" }
    let list = "temp.tandem_parents_\(places.count)"
    try run(
      "CREATE TABLE IF NOT EXISTS \(list) (number INTEGER PRIMARY KEY, \(places.joined(separator: ", ")))",
      [])
    let marks = places.map { _ in "?" }.joined(separator: ", ")
    for parent in parents {
      try run(
        "INSERT INTO \(list) VALUES (?, \(marks))", [.integer(Int64(parent.number))] + parent.key)
    }
    let keyNames = foreignKey.attachedChild?.keyNames ?? []
    try connection.withStatement(foreignKey.selection(of: keyNames, list, places)) {
      statement throws(DatabaseError) in
      while try statement.step() {
        guard case .integer(let number) = try statement.value(at: 0) else { continue }
        // A text that is not UTF-8 is in no message.
        let key = try? statement.values(in: 1..<(1 + keyNames.count))
        let isKnown = key.map { !$0.isEmpty && !$0.contains(where: \.isNull) } ?? false
        body(Int(number), isKnown ? key : nil)
      }
    }
    try run("DELETE FROM \(list)", [])
  }

  /// The keys of the rows of a synchronized table that refer to the given values.
  func references(_ foreignKey: ForeignKey, to values: [FieldValue]) throws -> [[FieldValue]] {
    guard let child = foreignKey.attachedChild else { return [] }
    return try keys(of: child.declaration, where: foreignKey.childNames.sqlEquality, values)
  }

  /// The keys of the rows of a table that a condition selects, without those that no message can name.
  func keys(
    of table: SpaceTable, where condition: String, _ values: [FieldValue]
  ) throws -> [[FieldValue]] {
    try readableRows(
      "SELECT \(table.keyColumns.sqlList) FROM main.\(table.name.sqlQuoted) WHERE \(condition)",
      values
    ).filter { !$0.contains(where: \.isNull) }
  }
}

extension ReplicaTables {
  /// The keys of the rows that a record of the child refers to. The parent's columns compare, with
  /// their types and collations, as SQLite does.
  func parents(
    _ foreignKey: ForeignKey, of record: Record, _ key: [FieldValue]
  ) throws -> [[FieldValue]] {
    guard let child = foreignKey.attachedChild else { return [] }
    return try parents(
      foreignKey,
      with: foreignKey.columns.map { child.value(of: $0.child, in: record, key) ?? .null })
  }

  /// The keys of the rows that have the same values as a record of the parent in the columns that the
  /// child refers to.
  func rows(
    _ foreignKey: ForeignKey, replacedBy record: Record, _ key: [FieldValue]
  ) throws -> [[FieldValue]] {
    try foreignKey.values(of: record, key).map { try parents(foreignKey, with: $0) } ?? []
  }

  private func parents(
    _ foreignKey: ForeignKey, with values: [FieldValue]
  ) throws -> [[FieldValue]] {
    guard !values.contains(where: \.isNull) else { return [] }
    return try keys(
      of: foreignKey.parent.declaration, where: foreignKey.parentNames.sqlEquality, values)
  }
}

extension ForeignKey {
  /// The query for rows of the child that refer to the rows of the parent in a list.
  fileprivate func selection(of names: [String], _ list: String, _ places: [String]) -> String {
    let key = zip(parent.keyNames, places).map { "p.\($0.sqlQuoted) = d.\($1)" }
    // The left column decides on the collation.
    let reference = columns.map { "p.\($0.parent.sqlQuoted) = c.\($0.child.sqlQuoted)" }
    return """
      SELECT \((["d.number"] + names.map { "c.\($0.sqlQuoted)" }).joined(separator: ", "))
      FROM \(list) AS d CROSS JOIN main.\(parent.name.sqlQuoted) AS p
        CROSS JOIN main.\(child.sqlQuoted) AS c
      WHERE \((key + reference).joined(separator: " AND "))
      """
  }
}
