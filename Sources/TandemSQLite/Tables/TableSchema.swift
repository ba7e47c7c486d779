package import TandemRecords

/// The columns and the key of a table, as the database declares them.
public struct TableSchema: Hashable, Sendable {
  /// One column.
  public struct Column: Hashable, Sendable {
    /// The name, as declared.
    public var name: String
    /// The type, as declared, though SQLite may write it in upper case; empty if none is.
    public var declaredType: String
    /// The conversions that the column applies to values stored in it.
    package var affinity: ColumnAffinity
    /// True if the column computes its value, so that none can be written.
    public var isGenerated: Bool
  }

  /// The name, as declared.
  public var name: String
  /// The columns, in order; hidden ones of virtual tables are left out.
  public var columns: [Column]
  /// The columns of the primary key, in its order; empty if none is declared.
  public var primaryKey: [String]
  /// True if it is a view, which cannot be written.
  public var isView: Bool
  /// True if it is declared as STRICT.
  package var isStrict: Bool

  /// The names of the columns, in order.
  public var columnNames: [String] { columns.map(\.name) }

  /// The ways to read the cells of CSV that go into the columns, by name. No cell of a key depends on others.
  package func cellKinds(key: [String]) -> [String: CSVColumnKind] {
    Dictionary(
      columns.map { column in
        switch column.affinity {
        case .text: (column.name, .texts)
        case .integer, .real, .numeric: (column.name, .numbers)
        case .none:
          (column.name, key.contains(where: column.name.isSameSQLName) ? .printedNumbers : .any)
        }
      }, uniquingKeysWith: { first, _ in first })
  }

  /// The column of a name, which SQLite compares without regard to the case of ASCII letters.
  public func column(named name: String) -> Column? {
    columns.first { $0.name.isSameSQLName(as: name) }
  }
}

extension TableSchema: CustomStringConvertible {
  /// `place (id INTEGER, name TEXT), key id`.
  public var description: String {
    let columns = columns.map {
      $0.declaredType.isEmpty ? $0.name : "\($0.name) \($0.declaredType)"
    }
    let key = primaryKey.isEmpty ? "" : ", key \(primaryKey.joined(separator: ", "))"
    return "\(name) (\(columns.joined(separator: ", ")))\(key)"
  }
}

extension DatabaseTransaction {
  /// The schema of a table or view, or `nil` if there is none of that name.
  ///
  /// - Throws: ``DatabaseError``.
  public func schema(ofTable name: String) throws(DatabaseError) -> TableSchema? {
    try connection.schema(ofTable: name)
  }

  /// The names of the application's tables, sorted: without those of SQLite and of Tandem.
  ///
  /// - Throws: ``DatabaseError``.
  public func tableNames() throws(DatabaseError) -> [String] { try connection.tableNames() }
}

extension DatabaseConnection {
  /// The statement that created a table; `nil` if there is no such table.
  package func declaration(ofTable name: String) throws(DatabaseError) -> String? {
    try texts(
      "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE", name
    ).first
  }

  /// The statements of a table's indexes and triggers, in the order in which they were created.
  func additions(toTable name: String) throws(DatabaseError) -> [String] {
    try texts(
      """
      SELECT sql FROM sqlite_schema
      WHERE type IN ('index', 'trigger') AND tbl_name = ? COLLATE NOCASE AND sql IS NOT NULL
      ORDER BY rowid
      """, name)
  }

  /// The texts in the first column of a query.
  private func texts(
    _ sql: String, _ parameter: String
  ) throws(DatabaseError) -> [String] {
    let statement = try prepare(sql)
    try statement.bind([.text(parameter)])
    return try statement.texts()
  }

  /// The schema of a table or view, or `nil` if there is none of that name.
  package func schema(ofTable name: String) throws(DatabaseError) -> TableSchema? {
    guard let (name, isView) = try declaredName(ofTable: name) else { return nil }
    let isStrict = try withStatement(
      "SELECT strict FROM pragma_table_list(?) WHERE schema = 'main'"
    ) { statement throws(DatabaseError) in
      try statement.bind([.text(name)])
      return try statement.step() && statement.column(0).integer == 1
    }
    var schema = TableSchema(
      name: name, columns: [], primaryKey: [], isView: isView, isStrict: isStrict)
    var keyParts: [(position: Int64, name: String)] = []
    try withStatement("SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)") {
      statement throws(DatabaseError) in
      try statement.bind([.text(name)])
      while try statement.step() {
        let hidden = statement.column(3).integer
        guard hidden != 1, case .text(let column) = try statement.value(at: 0),
          case .text(let declaredType) = try statement.value(at: 1)
        else { continue }
        let keepsAll = isStrict && declaredType.isSameSQLName(as: "ANY")
        let affinity = keepsAll ? ColumnAffinity.none : ColumnAffinity(declaredType: declaredType)
        schema.columns.append(
          .init(
            name: column, declaredType: declaredType, affinity: affinity, isGenerated: hidden > 1))
        let position = statement.column(2).integer
        if position > 0 { keyParts.append((position, column)) }
      }
    }
    schema.primaryKey = keyParts.sorted { $0.position < $1.position }.map(\.name)
    return schema
  }

  /// The name of a table or view as it is declared; `nil` if there is none of that name.
  private func declaredName(
    ofTable name: String
  ) throws(DatabaseError) -> (name: String, isView: Bool)? {
    try withStatement(
      """
      SELECT name, type FROM sqlite_schema
      WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE
      """
    ) { found throws(DatabaseError) in
      try found.bind([.text(name)])
      guard try found.step(), case .text(let name) = try found.value(at: 0),
        case .text(let type) = try found.value(at: 1)
      else { return nil }
      return (name, type == "view")
    }
  }

  /// The names of the application's tables, sorted: without those of SQLite and of Tandem.
  package func tableNames() throws(DatabaseError) -> [String] {
    let statement = try prepare(
      """
      SELECT name FROM sqlite_schema
      WHERE type = 'table' AND name NOT LIKE 'sqlite@_%' ESCAPE '@'
        AND name NOT LIKE 'tandem@_%' ESCAPE '@'
      ORDER BY name
      """)
    return try statement.texts()
  }
}
