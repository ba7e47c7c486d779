internal import TandemRecords

/// Triggers that do one job for one table. Their names are the job's prefix, the kind of trigger
/// and the name of the table: no two jobs, kinds or tables share a name.
package struct TriggerSet: Sendable {
  /// The prefix of all names, such as `tandem_track_`.
  package let prefix: String
  /// The table, as declared.
  package let table: String
  /// The statement that creates each trigger, by the trigger's name.
  package private(set) var triggers: [(name: String, sql: String)] = []

  /// No triggers yet for a table.
  package init(prefix: String, table: String) {
    self.prefix = prefix
    self.table = table
  }

  /// The name of a trigger.
  package func name(_ kind: String) -> String { "\(prefix)\(kind)_\(table)" }

  /// Adds a trigger.
  ///
  /// - Parameters:
  ///   - kind: The kind of trigger, which no other one of the set has.
  ///   - event: Such as `AFTER INSERT` or `BEFORE UPDATE OF "name"`.
  ///   - other: The table that the trigger is on, if it is not ``table``.
  ///   - condition: The condition under which it runs; always if `nil`.
  ///   - statements: The statements, each with its semicolon.
  package mutating func add(
    _ kind: String, _ event: String, on other: String? = nil, when condition: String? = nil,
    _ statements: [String]
  ) {
    let name = name(kind)
    let condition = condition.map { "WHEN \($0)" } ?? ""
    triggers.append(
      (
        name,
        "CREATE TRIGGER \(name.sqlQuoted) \(event) ON \((other ?? table).sqlQuoted) \(condition)"
          + " BEGIN \(statements.joined(separator: " ")) END"
      ))
  }

  /// True if the database has exactly these triggers, among others.
  package func isInstalled(in connection: DatabaseConnection) throws(DatabaseError) -> Bool {
    for trigger in triggers where try !connection.hasSchemaEntry(trigger.sql) { return false }
    return true
  }

  /// Creates the triggers.
  package func install(in connection: DatabaseConnection) throws(DatabaseError) {
    for trigger in triggers { try connection.execute(trigger.sql) }
  }

  /// The names of the triggers with the prefix that are on the table, or have its name though the
  /// table was renamed since.
  ///
  /// - Parameter kinds: Every kind that any version of the set has had.
  package func installedNames(
    kinds: [String], in connection: DatabaseConnection
  ) throws(DatabaseError) -> [String] {
    let names = kinds.map(name)
    let marks = names.map { _ in "?" }.joined(separator: ", ")
    let found = try connection.prepare(
      """
      SELECT name FROM sqlite_schema WHERE type = 'trigger' AND substr(name, 1, ?) = ?
        AND (name COLLATE NOCASE IN (\(marks)) OR tbl_name = ? COLLATE NOCASE)
      """)
    try found.bind(
      [.integer(Int64(prefix.unicodeScalars.count)), .text(prefix)]
        + (names + [table]).map { .text($0) })
    return try found.texts()
  }

  /// True if a name has the prefix of all of Tandem's own tables, triggers and indexes.
  package static func isOwnName(_ name: String) -> Bool {
    name.lowercased().hasPrefix("tandem_")
  }
}

extension DatabaseConnection {
  /// True if the schema has an entry that exactly this statement created.
  func hasSchemaEntry(_ sql: String) throws(DatabaseError) -> Bool {
    try withStatement("SELECT 1 FROM sqlite_schema WHERE sql = ?") {
      statement throws(DatabaseError) in
      try statement.bind([.text(sql)])
      return try statement.step()
    }
  }
}

extension DatabaseConnection {
  /// True if triggers of the application run for the rows of a table.
  package func hasTriggers(on table: String) throws(DatabaseError) -> Bool {
    try integer(
      """
      SELECT EXISTS (
        SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE
          AND name NOT LIKE 'tandem@_%' ESCAPE '@')
      """, .text(table)) == 1
  }
}

extension Statement {
  /// The texts in the first column of all rows.
  func texts() throws(DatabaseError) -> [String] {
    var texts: [String] = []
    while try step() {
      if case .text(let text) = try value(at: 0) { texts.append(text) }
    }
    return texts
  }
}
