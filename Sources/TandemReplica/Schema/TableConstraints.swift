internal import TandemRecords
internal import TandemSQLite
package import TandemSync

/// The rules of a table that span rows or fields, as the file declares them.
struct TableConstraints {
  /// Those that the space can check.
  private(set) var declared: [SpaceConstraint] = []
  /// The references that rows of the file break.
  private(set) var broken: [SpaceConstraint] = []
  /// What the space cannot check, in sentences for people.
  private(set) var notices: [String] = []

  /// The expression of each `CHECK`, and the synchronized columns that it names.
  private(set) var checks: [(text: String, names: [FieldName])] = []

  let table: SpaceTable
  let connection: DatabaseConnection
  private let sql: SQLTokens
  /// The references that the file has declared already, so that no row breaks them unless a program breaks its own rules.
  private let known: [SpaceConstraint]

  /// - Parameters:
  ///   - tables: The synchronized tables.
  ///   - known: The rules that the file has declared already.
  /// - Complexity: O(*n* log *n*) in the number of rows if a foreign key is new.
  init(
    of table: SpaceTable, among tables: [SpaceTable], in connection: DatabaseConnection,
    known: [SpaceConstraint] = []
  ) throws {
    self.table = table
    self.known = known
    self.connection = connection
    sql = SQLTokens(try connection.declaration(ofTable: table.name) ?? "")
    try addUniqueColumns()
    addChecks()
    try addReferences(to: tables)
  }

  private mutating func add(_ constraint: SpaceConstraint) {
    if !declared.contains(constraint) { declared.append(constraint) }
  }

  /// The synchronized column of a name, as declared.
  func column(_ name: String) -> FieldName? {
    (table.keyColumns + table.columns).first(where: name.isSameSQLName).map { FieldName($0) }
  }
}

// MARK: - Unique columns

extension TableConstraints {
  private mutating func addUniqueColumns() throws {
    let indexes = try connection.rows(
      """
      SELECT i.name, i.origin, i.partial, s.sql FROM pragma_index_list(?, 'main') AS i
        LEFT JOIN sqlite_schema AS s ON s.type = 'index' AND s.name = i.name
      WHERE i."unique" ORDER BY i.name
      """, [.text(table.name)])
    for index in indexes {
      guard let name = index[0].textValue else { continue }
      let columns = try uniqueColumns(of: name)
      if let columns, index[2] == 0 {
        // Keys are unique already, byte by byte.
        let isKey = index[1] == "pk"
        if !isKey || columns.contains(where: { $0.collation != .binary }) { add(.unique(columns)) }
      } else {
        let sql = try definition(of: name, index[3].textValue)
        if let index = try self.index(name, sql) {
          add(.index(index))
        } else {
          notices.append(
            "the space does not check the unique index \(name) of \(table.name), because it needs a function, a "
              + "collation or a column that other copies may lack: rows that it refuses wait beside the table "
              + "(`keptEdits(.rejected)`)")
        }
        addUnit(names(of: sql.tokens, in: sql))
      }
    }
  }

  /// The statement that creates an index, the same for indexes that differ in white space only.
  ///
  /// - Parameter text: `nil` for the index of a table constraint.
  private func definition(of index: String, _ text: String?) throws -> SQLTokens {
    var terms = ""
    if let text {
      let sql = SQLTokens(text)
      var end: Int?
      for token in sql.tokens.drop(while: { !sql.isSymbol($0, "(") }) {
        if let end, end < token.range.lowerBound { terms += " " }
        terms += sql.text(token.range)
        end = token.range.upperBound
      }
    } else {
      let rows = try connection.rows(
        "SELECT name, coll FROM pragma_index_xinfo(?, 'main') WHERE key ORDER BY seqno",
        [.text(index)])
      let columns = rows.map { row in
        (row[0].textValue ?? "").sqlQuoted + " COLLATE " + (row[1].textValue ?? "BINARY").sqlQuoted
      }
      terms = "(\(columns.joined(separator: ", ")))"
    }
    // SQLite reserves the names of its own indexes.
    let name = text == nil ? "unique_\(index)" : index
    return SQLTokens(
      "CREATE UNIQUE INDEX \(name.sqlQuoted) ON \(table.name.sqlQuoted) \(terms)")
  }

