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
  }

  /// The name of the table.
  var name: String { declaration.name }

  /// The table of the former versions that a frozen commit covers.
  var asideName: String { ReplicaTable.asideName(name) }

  /// The table of the former versions of a table's rows that a frozen commit covers.
  static func asideName(_ table: String) -> String { "tandem_aside_\(table)" }

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
}

// MARK: - Statements

extension ReplicaTable {
  var keyNames: [String] { declaration.keyColumns }
  var columnNames: [String] { declaration.columns }
  /// The condition that a row has a key byte by byte. Its values are the first parameters.
  var hasKey: String { statements.hasKey }
}

extension SpaceTable {
  /// The condition that two tables have a row of the same key, byte by byte: `row` is the alias of
  /// the application's table, whose index it uses.
  func sameKey(_ row: String, _ other: String) -> String {
    keyColumns.map { name in
      let pair = "\(row).\(name.sqlQuoted) = \(other).\(name.sqlQuoted)"
      return "\(pair) AND \(pair) COLLATE BINARY"
    }
    .joined(separator: " AND ")
  }
}

/// The statements on the rows of a table and of its shadow. The first parameters of each are the
/// values of the key, except for those that concern all rows.
struct RowStatements: Sendable {
  /// The number of rows that ``touched`` and ``touched(after:)`` return at most.
  static let touchedStepCount = 500

  /// The first column of the key and the other columns of a row, then `tandem_existed` and the
  /// columns of its former version. There is always one row, with nulls for what is missing.
  let row: StatementText
  /// The rows with a former version, in the order of their keys: the key, and the columns of ``row``.
  let touched: StatementText
  private let touchedAfter: StatementText
  /// The text before and after the marks of a key that the rows come after.
  private let touchedAfterMarks: (String, String)
  /// `tandem_existed` and the columns of a version that was set aside.
  let aside: StatementText
  let deleteShadow: StatementText
  /// Sets a former version; the values follow the key.
  let replaceShadow: StatementText
  /// Notes that there was no former version.
  let replaceShadowByAbsence: StatementText
  /// Copies a former version to those that were set aside.
  let setAside: StatementText
  /// Copies all former versions. Into an empty table, SQLite copies whole pages.
  let setAllAside: StatementText
  let deleteShadows: StatementText
  let countShadows: String
  /// The insertion of a row whose values need no defaults; they follow the key. `OR ABORT` is
  /// explained at ``ReplicaTables/store(_:over:_:_:others:)``.
  let insert: StatementText
  private let insertInto: String
  /// The beginning of an update, which assignments and the condition on the key follow.
  private let updateSet: String
  let delete: StatementText
  let hasKey: String

