public import TandemDifferences
public import TandemRecords

/// The comparison of two databases: their tables with columns, keys, other declarations and rows, and
/// their indexes, views and triggers.
///
/// <!-- Snippets/DatabaseCodeInComments.swift databases -->
/// ```swift
/// let comparison = DatabaseComparison(from: backup, to: database)
/// let others = try comparison.forEachTable { table in
///   try table.forEachChange { change in print(table.name, change) }
/// }
/// ```
///
/// Tables of one name are compared by their primary key; if they have none, or not the same one, by
/// whole rows: rows that both tables have equally often are no difference. Memory does not grow with
/// the tables, as long as an index has the order of the key. Tables of SQLite, of Tandem and of virtual
/// tables' own storage are left out.
public struct DatabaseComparison: Sendable {
  /// The database to compare from; `nil` stands for an empty one.
  public var old: Database?
  /// The database to compare with; `nil` stands for an empty one.
  public var new: Database?

  /// An index, view or trigger that differs.
  public struct Object: Hashable, Sendable {
    /// `index`, `view` or `trigger`.
    public var type: String
    /// The name.
    public var name: String
    /// The statement that created it in the old database; `nil` if it is not there.
    public var old: String?
    /// The statement that created it in the new database; `nil` if it is not there.
    public var new: String?
  }

  /// Compares `old` with `new`.
  public init(from old: Database?, to new: Database?) {
    self.old = old
    self.new = new
  }

  /// Calls `body` with each table of either database, in the order of their names, and returns the
  /// indexes, views and triggers that differ. Each database is read in one transaction. Blocks this
  /// thread.
  ///
  /// - Throws: ``DatabaseError`` if a database cannot be read; the error that `body` throws.
  public func forEachTable(_ body: (Table) throws -> Void) throws -> [Object] {
    try Self.read(old) { oldConnection in
      try Self.read(old === new ? nil : new) { newConnection in
        try forEachTable(oldConnection, old === new ? oldConnection : newConnection, body)
      }
    }
  }

  private static func read<Result>(
    _ database: Database?, _ body: (DatabaseConnection?) throws -> Result
  ) throws -> Result {
    guard let database else { return try body(nil) }
    return try database.read { transaction in
      // Before anything is read, so that pages can be compared too.
      try transaction.connection.beginSnapshot()
      return try body(transaction.connection)
    }
  }

  private func forEachTable(
    _ old: DatabaseConnection?, _ new: DatabaseConnection?, _ body: (Table) throws -> Void
  ) throws -> [Object] {
    let oldNames = try old?.comparedTableNames() ?? []
    let newNames = try new?.comparedTableNames() ?? []
    var names = oldNames
    for name in newNames where !oldNames.contains(where: name.isSameSQLName) { names.append(name) }
    for name in names.sorted() {
      let (oldSchema, newSchema) = (try old?.schema(ofTable: name), try new?.schema(ofTable: name))
      try body(
        Table(
          name: name, old: oldSchema, new: newSchema,
          declarationChange: try Self.declarationChange(
            old?.declaration(ofTable: name), new?.declaration(ofTable: name)),
          hasNullKeys: try old?.hasNullKeys(oldSchema) == true
            || new?.hasNullKeys(newSchema) == true,
          oldConnection: old, newConnection: new))
    }
    let (oldObjects, newObjects) = (try old?.objects() ?? [:], try new?.objects() ?? [:])
    return Set(oldObjects.keys).union(newObjects.keys).compactMap { id in
      if let old = oldObjects[id], let new = newObjects[id], UTF8Order.areEqual(old, new) {
        return nil
      }
      return Object(type: id.type, name: id.name, old: oldObjects[id], new: newObjects[id])
    }
    .sorted { ($0.type, $0.name) < ($1.type, $1.name) }
  }

  private static func declarationChange(_ old: String?, _ new: String?) -> (
    old: String, new: String
  )? {
    guard let old, let new, TableDeclaration(old).differs(from: TableDeclaration(new))
    else { return nil }
    return (old, new)
  }
}

extension DatabaseComparison {
  /// A table of one name in both databases, or in one of them.
  public struct Table {
    /// The name.
    public let name: String
    /// The columns and the key in the old database; `nil` if the table is not there.
    public let old: TableSchema?
    /// The columns and the key in the new database; `nil` if the table is not there.
    public let new: TableSchema?
    /// The statements that created the tables, if they declare something besides the names and types of columns in
    /// different ways, such as `UNIQUE`, `CHECK`, `DEFAULT` or `STRICT`. White space, comments, the order of
    /// columns and columns that only one of the tables has do not count.
    public let declarationChange: (old: String, new: String)?
    /// True if a row has a null in the primary key, which SQLite permits in most tables. Rows are compared as wholes
    /// then.
    package let hasNullKeys: Bool
    fileprivate let oldConnection: DatabaseConnection?
    fileprivate let newConnection: DatabaseConnection?

    /// The columns by which rows are compared: the primary key, or all that both tables have if it identifies no
    /// rows.
    public var key: [String] {
      let schema = old ?? new
      let key = schema?.primaryKey ?? []
      if hasKey { return key }
      guard let old, let new else { return schema?.columnNames ?? [] }
      return old.columnNames.filter { new.column(named: $0) != nil }
    }

    /// True if the primary key identifies a row in both tables.
    private var hasKey: Bool {
      if hasNullKeys { return false }
      guard let old, let new else { return (old ?? new)?.primaryKey.isEmpty == false }
      return !old.primaryKey.isEmpty && Self.areSame(old.primaryKey, new.primaryKey)
    }

