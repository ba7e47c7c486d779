internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The checks of one table.
struct TableChoice {
  private let choice: AttachedTable
  private let connection: DatabaseConnection
  private let schema: TableSchema

  init(_ choice: AttachedTable, in connection: DatabaseConnection) throws {
    guard let schema = try connection.schema(ofTable: choice.name),
      !TriggerSet.isOwnName(schema.name)
    else {
      let names = try connection.tableNames()
      throw ReplicaError(
        .unsuitable,
        "\(connection.path) has no table \(choice.name) to synchronize; it has "
          + (names.isEmpty ? "no tables" : names.joined(separator: ", ")))
    }
    self.choice = choice
    self.connection = connection
    self.schema = schema
  }

  /// The declaration of the table.
  func declaration() throws -> SpaceTable {
    let facts = try TableFacts(schema.name, in: connection)
    guard let facts, facts.isOrdinary else {
      throw unsuitable("is a view or a virtual table; synchronize the tables beneath it")
    }
    guard !schema.primaryKey.isEmpty else {
      throw unsuitable(
        "has no primary key, so that nothing identifies a row on two devices; add one, such as "
          + suggestedKey)
    }
    try checkColumns(of: schema.primaryKey, "its primary key")
    if choice.renumbers {
      try checkNumbers(facts)
    } else if facts.isIdentifiedByRowid, !choice.allowsAssignedKeys {
      throw unsuitable(
        "has the key \(schema.primaryKey[0]) INTEGER PRIMARY KEY, which SQLite numbers: two "
          + "devices would give the same number to different rows; attach it with `renumbers` "
          + "\(schema.name), and a new row whose number another device was quicker to give gets another one, "
          + "which a program does not notice that holds the number in memory; or use a random key, such as "
          + "\(suggestedKey), or allow assigned keys if the application chooses numbers that "
          + "no two devices choose (`allowsAssignedKeys`)")
    }
    let columns = try columns()
    try choice.checkCounters(in: schema)
    let shadow = try TableShadow(table: schema.name, columns: columns, in: connection)
    if !choice.allowsBlindSpots, !shadow.blindSpots.isEmpty {
      throw unsuitable(
        "has changes that no trigger can foresee: \(shadow.blindSpots.joined(separator: "; ")); "
          + "change the index, or allow blind spots if no program uses REPLACE on the table "
          + "(`allowsBlindSpots`)")
    }
    return SpaceTable(
      name: schema.name, columns: columns, keyColumns: schema.primaryKey,
      granularity: choice.granularity, isNumbered: choice.renumbers)
  }

  /// Throws unless SQLite chooses the keys, and never the same one twice.
  private func checkNumbers(_ facts: TableFacts) throws {
    guard facts.isIdentifiedByRowid else {
      throw unsuitable(
        "has no INTEGER PRIMARY KEY, so that SQLite gives no numbers; attach it without `renumbers`"
      )
    }
    let isReference = try connection.rows(
      "SELECT 1 FROM pragma_foreign_key_list(?) WHERE \"from\" = ? COLLATE NOCASE",
      [.text(schema.name), .text(schema.primaryKey[0])])
    guard isReference.isEmpty else {
      throw unsuitable(
        "has a key that refers to another table, whose number it has; attach it without `renumbers` and with "
          + "`allowsAssignedKeys`: the key follows the row that it refers to")
    }
    guard connection.hasAutoincrement(schema) else {
      throw unsuitable(
        "has an INTEGER PRIMARY KEY without AUTOINCREMENT, so that SQLite gives the number of a deleted row "
          + "again, before other devices can notice; rebuild it first (`rekey`), then attach it with "
          + "`renumbers`")
    }
  }

  private var suggestedKey: String { "id TEXT PRIMARY KEY DEFAULT (lower(hex(randomblob(16))))" }

  /// The columns beside the key, as declared.
  private func columns() throws -> [String] {
    let key = schema.primaryKey
    let isKey = { (name: String) in key.contains(where: name.isSameSQLName) }
    var names: [String] = []
    if let chosen = choice.columns {
      for name in chosen {
        guard let column = schema.column(named: name) else {
          throw unsuitable(
            "has no column \(name); it has \(schema.columnNames.joined(separator: ", "))")
        }
        guard !column.isGenerated else {
          throw unsuitable("computes the column \(name); leave it out, each copy computes it")
        }
        if !isKey(column.name), !names.contains(column.name) { names.append(column.name) }
      }
      try checkOthers(names)
    } else {
      names = schema.columns.filter { !$0.isGenerated && !isKey($0.name) }.map(\.name)
    }
    try checkColumns(of: names, "its columns")
    guard names.count + key.count <= ReplicaTables.maxColumnCount else {
      throw unsuitable(
        "has \(names.count + key.count) columns to synchronize, more than "
          + "\(ReplicaTables.maxColumnCount); name the columns that you need")
    }
    return names
  }

  /// Throws if a name cannot be a column of a shadow.
  private func checkColumns(of names: [String], _ part: String) throws {
    if let name = names.first(where: { $0.isSameSQLName(as: TableShadow.existed) }) {
      throw unsuitable("has \(name) among \(part), which is a name of Tandem's; rename it")
    }
  }

  /// Throws if a row that comes from the space would lack a value that the table requires.
  private func checkOthers(_ names: [String]) throws {
    let required = try connection.prepare(
      "SELECT name FROM pragma_table_info(?) WHERE \"notnull\" AND dflt_value IS NULL AND pk = 0")
    try required.bind([.text(schema.name)])
    while try required.step() {
      guard case .text(let name) = try required.value(at: 0), !names.contains(name) else {
        continue
      }
      throw unsuitable(
        "requires a value in the column \(name), which is not synchronized; synchronize it, or "
          + "give it a default")
    }
  }

  private func unsuitable(_ reason: String) -> ReplicaError {
    ReplicaError(.unsuitable, "the table \(schema.name) \(reason)")
  }
}
