internal import TandemRecords
package import TandemSQLite
package import TandemSync

/// One synchronized table of the application's file: its declaration, its schema, and the shadow
/// that keeps the former versions of changed rows. It is a class because each row that is being
/// merged refers to it.
package final class ReplicaTable: Sendable {
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
  private let hasRequiredDefaults: Bool
  /// The columns that are stored and not synchronized.
  let otherColumns: [String]
  /// The statements on single rows, whose texts are made once.
  let statements: RowStatements
  /// True if columns that were dropped may have edits that were not sent.
  let mayHaveDroppedEdits: Bool

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
    if declaration.isNumbered, !connection.hasAutoincrement(schema) {
      throw ReplicaError(
        .schema,
        "the table \(declaration.name) has lost AUTOINCREMENT, without which SQLite gives the number of a "
          + "deleted row again; rebuild it with that (`rekey`), or detach the file")
    }
    affinities = try declaration.columns.map(affinity)
    keyAffinities = try declaration.keyColumns.map(affinity)
    let defaults = try connection.defaults(of: schema.name, among: declaration.columns)
      .filter(\.isRequired)
    requiredDefaults = declaration.columns.map { name in
      defaults.first { $0.column.isSameSQLName(as: name) }?.sql
    }
    hasRequiredDefaults = requiredDefaults.contains { $0 != nil }
    let synchronized = declaration.keyColumns + declaration.columns
    otherColumns = schema.columns.filter { column in
      !column.isGenerated && !synchronized.contains(where: column.name.isSameSQLName)
    }.map(\.name)
    self.declaration = declaration
    self.schema = schema
    shadow = try TableShadow(
      table: declaration.name, columns: declaration.columns, in: connection)
    layout = RecordLayout(uniqueNames: declaration.columns)
    statements = RowStatements(declaration, shadow)
    mayHaveDroppedEdits =
      try connection.schema(ofTable: TableShadow.droppedName(declaration.name)) != nil
  }

  /// The name of the table.
  var name: String { declaration.name }

  /// The table of the former versions that a frozen commit covers.
  var asideName: String { TableShadow.asideName(name) }

  /// The identity of a record of this table.
  func syncKey(_ id: [FieldValue]) -> SyncKey { SyncKey(table: name, id: id) }

  /// True if the table stores this key so that it stays the same key.
  func stores(key: [FieldValue]) -> Bool {
    key.count == keyAffinities.count && !key.contains(where: \.isNull)
      && zip(keyAffinities, key).allSatisfy { $0.stored($1) == $1 }
      && (!shadow.isByRowid
        || { if case .integer = keyAffinities[0].stored(key[0]) { true } else { false } }())
  }

  /// Throws if a key of the space has another number of values than that of the table: no space has such a key.
  func checkCount(of key: [FieldValue]) throws(ForeignPage) {
    guard key.count == keyNames.count else {
      throw ForeignPage(
        "a key of the table \(name) has \(key.count) values, not \(keyNames.count)")
    }
  }

  /// The value that a column stores for another one; `nil` if the table is strict and refuses it.
  func stored(_ value: FieldValue, at offset: Int) -> FieldValue? {
    affinities[offset].stored(value)
  }

  /// The value that a column holds once another one has been written to it, even if that alters it.
  func altered(_ value: FieldValue, at offset: Int) -> FieldValue {
    affinities[offset].altered(value)
  }

  /// The value that a column of the key or of the records stores for another one; `nil` also if there is no such
  /// column.
  func stored(_ value: FieldValue, inColumn name: String) -> FieldValue? {
    if let offset = keyNames.firstIndex(where: name.isSameSQLName) {
      return keyAffinities[offset].stored(value)
    }
    return columnNames.firstIndex(where: name.isSameSQLName).flatMap { stored(value, at: $0) }
  }

  /// The expression that stores a value, which is the parameter of the given number: a column that
  /// cannot be null gets its default for null, as when the replica that wrote the record lacks the
  /// column.
  func storing(_ value: FieldValue, at offset: Int, parameter: Int) -> String {
    guard value.isNull, let sql = requiredDefaults[offset] else { return "?\(parameter)" }
    return "coalesce(?\(parameter), (\(sql)))"
  }

  /// The insertion of a row. The parameters are the key and the values.
  func insertion(of values: [FieldValue]) -> StatementText {
    guard hasRequiredDefaults, values.contains(where: \.isNull) else { return statements.insert }
    let marks = values.indices.map {
      storing(values[$0], at: $0, parameter: keyNames.count + $0 + 1)
    }
    return statements.insertion(marks)
  }

  /// The update of some columns of a row. The parameters are the key and the values.
  func update(of offsets: [Int], to values: [FieldValue]) -> StatementText {
    let assignments = offsets.enumerated().map { position, offset in
      let parameter = keyNames.count + position + 1
      return "\(columnNames[offset].sqlQuoted) = "
        + storing(values[position], at: offset, parameter: parameter)
    }
    return statements.update(assignments)
  }

  /// True if the text of an update depends on the values.
  func updatesDepend(on values: [FieldValue]) -> Bool {
    hasRequiredDefaults && values.contains(where: \.isNull)
  }

  /// True if a row gets a default for a field that is null in its record.
  func hasDefaults(for record: Record?) -> Bool {
    guard let record, hasRequiredDefaults else { return false }
    return zip(layout.names, requiredDefaults).contains { $1 != nil && record[$0].isNull }
  }

  /// The values of the columns that store a record. Other fields are left out.
  func values(of record: Record) -> [FieldValue] {
    record.layout === layout ? record.values : layout.names.map { record[$0] }
  }

  /// The same record with the layout of this table if it has the same fields in the same order, as
  /// most records of the space have: no step that follows then has to look for fields by their names.
  func adopting(_ record: Record) -> Record {
    record.layout.hasSameOrder(as: layout)
      ? Record(uncheckedLayout: layout, values: record.values) : record
  }

  /// The fields of which the table stores another value: those that it cannot hold as they are, and nulls
  /// that it replaces by a default. `nil` if there are none.
  func alteredFields(of record: Record) -> Record? {
    let unstorable = unstorableFields(of: record)
    guard hasDefaults(for: record) else { return unstorable }
    let replaced = zip(layout.names, requiredDefaults).filter { $1 != nil && record[$0].isNull }
      .map(\.0)
    return Record(
      uncheckedLayout: RecordLayout(uniqueNames: (unstorable?.layout.names ?? []) + replaced),
      values: (unstorable?.values ?? []) + replaced.map { _ in .null })
  }

  /// The fields that the table cannot hold as they are: those without a column, and values that a
  /// column would alter.
  func unstorableFields(of record: Record) -> Record? {
    let offsets = record.values.indices.filter { offset in
      let value = record.values[offset]
      guard !value.isNull else { return false }
      let column =
        record.layout === layout ? offset : layout.offset(of: record.layout.names[offset])
      guard let column else { return true }
      return !(affinities[column].stored(value)?.hasSameStorage(as: value) ?? false)
    }
    return offsets.isEmpty
      ? nil
      : Record(
        uncheckedLayout: RecordLayout(uniqueNames: offsets.map { record.layout.names[$0] }),
        values: offsets.map { record.values[$0] })
  }

  /// True if a column would store a value as one that does not lead back to it, such as `007` in a column of
  /// integers. Such a value is never written. One that only changes its type, such as 1 in a column of reals, is.
  private func loses(_ value: FieldValue, at offset: Int) -> Bool {
    affinities[offset].stored(value) == nil
  }

  /// The reason for which values are not written into columns; `nil` if none of them would lose a part.
  func loss(of values: [FieldValue], at offsets: some Sequence<Int>) -> String? {
    guard let offset = offsets.first(where: { loses(values[$0], at: $0) }) else { return nil }
    let (name, value) = (columnNames[offset], values[offset])
    let type = schema.column(named: name)?.declaredType ?? ""
    return
      "the column \(name) (\(type)) would store \(value.shortDescription) as "
      + "\(altered(value, at: offset).shortDescription); change the type of the column"
  }

  /// True if a column would lose a part of a record.
  func loses(aPartOf record: Record) -> Bool {
    let values = values(of: record)
    return values.indices.contains { loses(values[$0], at: $0) }
  }

  /// A record with other values where columns would lose a part of them: those of the row, if there is one.
  func withoutLosses(_ record: Record, over row: Record?) -> Record {
    var values = values(of: record)
    for offset in values.indices where loses(values[offset], at: offset) {
      values[offset] = row?.values[offset] ?? .null
    }
    return Record(uncheckedLayout: layout, values: values)
  }
}

