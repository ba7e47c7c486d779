internal import TandemRecords
package import TandemSQLite
package import TandemSync

/// One synchronized table of the application's file: its declaration, its schema, and the shadow
/// that keeps the former versions of changed rows.
package struct ReplicaTable: Sendable {
  /// The table as this replica declares it to the space.
  package let declaration: SpaceTable
  /// The table in the file.
  package let schema: TableSchema
  /// The triggers and the table of former versions.
  let shadow: TableShadow
  /// The fields of records: the columns of the declaration.
  let layout: RecordLayout
  /// The conversions of the columns, in the order of ``layout``.
  private let affinities: [ColumnAffinity]
  private let keyAffinities: [ColumnAffinity]
  /// The defaults of columns that cannot be null, as SQL, in the order of ``layout``.
  private let requiredDefaults: [String?]

  /// A table of the file.
  ///
  /// - Throws: ``ReplicaError`` if the table or a column is gone, or the key is another one.
  init(_ declaration: SpaceTable, in connection: DatabaseConnection) throws {
    guard let schema = try connection.schema(ofTable: declaration.name) else {
      throw ReplicaError(
        .schema,
        "the synchronized table \(declaration.name) is gone; create it again or give it its name "
          + "back, or detach the file")
    }
    guard schema.primaryKey == declaration.keyColumns else {
      throw ReplicaError(
        .schema,
        "the table \(declaration.name) has the primary key \(schema.primaryKey.sqlList), but was "
          + "attached with \(declaration.keyColumns.sqlList); change it back, or detach the file "
          + "and attach it to a new space")
    }
    func affinity(_ name: String) throws(ReplicaError) -> ColumnAffinity {
      guard let column = schema.column(named: name) else {
        throw ReplicaError(
          .schema,
          "the table \(declaration.name) has no column \(name) to synchronize; add it again, or "
            + "detach the file")
      }
      return column.affinity
    }
    affinities = try declaration.columns.map(affinity)
    keyAffinities = try declaration.keyColumns.map(affinity)
    let defaults = try connection.defaults(of: schema.name, among: declaration.columns)
      .filter(\.isRequired)
    requiredDefaults = declaration.columns.map { name in
      defaults.first { $0.column.isSameSQLName(as: name) }?.sql
    }
    self.declaration = declaration
    self.schema = schema
    shadow = try TableShadow(
      table: declaration.name, columns: declaration.columns, in: connection)
    layout = RecordLayout(uniqueNames: declaration.columns)
  }

  /// The name of the table.
  var name: String { declaration.name }

  /// The table of the former versions that a frozen commit covers.
  var asideName: String { "tandem_aside_\(name)" }

  /// The identity of a record of this table.
  func syncKey(_ id: [FieldValue]) -> SyncKey { SyncKey(table: name, id: id) }

  /// True if the table stores this key so that it stays the same key.
  func keeps(key: [FieldValue]) -> Bool {
    key.count == keyAffinities.count && !key.contains(where: \.isNull)
      && zip(keyAffinities, key).allSatisfy { $0.stored($1) == $1 }
      && (!shadow.isByRowid
        || { if case .integer = keyAffinities[0].stored(key[0]) { true } else { false } }())
  }

  /// The value that a column stores for another one; `nil` if the table is strict and refuses it.
  func stored(_ value: FieldValue, at offset: Int) -> FieldValue? {
    affinities[offset].stored(value)
  }

  /// The expression that stores a value, with one parameter: a column that cannot be null gets its
  /// default for null, as when the replica that wrote the record lacks the column.
  func storing(_ value: FieldValue, at offset: Int) -> String {
    guard value.isNull, let sql = requiredDefaults[offset] else { return "?" }
    return "coalesce(?, (\(sql)))"
  }

  /// True if a row gets a default for a field that is null in its record.
  func hasDefaults(for record: Record?) -> Bool {
    guard let record else { return false }
    return zip(layout.names, requiredDefaults).contains { $1 != nil && record[$0].isNull }
  }

  /// The values of the columns that store a record. Other fields are left out.
  func values(of record: Record) -> [FieldValue] {
    layout.names.map { record[$0] }
  }

  /// The fields that the table cannot hold as they are: those without a column, and values that a
  /// column would alter.
  func unstorableFields(of record: Record) -> Record? {
    let fields = zip(record.layout.names, record.values).filter { name, value in
      guard !value.isNull else { return false }
      guard let offset = layout.offset(of: name) else { return true }
      return !(affinities[offset].stored(value)?.hasSameStorage(as: value) ?? false)
    }
    return fields.isEmpty
      ? nil
      : Record(
        uncheckedLayout: RecordLayout(uniqueNames: fields.map(\.0)), values: fields.map(\.1))
  }
}

// MARK: - Statements

extension ReplicaTable {
  var keyNames: [String] { declaration.keyColumns }
  var columnNames: [String] { declaration.columns }

  /// The condition on the table's key, with two parameters for each column.
  var keyCondition: KeyCondition { KeyCondition(columns: keyNames) }

  /// The condition on the key of a shadow, with one parameter for each column.
  var shadowCondition: String { keyNames.map { "\($0.sqlQuoted) = ?" }.joined(separator: " AND ") }

  /// The key and the columns of a row.
  var selection: String {
    "SELECT \((keyNames + columnNames).sqlList) FROM \(name.sqlQuoted)"
  }

  /// The condition that two tables have a row of the same key, byte by byte: `row` is the alias of
  /// the application's table, whose index it uses.
  func sameKey(_ row: String, _ other: String) -> String {
    keyNames.map { name in
      let pair = "\(row).\(name.sqlQuoted) = \(other).\(name.sqlQuoted)"
      return "\(pair) AND \(pair) COLLATE BINARY"
    }
    .joined(separator: " AND ")
  }
}

/// The synchronized tables of a file.
package struct ReplicaSchema: Sendable {
  /// The tables, in the order in which they were attached.
  package let tables: [ReplicaTable]
  /// The foreign keys between them.
  let foreignKeys: [ForeignKey]

  init(_ declarations: [SpaceTable], in connection: DatabaseConnection) throws {
    tables = try declarations.map { try ReplicaTable($0, in: connection) }
    foreignKeys = try connection.foreignKeys(between: tables)
  }

  /// The table of a name, which is compared byte by byte as in messages.
  func table(named name: String) -> ReplicaTable? {
    tables.first { UTF8Order.areEqual($0.name, name) }
  }
}
