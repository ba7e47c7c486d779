internal import TandemRecords
internal import TandemSQLite

/// The triggers of the application, as far as they concern synchronized tables.
///
/// While records of the space are written, two kinds of them do not run: those that write synchronized columns or
/// rows, because the commit of the copy in which the change was made has these effects already, and those that only
/// refuse, because they guard the edits of the application. All others run, once for each row: search indexes, and
/// tables of one's own, follow what is received.
struct ForeignTriggers {
  /// One trigger.
  struct Trigger {
    /// The schema that it is in: `main` or `temp`.
    let schema: String
    let name: String
    let table: String
    let sql: String
    /// True if it only refuses, as far as that is known: it guards the edits of the application.
    fileprivate var isGuard = false

    fileprivate var place: String { "\(schema).\(name.sqlQuoted)" }

    /// The statement that creates it. SQLite stores the text without the schema.
    fileprivate var creation: String {
      let start = "CREATE TRIGGER "
      return sql.hasPrefix(start) ? "\(start)\(schema).\(sql.dropFirst(start.count))" : sql
    }

    /// True if its text has a name or a keyword.
    fileprivate func mentions(_ name: String) -> Bool {
      let tokens = SQLTokens(sql)
      return tokens.tokens.contains { tokens.name($0)?.isSameSQLName(as: name) ?? false }
    }
  }

  /// True if a trigger runs when rows of synchronized tables are written.
  let areOnTables: Bool
  /// True if one runs then, or when rows of other tables follow a deletion.
  let areFired: Bool
  /// True if the text of one cannot be read: then no trigger runs.
  let areUnreadable: Bool
  /// The columns of other synchronized tables that they update.
  let derivedColumns: [(trigger: String, table: String, column: String)]
  /// Those that do not run.
  fileprivate let silenced: [Trigger]
  /// The first of these and all that were created after it, those of Tandem too, in the order of their creation. SQLite
  /// runs the youngest trigger of an event first.
  fileprivate let following: [Trigger]

  init(_ replica: ReplicaTables, _ tables: [ReplicaTable]) throws {
    var all: [Trigger] = []
    var areUnreadable = false
    for schema in ["main", "temp"] {
      let source = "\(schema).sqlite_schema WHERE type = 'trigger'"
      let rows = try replica.readableRows(
        "SELECT name, tbl_name, sql FROM \(source) ORDER BY rowid")
      areUnreadable = try areUnreadable || rows.count != replica.count(source)
      for row in rows {
        guard case .text(let name) = row[0], case .text(let table) = row[1],
          case .text(let sql) = row[2]
        else { continue }
        all.append(Trigger(schema: schema, name: name, table: table, sql: sql))
      }
    }
    let triggers = all.filter { !$0.name.hasPrefix(TableShadow.prefix) }
    self.areUnreadable = areUnreadable
    func isSynchronized(_ trigger: Trigger) -> Bool {
      tables.contains { $0.name.isSameSQLName(as: trigger.table) }
    }
    guard !triggers.isEmpty, !areUnreadable else {
      (areOnTables, areFired, derivedColumns, silenced, following) = (false, false, [], [], [])
      return
    }
    let followers = try replica.schema().foreignKeys.filter {
      $0.attachedChild == nil && $0.action != nil
    }
    let writes = replica.connection.triggerWrites(
      of: tables.flatMap(\.writingStatements) + followers.flatMap(\.actionStatements))
    derivedColumns = triggers.filter(isSynchronized).flatMap { trigger in
      tables.filter { !$0.name.isSameSQLName(as: trigger.table) }.flatMap { table in
        let columns = writes[trigger.name.lowercased()]?.columns[table.name.lowercased()] ?? []
        return table.columnNames.filter { columns.contains($0.lowercased()) }
          .map { (trigger.name, table.name, $0) }
      }
    }
    var silencedNames = Set(
      triggers.filter { trigger in
        guard let writes = writes[trigger.name.lowercased()] else {
          return isSynchronized(trigger) && trigger.mentions("raise")
        }
        return tables.contains { $0.isWritten(by: writes) }
      }.map(\.place))
    // A trigger of a view has to stay, so those that write the view do not run.
    for trigger in triggers where silencedNames.contains(trigger.place) {
      guard !isSynchronized(trigger), trigger.mentions("instead") else { continue }
      silencedNames.remove(trigger.place)
      for other in triggers
      where other.mentions(trigger.table) && !other.table.isSameSQLName(as: trigger.table) {
        silencedNames.insert(other.place)
      }
    }
    silenced = triggers.filter { silencedNames.contains($0.place) }.map { trigger in
      var trigger = trigger
      trigger.isGuard = writes[trigger.name.lowercased()] == nil
      return trigger
    }
    following = Array(all.drop { !silencedNames.contains($0.place) })
    areOnTables = triggers.contains { isSynchronized($0) && !silencedNames.contains($0.place) }
    areFired =
      areOnTables
      || triggers.contains { trigger in
        followers.contains { $0.child.isSameSQLName(as: trigger.table) }
      }
  }
}

extension ReplicaTable {
  /// Statements that fire each of the table's triggers.
  fileprivate var writingStatements: [String] {
    let name = name.sqlQuoted
    let columns = schema.columns.filter { !$0.isGenerated }.map(\.name.sqlQuoted)
    let assignments = columns.map { "\($0) = NULL" }.joined(separator: ", ")
    return [
      statements.insert.sql, statements.delete.sql, "UPDATE main.\(name) SET \(assignments)",
    ]
  }

  /// True if a trigger inserts or deletes rows, or updates a synchronized column.
  fileprivate func isWritten(by writes: TriggerWrites) -> Bool {
    let name = name.lowercased()
    if writes.tables.contains(name) { return true }
    guard let columns = writes.columns[name] else { return false }
    return (keyNames + columnNames).contains { columns.contains($0.lowercased()) }
  }
}

extension ForeignKey {
  /// The statements of its action on the deletion of a parent.
  fileprivate var actionStatements: [String] {
    let nulls = columns.map { "\($0.child.sqlQuoted) = NULL" }.joined(separator: ", ")
    return action == .cascade
      ? ["DELETE FROM main.\(child.sqlQuoted)"] : ["UPDATE main.\(child.sqlQuoted) SET \(nulls)"]
  }
}

extension ReplicaTables {
  /// Runs `body`, which writes records of the space, without the triggers that must not run meanwhile: they are dropped,
  /// and created again in the order in which they were.
  ///
  /// - Parameter areEdits: True if `body` makes edits again, which guards may still refuse.
  func withoutSilencedTriggers<Value>(
    areEdits: Bool = false, _ body: () throws -> Value
  ) throws -> Value {
    let triggers = try foreignTriggers()
    if triggers.areUnreadable { return try areEdits ? body() : quietly(body) }
    let outer = silencedPlaces
    let silenced = triggers.silenced.filter {
      !outer.contains($0.place) && (!areEdits || !$0.isGuard)
    }
    guard !silenced.isEmpty else { return try body() }
    silencedPlaces.formUnion(silenced.map(\.place))
    defer { silencedPlaces = outer }
    do {
      for trigger in silenced { try connection.execute("DROP TRIGGER \(trigger.place)") }
      try noteSameSchema()
      let value = try body()
      for trigger in triggers.following where !outer.contains(trigger.place) {
        if !silencedPlaces.contains(trigger.place) {
          try connection.execute("DROP TRIGGER \(trigger.place)")
        }
        try connection.execute(trigger.creation)
      }
      try noteSameSchema()
      return value
    } catch {
      // The version of the schema may be used again, for another one.
      forgetSchema()
      throw error
    }
  }
}
