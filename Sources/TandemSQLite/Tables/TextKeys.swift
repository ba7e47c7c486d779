internal import TandemRecords

/// The conversion of keys that are numbers to random texts, with all columns that refer to them by foreign keys:
/// directly, or by a column that refers to them.
struct TextKeys {
  /// A column, by the names that its table declares.
  private struct Column: Hashable {
    let table: String
    let name: String

    var text: String { "\(table).\(name)" }
  }

  private let connection: DatabaseConnection
  /// The tables of the file.
  private let schemas: [TableSchema]
  /// The columns of foreign keys, with those that they refer to.
  private var references: [(child: Column, parent: Column)] = []
  /// The columns that become texts, and the key of a named table whose values each has.
  private var keys: [(column: Column, root: Column)] = []

  /// Finds the columns that change with the keys of tables.
  ///
  /// - Throws: ``DatabaseError`` if a table does not allow it, with the reason and a remedy.
  init(_ names: [String], in connection: DatabaseConnection) throws(DatabaseError) {
    self.connection = connection
    var schemas: [TableSchema] = []
    let tables = try connection.rows(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' ORDER BY name")
    for row in tables {
      guard let name = row[0].textValue, let schema = try connection.schema(ofTable: name) else {
        continue
      }
      schemas.append(schema)
    }
    self.schemas = schemas
    references = try foundReferences()
    var named: [Column] = []
    for name in names {
      let key = try numberedKey(ofTable: name)
      if !named.contains(key) { named.append(key) }
    }
    var changed = named
    var next = 0
    while next < changed.count {
      for reference in references where reference.parent == changed[next] {
        if !changed.contains(reference.child) { changed.append(reference.child) }
      }
      next += 1
    }
    for column in changed {
      keys.append((column, try root(of: column, changed: changed, named: named)))
    }
    for key in keys { try check(key.column, key.root) }
  }

  /// The references by foreign keys whose parent is a table of the file.
  private func foundReferences() throws(DatabaseError) -> [(child: Column, parent: Column)] {
    let rows = try connection.rows(
      """
      SELECT t.name, f."from", f."table", f."to", f.seq
      FROM sqlite_schema AS t, pragma_foreign_key_list(t.name) AS f
      WHERE t.type = 'table' ORDER BY t.name, f.id, f.seq
      """)
    return rows.compactMap { row in
      guard let child = row[0].textValue, let from = row[1].textValue,
        let childColumn = column(from, of: child), let table = row[2].textValue,
        let parent = schema(table), case .integer(let place) = row[4]
      else { return nil }
      let key = Int(place) < parent.primaryKey.count ? parent.primaryKey[Int(place)] : nil
      guard let to = row[3].textValue ?? key, let parentColumn = column(to, of: table) else {
        return nil
      }
      return (childColumn, parentColumn)
    }
  }

  private func schema(_ name: String) -> TableSchema? {
    schemas.first { $0.name.isSameSQLName(as: name) }
  }

  private func column(_ name: String, of table: String) -> Column? {
    guard let schema = schema(table), let column = schema.column(named: name) else { return nil }
    return Column(table: schema.name, name: column.name)
  }

  /// The key of a table that is named.
  private func numberedKey(ofTable name: String) throws(DatabaseError) -> Column {
    let facts = try connection.rekeyableFacts(name)
    let (table, key) = (facts.schema.name, facts.schema.primaryKey)
    guard let first = key.first else {
      throw connection.rekeyingRefusal("\(table) has no primary key; create it anew with one")
    }
    guard key.count == 1 else {
      throw connection.rekeyingRefusal(
        "the key of \(table) has the columns \(key.joined(separator: ", ")); name the tables that they refer to"
      )
    }
    guard let column = facts.schema.column(named: first), column.affinity != .text else {
      throw connection.rekeyingRefusal("the key \(first) of \(table) is a text already")
    }
    let others = try connection.integer(
      "SELECT count(*) FROM \(table.sqlQuoted) WHERE typeof(\(first.sqlQuoted)) <> 'integer'")
    guard others == 0 else {
      throw connection.rekeyingRefusal(
        "the key \(first) of \(table) has values that are no integers; give these rows numbers first"
      )
    }
    return Column(table: table, name: first)
  }

  /// The key whose values a column has, which it refers to or is.
  private func root(
    of column: Column, changed: [Column], named: [Column]
  ) throws(DatabaseError) -> Column {
    var ancestors = [column]
    var roots: [Column] = []
    var next = 0
    while next < ancestors.count {
      let parents = references.filter { $0.child == ancestors[next] && $0.parent != $0.child }
        .map(\.parent)
      if let other = parents.first(where: { !changed.contains($0) }) {
        throw connection.rekeyingRefusal(
          "\(ancestors[next].text) refers to \(other.text), which would stay a number; "
            + "name the table \(other.table) as well")
      }
      if parents.isEmpty { roots.append(ancestors[next]) }
      for parent in parents where !ancestors.contains(parent) { ancestors.append(parent) }
      next += 1
    }
    guard roots.count == 1, named.contains(roots[0]) else {
      let names = ancestors.map(\.text).joined(separator: ", ")
      throw connection.rekeyingRefusal(
        "the keys of \(column.table) refer to each other or to several tables (\(names)); "
          + "remove one of these foreign keys first")
    }
    return roots[0]
  }

  /// Throws unless a column can hold texts in place of its numbers.
  private func check(_ column: Column, _ root: Column) throws(DatabaseError) {
    _ = try connection.rekeyableFacts(column.table)
    guard schema(column.table)?.column(named: column.name)?.isGenerated == false else {
      throw connection.rekeyingRefusal(
        "\(column.text) is computed and refers to \(root.text); create \(column.table) anew without it"
      )
    }
    let value = try connection.row(
      "SELECT dflt_value FROM pragma_table_info(?) WHERE name = ?",
      [.text(column.table), .text(column.name)])
    // A key gets a default of its own.
    if let value = value?[0].textValue, column == root || !value.isSameSQLName(as: "null") {
      throw connection.rekeyingRefusal(
        "\(column.text) has the default \(value), which would refer to no row; create \(column.table) anew without it"
      )
    }
    guard column != root else { return }
    let orphans = try connection.row(
      """
      SELECT count(*), min(c.\(column.name.sqlQuoted)) FROM \(column.table.sqlQuoted) AS c
      WHERE c.\(column.name.sqlQuoted) IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM \(root.table.sqlQuoted) AS p
        WHERE p.\(root.name.sqlQuoted) = c.\(column.name.sqlQuoted))
      """)
    if let orphans, case .integer(let count) = orphans[0], count > 0 {
      throw connection.rekeyingRefusal(
        "\(column.text) refers to rows of \(root.table) that do not exist, in \(count) rows, such as "
          + "\(orphans[1]); set it to NULL there, or delete these rows")
    }
  }
}

// MARK: - The change

extension TextKeys {
  /// A random UUID of RFC 9562, version 4, as SQLite computes it.
  private static let randomKey = """
    lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) \
    || '-' || substr('89AB', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' \
    || hex(randomblob(6)))
    """