  /// An index whose values copies can compute; `nil` if not every copy can.
  private func index(_ name: String, _ sql: SQLTokens) throws -> SpaceIndex? {
    guard try connection.hasUTF8Texts(), let schema = try connection.schema(ofTable: table.name)
    else { return nil }
    let names = names(of: sql.tokens, in: sql)
    var columns: [ComparedColumn] = []
    for column in schema.columns where names.contains(where: column.name.isSameSQLName) {
      let expression =
        column.isGenerated ? self.sql.expression(ofColumn: column.name).map(text) : nil
      guard let name = column.isGenerated ? FieldName(column.name) : self.column(column.name),
        column.isGenerated == (expression != nil),
        let collation = connection.collation(
          of: ColumnOrigin(table: table.name, column: column.name)
        ).flatMap(ComparedColumn.Collation.init(name:))
      else { return nil }
      columns.append(
        ComparedColumn(name, collation, column.affinity.ofComparison, as: expression))
    }
    let index = SpaceIndex(name: name, sql: sql.statement, columns: columns)
    return (try? IndexValues(index, of: table)) == nil ? nil : index
  }

  /// The text of tokens of the statement that creates the table.
  private func text(_ tokens: [SQLToken]) -> String {
    guard let first = tokens.first, let last = tokens.last else { return "" }
    return sql.text(first.range.lowerBound..<last.range.upperBound)
  }

  /// The columns of a unique index; `nil` if the space cannot compare their values.
  private func uniqueColumns(of index: String) throws -> [ComparedColumn]? {
    let rows = try connection.rows(
      "SELECT name, coll FROM pragma_index_xinfo(?, 'main') WHERE key ORDER BY seqno",
      [.text(index)])
    var columns: [ComparedColumn] = []
    for row in rows {
      guard let name = row[0].textValue.flatMap(column),
        let collation = row[1].textValue.flatMap(ComparedColumn.Collation.init(name:))
      else { return nil }
      columns.append(ComparedColumn(name, collation))
    }
    return columns
  }
}

extension ComparedColumn.Collation {
  /// The collation of a name, if it is one of SQLite's own.
  init?(name: String) { self.init(rawValue: name.uppercased()) }
}

// MARK: - Columns that belong together

extension TableConstraints {
  private mutating func addChecks() {
    for place in sql.tokens.indices where sql.isWord(sql.tokens[place], "CHECK") {
      let depth = sql.tokens[place].depth
      let rest = sql.tokens[(place + 1)...].dropFirst()
      let tokens = Array(rest.prefix { $0.depth > depth })
      let names = names(of: tokens, in: sql)
      checks.append((sql.line(of: tokens), names.compactMap(column)))
      addUnit(names)
    }
  }

  /// Adds the synchronized columns of these names as a unit, without those of the key.
  private mutating func addUnit(_ names: [String]) {
    let columns = table.columns.filter { column in names.contains(where: column.isSameSQLName) }
    guard !columns.isEmpty else { return }
    add(.together(columns.map { FieldName($0) }.sorted { UTF8Order.precedes($0.text, $1.text) }))
  }

  /// The names in SQL, and those in the expressions of generated columns that it names. Any name counts, so that these
  /// may be more than a rule depends on.
  private func names(of tokens: [SQLToken], in text: SQLTokens) -> [String] {
    var found: [String] = []
    var queue = tokens.compactMap(text.name)
    while let name = queue.popLast() {
      guard !found.contains(where: name.isSameSQLName) else { continue }
      found.append(name)
      queue += (self.sql.expression(ofColumn: name) ?? []).compactMap(sql.name)
    }
    return found
  }
}

// MARK: - References

extension TableConstraints {
  private mutating func addReferences(to tables: [SpaceTable]) throws {
    let rows = try connection.rows(
      "SELECT id, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list(?, 'main') ORDER BY id, seq",
      [.text(table.name)])
    for (id, columns) in Dictionary(grouping: rows, by: { $0[0] }).sorted(by: { $0.key < $1.key }) {
      let parent = columns[0][1].textValue ?? ""
      guard tables.contains(where: { parent.isSameSQLName(as: $0.name) }) else {
        notices.append(
          "\(table.name) refers to \(parent), which is not attached: other copies may get rows of \(table.name) "
            + "without those that they refer to; attach both")
        continue
      }
      guard let reference = reference(columns, to: tables) else { continue }
      if known.contains(reference) {
        add(reference)
        continue
      }
      // SQLite fails if the parent has no unique columns for a foreign key of the table.
      guard
        let count = try? connection.rows(
          "SELECT count(*) FROM pragma_foreign_key_check(?, 'main') WHERE fkid = ?",
          [.text(table.name), id]
        ).first?[0].integerValue
      else { continue }
      if count > 0 {
        broken.append(reference)
        notices.append(
          "\(count) row\(count == 1 ? "" : "s") of \(table.name) refer\(count == 1 ? "s" : "") to rows of "
            + "\(parent) that do not exist: this file does not declare the foreign key until they do "
            + "(PRAGMA foreign_key_check(\(table.name.sqlQuoted)))")
      } else {
        add(reference)
      }
    }
  }