extension FieldValue {
  /// The value, or its beginning.
  fileprivate var shortDescription: String {
    let text = description
    return text.utf8.count <= 40 ? text : "\(text.prefix(40))…"
  }
}

// MARK: - Statements

extension ReplicaTable {
  var keyNames: [String] { declaration.keyColumns }
  var columnNames: [String] { declaration.columns }
  /// The condition that a row has a key byte by byte. Its values are the first parameters.
  var hasKey: String { statements.hasKey }
}

extension DatabaseConnection {
  /// Throws if SQLite cannot compile the statements that write a table, as when one of its triggers
  /// calls a function that only the application defines.
  func checkStatements(on table: ReplicaTable, _ code: ReplicaError.Code) throws {
    let offsets = Array(table.columnNames.indices)
    let update = table.update(of: offsets, to: offsets.map { _ in 0 })
    let writes = [table.statements.insert, table.statements.delete]
    for text in writes + (offsets.isEmpty ? [] : [update]) {
      if let message = reasonNotToCompile(text.sql) {
        let triggers = try triggers(blamedBy: message)
        let place = triggers.isEmpty ? "" : " in the trigger \(triggers.sqlList)"
        throw unwritable(table, code, "\(message)\(place)")
      }
    }
  }

  /// Throws if SQLite cannot compile a default that statements and triggers of Tandem use: that of a column
  /// which cannot be null.
  func checkDefaults(of table: ReplicaTable, _ code: ReplicaError.Code) throws {
    let defaults = try defaults(of: table.name, among: table.keyNames + table.columnNames)
    for entry in defaults where entry.isRequired {
      guard let message = reasonNotToCompile("SELECT \(entry.sql)") else { continue }
      throw unwritable(table, code, "\(message) in the default of the column \(entry.column)")
    }
  }