  /// The table that has the new key of each number of a table.
  private static func map(of table: String) -> String { "temp.\("tandem_keys_\(table)".sqlQuoted)" }

  func change() throws(DatabaseError) -> KeyChange {
    var change = KeyChange()
    let roots = keys.filter { $0.column == $0.root }.map(\.root)
    for root in roots {
      let map = Self.map(of: root.table)
      change.steps += [
        .statement(
          "CREATE TEMP TABLE \("tandem_keys_\(root.table)".sqlQuoted) (old INTEGER PRIMARY KEY, "
            + "new TEXT NOT NULL UNIQUE DEFAULT (\(Self.randomKey)))"),
        .statement(
          "INSERT INTO \(map) (old) SELECT \(root.name.sqlQuoted) FROM main.\(root.table.sqlQuoted)"
        ),
      ]
    }
    var tables: [String] = []
    for key in keys where !tables.contains(key.column.table) { tables.append(key.column.table) }
    for table in tables { try rebuild(table, &change) }
    change.steps += roots.map { .statement("DROP TABLE \(Self.map(of: $0.table))") }
    for key in keys {
      let column = key.column
      if column == key.root {
        change.tables.append(.init(name: column.table, key: column.name))
      } else {
        change.references.append(
          .init(table: column.table, column: column.name, parent: key.root.table))
      }
    }
    try addNotes(&change)
    return change
  }

  private func rebuild(_ table: String, _ change: inout KeyChange) throws(DatabaseError) {
    let facts = try connection.rekeyableFacts(table)
    let columns = keys.filter { $0.column.table == table }
    let names = columns.map(\.column.name)
    let key = facts.schema.primaryKey
    let keepsNumbers = !key.contains(where: names.contains)
    let creation = CreateTableStatement(try connection.creation(ofTable: table)).textual(
      names, notNull: keepsNumbers ? [] : key.filter(names.contains).filter(facts.isRowid),
      defaults: Dictionary(
        uniqueKeysWithValues: columns.filter { $0.column == $0.root }
          .map { ($0.column.name, Self.randomKey) }),
      keepsNumbers: keepsNumbers)
    guard let creation else {
      throw connection.rekeyingRefusal(
        "the declaration of \(table) is unusual; create the table anew with texts as keys")
    }
    try checkContents(of: facts, keepsNumbers: keepsNumbers)
    change.declarations[table] = creation
    change.textColumns[table] = names
    let values = Dictionary(
      uniqueKeysWithValues: columns.map { column, root in
        (
          column.name,
          "(SELECT k.new FROM \(Self.map(of: root.table)) AS k "
            + "WHERE k.old = t.\(column.name.sqlQuoted))"
        )
      })
    change.steps += try TableRebuild(facts, creation: creation, values: values, in: connection)
      .steps(keepsNumbers: keepsNumbers)
  }