    private static func areSame(_ first: [String], _ second: [String]) -> Bool {
      first.count == second.count && zip(first, second).allSatisfy { $0.isSameSQLName(as: $1) }
    }

    /// The columns that only one of the tables has, or that have different declared types, with these
    /// types; empty unless both databases have the table.
    public var columnChanges: [(name: String, old: String?, new: String?)] {
      guard let old, let new else { return [] }
      let changed = old.columns.compactMap {
        column -> (name: String, old: String?, new: String?)? in
        let other = new.column(named: column.name)?.declaredType
        if let other, other.isSameSQLName(as: column.declaredType) { return nil }
        return (column.name, column.declaredType, other)
      }
      return changed
        + new.columns.filter { old.column(named: $0.name) == nil }
        .map { ($0.name, nil, $0.declaredType) }
    }

    /// The primary keys, if they differ.
    public var keyChange: (old: [String], new: [String])? {
      guard let old, let new, !Self.areSame(old.primaryKey, new.primaryKey) else { return nil }
      return (old.primaryKey, new.primaryKey)
    }

    /// True if one database does not have the table, or its columns, key or other declarations differ.
    public var hasSchemaChange: Bool {
      old == nil || new == nil || !columnChanges.isEmpty || keyChange != nil
        || declarationChange != nil
    }

    /// True if a column has another value in each row of both tables, and no null.
    ///
    /// - Complexity: O(*n*) with an index of the column, otherwise O(*n* log *n*).
    package func identifiesRows(_ column: String) throws(DatabaseError) -> Bool {
      for (schema, connection) in [(old, oldConnection), (new, newConnection)] {
        guard let schema, let connection, schema.column(named: column) != nil,
          try connection.identifiesRows(column, of: schema)
        else { return false }
      }
      return true
    }

    /// Calls `body` with each change of a row, in the order of the key.
    ///
    /// - Throws: ``DatabaseError`` if a table cannot be read; the error that `body` throws.
    public func forEachChange(_ body: (SetChange<Record>) throws -> Void) throws {
      if let old, let new, let oldConnection, let newConnection {
        guard !key.isEmpty else {
          try Self.forEachRow(of: old, key: old.columnNames, oldConnection) {
            try body(.deleted($0))
          }
          try Self.forEachRow(of: new, key: new.columnNames, newConnection) {
            try body(.inserted($0))
          }
          return
        }
        var comparison = TableComparison(from: old, to: new, key: key)
        comparison.allowsAnyKey = !hasKey
        try comparison.forEachChange(from: oldConnection, to: newConnection, body)
      } else if let old, let oldConnection {
        try Self.forEachRow(of: old, key: key, oldConnection) { try body(.deleted($0)) }
      } else if let new, let newConnection {
        try Self.forEachRow(of: new, key: key, newConnection) { try body(.inserted($0)) }
      }
    }

    private static func forEachRow(
      of schema: TableSchema, key: [String], _ connection: DatabaseConnection,
      _ body: (Record) throws -> Void
    ) throws {
      guard let layout = RecordLayout(schema.columnNames) else { return }
      let offsets = key.compactMap { name in
        schema.columns.firstIndex { $0.name.isSameSQLName(as: name) }
      }
      let scan = try TableScan(
        connection, table: schema, columns: layout, key: offsets, allowsAnyKey: true)
      while try scan.advance() { try body(scan.record()) }
    }
  }
}

extension DatabaseConnection {
  /// True if a row of a table has a null in its primary key.
  fileprivate func hasNullKeys(_ schema: TableSchema?) throws(DatabaseError) -> Bool {
    guard let schema, !schema.primaryKey.isEmpty else { return false }
    let rows = schema.primaryKey.map {
      "SELECT 1 FROM \(schema.name.sqlQuoted) WHERE \($0.sqlQuoted) IS NULL"
    }
    return try integer("SELECT EXISTS (\(rows.joined(separator: " UNION ALL ")))") == 1
  }

  /// True if a column has another value in each row of a table, and no null.
  fileprivate func identifiesRows(
    _ column: String, of schema: TableSchema
  ) throws(DatabaseError) -> Bool {
    let (table, column) = (schema.name.sqlQuoted, column.sqlQuoted)
    return try integer(
      """
      SELECT NOT EXISTS (
        SELECT 1 FROM \(table) GROUP BY \(column) COLLATE BINARY
        HAVING count(*) > 1 OR \(column) IS NULL)
      """) == 1
  }

  /// The names of the application's tables without the storage of virtual tables.
  fileprivate func comparedTableNames() throws(DatabaseError) -> [String] {
    let shadows = try prepare("SELECT name FROM pragma_table_list WHERE type = 'shadow'").texts()
    return try tableNames().filter { !shadows.contains($0) }
  }

  /// The statements that created indexes, views and triggers, without those of SQLite and of Tandem.
  fileprivate func objects() throws(DatabaseError) -> [ObjectID: String] {
    let statement = try prepare(
      """
      SELECT type, name, sql FROM sqlite_schema
      WHERE type IN ('index', 'view', 'trigger') AND sql IS NOT NULL
        AND name NOT LIKE 'tandem@_%' ESCAPE '@' AND tbl_name NOT LIKE 'tandem@_%' ESCAPE '@'
      """)
    var objects: [ObjectID: String] = [:]
    while try statement.step() {
      guard case .text(let type) = try statement.value(at: 0),
        case .text(let name) = try statement.value(at: 1),
        case .text(let sql) = try statement.value(at: 2)
      else { continue }
      objects[ObjectID(type: type, name: name)] = sql
    }
    return objects
  }
}

/// An index, view or trigger.
private struct ObjectID: Hashable {
  var type: String
  var name: String
}