  private func unwritable(
    _ table: ReplicaTable, _ code: ReplicaError.Code, _ reason: String
  ) -> ReplicaError {
    ReplicaError(
      code,
      "the table \(table.name) cannot be written by this program: \(reason); "
        + "synchronize in the program that defines it, make it known to this one (`functions`), or change the "
        + "schema")
  }

  /// The message of the mistake for which SQLite cannot compile a statement; `nil` if it can.
  private func reasonNotToCompile(_ sql: String) -> String? {
    do {
      _ = try prepare(sql)
      return nil
    } catch {
      return error.code.primary == .error ? error.message : nil
    }
  }

  /// The triggers whose text has the name at the end of one of SQLite's messages.
  private func triggers(blamedBy message: String) throws(DatabaseError) -> [String] {
    guard let separator = message.utf8.lastIndex(of: UInt8(ascii: ":")) else { return [] }
    let name = message[separator...].dropFirst(2)
    let listing = try prepare(
      """
      SELECT name FROM (SELECT * FROM main.sqlite_schema UNION ALL SELECT * FROM temp.sqlite_schema)
      WHERE type = 'trigger' AND instr(lower(sql), lower(?)) ORDER BY name
      """)
    try listing.bind([.text(String(name))])
    var names: [String] = []
    while try listing.step() {
      if case .text(let name) = try listing.value(at: 0) { names.append(name) }
    }
    return names
  }
}