  /// Throws if a virtual table finds rows by a number that the table has no longer.
  private func checkContents(of facts: TableFacts, keepsNumbers: Bool) throws(DatabaseError) {
    guard !keepsNumbers, facts.isIdentifiedByRowid else { return }
    let table = facts.schema.name
    let found = try connection.rows(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'create virtual%'")
    for row in found {
      guard let name = row[0].textValue, let sql = row[1].textValue,
        SQLTokens(sql).hasContent(ofTable: table)
      else { continue }
      throw connection.rekeyingRefusal(
        "the virtual table \(name) finds the rows of \(table) by their numbers; drop it, with the "
          + "triggers that write it, and create it again afterwards")
    }
  }

  /// Adds what the user should look at.
  private func addNotes(_ change: inout KeyChange) throws(DatabaseError) {
    let tables = keys.map(\.column.table)
    let names = keys.map(\.column.name)
    let codes = try connection.rows(
      """
      SELECT type, name, tbl_name, sql FROM sqlite_schema
      WHERE type <> 'table' AND sql NOT NULL AND name NOT LIKE 'tandem@_%' ESCAPE '@'
      ORDER BY type, name
      """)
    var suspects = codes.compactMap { row -> String? in
      guard let type = row[0].textValue, let name = row[1].textValue, let sql = row[3].textValue
      else { return nil }
      let tokens = SQLTokens(sql)
      let words = tokens.tokens.compactMap(tokens.name) + [row[2].textValue ?? ""]
      let names =
        tables.contains { words.contains(where: $0.isSameSQLName) }
        && names.contains { words.contains(where: $0.isSameSQLName) }
      // An index with a number computes with it, or has only some rows.
      let isSuspect = type != "index" || tokens.tokens.contains { $0.kind == .number }
      return names && isSuspect ? "the \(type) \(name)" : nil
    }
    for schema in schemas where tables.contains(where: schema.name.isSameSQLName) {
      let sql = SQLTokens(try connection.creation(ofTable: schema.name))
      let changed = keys.map(\.column).filter { $0.table == schema.name }.map(\.name)
      for column in schema.columns where column.isGenerated {
        let words = sql.expression(ofColumn: column.name)?.compactMap(sql.name) ?? []
        guard changed.contains(where: { words.contains(where: $0.isSameSQLName) }) else { continue }
        suspects.append("the computed column \(schema.name).\(column.name)")
      }
    }
    if !suspects.isEmpty {
      change.notes.append(
        "look at \(suspects.joined(separator: ", ")): they name keys that are texts now")
    }
    for table in change.tables {
      let pattern = Self.plain(table.name)
      let singular = pattern.hasSuffix("s") ? String(pattern.dropLast()) : pattern
      for schema in schemas where !TriggerSet.isOwnName(schema.name) {
        for column in schema.columns where column.affinity != .text && !column.isGenerated {
          let place = Column(table: schema.name, name: column.name)
          let name = Self.plain(column.name)
          guard [pattern, singular].contains(where: { name == $0 + "id" }),
            !keys.contains(where: { $0.column == place }),
            !references.contains(where: { $0.child == place })
          else { continue }
          change.notes.append(
            "\(place.text) has the name of a reference to \(table.name), but no foreign key: it keeps "
              + "its numbers, which are the rowids of \(table.name) until VACUUM")
        }
      }
    }
  }

  /// A name in lower case without underscores.
  private static func plain(_ name: String) -> String { name.lowercased().filter { $0 != "_" } }
}

extension SQLTokens {
  /// True if the statement creates a virtual table with `content=` and the name of a table.
  fileprivate func hasContent(ofTable table: String) -> Bool {
    tokens.indices.dropFirst(2).contains { place in
      let token = tokens[place]
      let inner = token.kind == .string ? text(token.range.dropFirst().dropLast()) : name(token)
      return isWord(tokens[place - 2], "CONTENT") && isSymbol(tokens[place - 1], "=")
        && inner?.isSameSQLName(as: table) == true
    }
  }
}