  init(_ table: SpaceTable, _ shadow: TableShadow) {
    let (keys, columns) = (table.keyColumns, table.columns)
    let name = table.name.sqlQuoted
    let shadowName = shadow.name.sqlQuoted
    let asideName = ReplicaTable.asideName(table.name).sqlQuoted
    func list(_ alias: String, _ names: [String]) -> String {
      names.map { "\(alias).\($0.sqlQuoted)" }.joined(separator: ", ")
    }
    func marks(_ numbers: Range<Int>) -> String {
      numbers.map { "?\($0 + 1)" }.joined(separator: ", ")
    }
    /// The condition on the key of a table of former versions, whose collation compares bytes.
    func condition(_ alias: String = "") -> String {
      keys.enumerated().map { "\(alias)\($1.sqlQuoted) = ?\($0 + 1)" }
        .joined(separator: " AND ")
    }
    func rowCondition(_ alias: String = "") -> String {
      keys.enumerated().map { offset, key in
        let pair = "\(alias)\(key.sqlQuoted) = ?\(offset + 1)"
        return "\(pair) AND \(pair) COLLATE BINARY"
      }.joined(separator: " AND ")
    }
    row = StatementText(
      """
      SELECT \(list("t", [keys[0]] + columns)), \(list("s", [TableShadow.existed] + columns))
      FROM (SELECT 1) LEFT JOIN \(name) AS t ON \(rowCondition("t."))
        LEFT JOIN \(shadowName) AS s ON \(condition("s."))
      """)
    let touched = """
      SELECT \(list("s", keys)), \(list("t", [keys[0]] + columns)),
        \(list("s", [TableShadow.existed] + columns))
      FROM \(shadowName) AS s LEFT JOIN \(name) AS t ON \(table.sameKey("t", "s"))
      """
    let order = "ORDER BY \(list("s", keys)) LIMIT \(RowStatements.touchedStepCount)"
    self.touched = StatementText("\(touched) \(order)")
    touchedAfterMarks = ("\(touched) WHERE (\(list("s", keys))) > (", ") \(order)")
    touchedAfter = StatementText(
      "\(touchedAfterMarks.0)\(marks(0..<keys.count))\(touchedAfterMarks.1)")
    aside = StatementText(
      """
      SELECT \(([TableShadow.existed] + columns).sqlList) FROM \(asideName) WHERE \(condition())
      """)
    deleteShadow = StatementText("DELETE FROM \(shadowName) WHERE \(condition())")
    let kept = (keys + columns + [TableShadow.existed]).sqlList
    // Not by REPLACE, which would write the entry of the index anew.
    let assigned = (columns + [TableShadow.existed]).map {
      "\($0.sqlQuoted) = excluded.\($0.sqlQuoted)"
    }
    let replacement = """
      ON CONFLICT (\(keys.sqlList)) DO UPDATE SET \(assigned.joined(separator: ", "))
      """
    let count = keys.count + columns.count
    replaceShadow = StatementText(
      "INSERT INTO \(shadowName) (\(kept)) VALUES (\(marks(0..<count)), 1) \(replacement)")
    let nulls = columns.map { _ in ", NULL" }.joined()
    replaceShadowByAbsence = StatementText(
      """
      INSERT INTO \(shadowName) (\(kept)) VALUES (\(marks(0..<keys.count))\(nulls), 0) \(replacement)
      """)
    let copy = "INSERT OR REPLACE INTO \(asideName) SELECT * FROM \(shadowName)"
    setAllAside = StatementText(copy)
    setAside = StatementText("\(copy) WHERE \(condition())")
    deleteShadows = StatementText("DELETE FROM \(shadowName)")
    countShadows = "SELECT count(*) FROM \(shadowName)"
    hasKey = rowCondition()
    insertInto = """
      INSERT OR ABORT INTO \(name) (\((keys + columns).sqlList)) VALUES (\(marks(0..<keys.count))
      """
    insert = RowStatements.insertion(insertInto, (keys.count..<count).map { "?\($0 + 1)" })
    updateSet = "UPDATE OR ABORT \(name) SET "
    delete = StatementText("DELETE FROM \(name) WHERE \(hasKey)")
  }

  /// The insertion of a row with these expressions for the values of its columns.
  func insertion(_ expressions: [String]) -> StatementText {
    RowStatements.insertion(insertInto, expressions)
  }

  private static func insertion(_ start: String, _ expressions: [String]) -> StatementText {
    StatementText("\(start)\(expressions.map { ", \($0)" }.joined()))")
  }

  /// The update of a row by these assignments.
  func update(_ assignments: [String]) -> StatementText {
    StatementText("\(updateSet)\(assignments.joined(separator: ", ")) WHERE \(hasKey)")
  }

  /// The rows with a former version after a key, whose values are the parameters.
  func touched(after key: KeyPage.Position) -> StatementText {
    guard key.isRaw else { return touchedAfter }
    let marks = key.marks.joined(separator: ", ")
    return StatementText("\(touchedAfterMarks.0)\(marks)\(touchedAfterMarks.1)")
  }
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
        throw ReplicaError(
          code,
          "the table \(table.name) cannot be written by this program: \(message)\(place); "
            + "synchronize in the program that defines it, or change the schema")
      }
    }
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

/// The synchronized tables of a file.
package struct ReplicaSchema: Sendable {
  /// The tables, in the order in which they were attached.
  package let tables: [ReplicaTable]
  /// The foreign keys that refer to them, those of other tables included.
  let foreignKeys: [ForeignKey]

  init(_ declarations: [SpaceTable], in connection: DatabaseConnection) throws {
    tables = try declarations.map { try ReplicaTable($0, in: connection) }
    foreignKeys = try connection.foreignKeys(to: tables)
  }

  /// The table of a name, which is compared byte by byte as in messages.
  func table(named name: String) -> ReplicaTable? {
    tables.first { UTF8Order.areEqual($0.name, name) }
  }
}