  /// The reference of a foreign key; `nil` if the space cannot check it.
  private func reference(
    _ rows: [[FieldValue]], to tables: [SpaceTable]
  ) -> SpaceConstraint? {
    guard let name = rows.first?[1].textValue,
      let parent = tables.first(where: { name.isSameSQLName(as: $0.name) }),
      let schema = try? connection.schema(ofTable: parent.name)
    else { return nil }
    var columns: [FieldName] = []
    var parents: [ComparedColumn] = []
    for (position, row) in rows.enumerated() {
      let target =
        row[3].textValue
        ?? (position < parent.keyColumns.count ? parent.keyColumns[position] : nil)
      guard let column = row[2].textValue.flatMap(column), let target,
        let other = (parent.keyColumns + parent.columns).first(where: target.isSameSQLName),
        let affinity = schema.column(named: other)?.affinity,
        let collation = connection.collation(of: ColumnOrigin(table: parent.name, column: other))
          .flatMap(ComparedColumn.Collation.init(name:))
      else { return nil }
      columns.append(column)
      parents.append(ComparedColumn(FieldName(other), collation, affinity.ofComparison))
    }
    return .reference(columns, to: FieldName(parent.name), parents)
  }
}

extension ColumnAffinity {
  fileprivate var ofComparison: ComparedColumn.Affinity {
    switch self {
    case .text: .text
    case .numeric: .numeric
    case .integer: .integer
    case .real: .real
    case .none: .blob
    }
  }
}

extension ReplicaTables {
  /// Throws if the space checks a reference that rows of the file break: it would refuse these rows.
  package func checkReferences(_ tables: [SpaceTable], inSpace known: [SpaceTable]) throws {
    for table in tables {
      let constraints = try TableConstraints(of: table, among: tables, in: connection)
      let checked = known.table(named: table.name)?.constraints ?? []
      guard constraints.broken.contains(where: checked.contains) else { continue }
      throw ReplicaError(
        .unsuitable,
        "the table \(table.name) has rows that refer to rows which do not exist, and other copies of the space have "
          + "declared this foreign key: correct them first (PRAGMA foreign_key_check(\(table.name.sqlQuoted)))"
      )
    }
  }

  /// What the space cannot check of the attached tables, what triggers derive, and what other copies define otherwise, in
  /// sentences for people.
  package func notices() throws -> [String] {
    let tables = try declarations()
    return try tables.flatMap {
      try TableConstraints(of: $0, among: tables, in: connection).notices
    }
      + foreignTriggers().derivedColumns.map { trigger, table, column in
        "the trigger \(trigger) writes \(table).\(column), which is synchronized: a value that is derived from other rows "
          + "cannot stay right when edits of several copies are merged; leave the column out (`AttachedTable.columns`), "
          + "so that the trigger computes it in each copy"
      } + definitionNotices()
  }

  /// These tables with the rules that span rows or fields, and the definitions of their columns.
  ///
  /// - Parameters:
  ///   - stored: The tables as the file has declared them already; none while it is being attached.
  ///   - policies: The policies for columns.
  /// - Throws: Also ``ReplicaError`` with code `unsuitable` if a row of a file that is being attached refers to a number
  ///   which no row has, and which the space would give to a row of another copy.
  func constrained(
    _ tables: [SpaceTable], stored: [SpaceTable] = [],
    _ policies: [(table: String, column: String, policy: String)]
  ) throws -> [SpaceTable] {
    let numbered = tables.filter(\.isNumbered).map { FieldName($0.name) }
    return try tables.map { table in
      var constrained = table
      let known = stored.table(named: table.name)?.constraints ?? []
      let constraints = try TableConstraints(
        of: table, among: tables, in: connection, known: known)
      for case .reference(_, to: let parent, _) in constraints.broken
      where stored.isEmpty && numbered.contains(parent) {
        throw ReplicaError(
          .unsuitable,
          "the table \(table.name) has rows that refer to rows of \(parent.text) which do not exist: they would "
            + "belong to the rows of other copies that get these numbers. Correct or delete them first "
            + "(PRAGMA foreign_key_check(\(table.name.sqlQuoted)))")
      }
      constrained.constraints = constraints.declared
      let own = policies.filter { UTF8Order.areEqual($0.table, table.name) }
      constrained.definitions = try constraints.definitions(
        Dictionary(own.map { (FieldName($0.column), $0.policy) }) { $1 })
      return constrained
    }
  }
}

extension SpaceTable {
  /// The units of conflict of several fields: columns that belong together. Those that share a column are one.
  var units: [Set<FieldName>] {
    var units: [Set<FieldName>] = []
    for case .together(let names) in constraints ?? [] {
      var unit = Set(names)
      for other in units where !other.isDisjoint(with: unit) { unit.formUnion(other) }
      units.removeAll { !$0.isDisjoint(with: unit) }
      units.append(unit)
    }
    return units.filter { $0.count > 1 }
  }
}
