internal import TandemRecords

// While an attached table is altered, its triggers cannot stay: SQLite refuses to drop a column that
// they name, and a table that is built anew loses them. So each row is kept in the shadow before
// the change. Afterwards rows and shadow are compared, which finds every change exactly.

extension DatabaseConnection {
  /// Runs a change of the schema while no former versions are kept by triggers, and keeps them
  /// again afterwards. Changes of rows are noticed as well.
  ///
  /// A shadow whose table has none of its triggers, is gone or has another key afterwards, stays as it is. The
  /// values of columns that are dropped are kept also if it may miss changes. A table that is built anew does not give
  /// the numbers of deleted rows again.
  ///
  /// - Complexity: O(*n*) in the number of rows of the tables that have shadows.
  package func pausingShadows(_ body: () throws -> Void) throws {
    // The rows are kept already.
    if try shadowNeed()?.isPaused ?? false { return try body() }
    let shadows = try keptShadows()
    for shadow in shadows { try renewIfOutdated(shadow) }
    let installed = try shadows.map(isKeeping)
    let numbers = try shadows.map { try sequence(ofTable: $0.table) }
    for (shadow, isInstalled) in zip(shadows, installed) {
      if isInstalled {
        try pauseKeeping(shadow)
      } else {
        try keepPresentRows(of: shadow, mayMissChanges: true)
      }
    }
    try body()
    for (shadow, number) in zip(shadows, numbers) {
      // Whoever has used the last number may lower it.
      guard let number, number < .max, let table = try schema(ofTable: shadow.table),
        hasAutoincrement(table)
      else { continue }
      try raiseSequence(ofTable: table.name, to: number)
    }
    for (shadow, isInstalled) in zip(shadows, installed) {
      if isInstalled {
        try resumeKeeping(table: shadow.table, key: shadow.key)
      } else if let shadow = try keptShadow(of: shadow.table, key: shadow.key) {
        try keepDroppedEdits(of: shadow)
      }
    }
  }

  /// What a replica has noted of its shadows: whether a change of the schema is under way, and whether rows may have
  /// changed that are in no shadow, until a pull of everything has shown it. `nil` if there is no replica.
  private func shadowNeed() throws(DatabaseError) -> (isPaused: Bool, mayMissChanges: Bool)? {
    let columns = try columnNames(of: "tandem_state")
    guard ["is_paused", "pull", "revision", "former_tables"].allSatisfy(columns.contains) else {
      return nil
    }
    let state = try prepare(
      """
      SELECT is_paused,
        pull IN ('repair', 'epoch', 'history') OR (pull = 'columns' AND former_tables IS NULL)
      FROM tandem_state
      """)
    guard try state.step() else { return nil }
    return (try state.value(at: 0) != 0, try state.value(at: 1) != 0)
  }

  /// Renews a shadow whose table has triggers of it, but not as planned: a program has created an index or a trigger
  /// since, or dropped one of them. It may have missed changes: the replica then compares all rows, as for columns without
  /// former ones.
  private func renewIfOutdated(_ shadow: TableShadow) throws(DatabaseError) {
    guard try shadowNeed() != nil, try !isKeeping(shadow), try hasAnyTrigger(of: shadow) else {
      return
    }
    try renew(shadow)
    try execute(
      """
      UPDATE tandem_state SET pull = 'columns'
      WHERE revision NOT NULL AND pull IN ('none', 'changes', 'conflict', 'horizon')
      """)
  }

  /// The shadows of the tables that are there.
  private func keptShadows() throws(DatabaseError) -> [TableShadow] {
    let listing = try prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, ?) = ? ORDER BY name"
    )
    let prefix = TableShadow.name("")
    try listing.bind([.integer(Int64(prefix.unicodeScalars.count)), .text(prefix)])
    var shadows: [TableShadow] = []
    for name in try listing.texts() {
      if let shadow = try keptShadow(of: String(name.dropFirst(prefix.count))) {
        shadows.append(shadow)
      }
    }
    return shadows
  }

  private func keptShadow(
    of table: String, key: [String]
  ) throws(DatabaseError) -> TableShadow? {
    guard let shadow = try keptShadow(of: table), shadow.key == key else { return nil }
    return shadow
  }

  /// The shadow of a table with the columns that are kept and that the table still has.
  func keptShadow(of table: String) throws(DatabaseError) -> TableShadow? {
    guard let facts = try TableFacts(table, in: self), facts.isOrdinary,
      !facts.schema.primaryKey.isEmpty
    else { return nil }
    let key = facts.schema.primaryKey
    let kept = try columnNames(of: TableShadow.name(table))
    guard (key + [TableShadow.existed]).allSatisfy(kept.contains) else { return nil }
    let columns = kept.filter { name in
      name != TableShadow.existed && !key.contains(name)
        && facts.schema.column(named: name)?.isGenerated == false
    }
    return try TableShadow(table: table, columns: columns, in: self)
  }

  /// Keeps the present version of each row that the shadow does not have, and removes the triggers.
  package func pauseKeeping(_ shadow: TableShadow) throws(DatabaseError) {
    try keepPresentRows(of: shadow, mayMissChanges: shadowNeed()?.mayMissChanges ?? false)
    let names = (shadow.key + shadow.columns).sqlList
    try execute(
      """
      INSERT INTO \(shadow.name.sqlQuoted) (\(names), \(TableShadow.existed))
      SELECT \(names), 1 FROM \(shadow.table.sqlQuoted) WHERE \(shadow.hasKey) ON CONFLICT DO NOTHING
      """)
    try dropTriggers(of: shadow.table)
  }

  /// Installs the triggers again for the columns that are kept and that the table still has; the
  /// shadow gets the rows that are new, and loses those that are as they were.
  package func resumeKeeping(table: String, key: [String]) throws(DatabaseError) {
    guard let shadow = try keptShadow(of: table, key: key) else { return }
    try keepDroppedEdits(of: shadow)
    try renew(shadow)
    try noteNewRows(of: shadow)
    try forgetEqualRows(of: shadow)
  }

  /// Keeps as new the rows that a shadow does not have.
  package func noteNewRows(of shadow: TableShadow) throws(DatabaseError) {
    try execute(
      """
      INSERT INTO \(shadow.name.sqlQuoted) (\(shadow.key.sqlList), \(TableShadow.existed))
      SELECT \(shadow.key.sqlList), 0 FROM \(shadow.table.sqlQuoted) WHERE \(shadow.hasKey)
      ON CONFLICT DO NOTHING
      """)
  }

  /// Removes from a shadow the rows that have not changed. It may leave some.
  package func forgetEqualRows(of shadow: TableShadow) throws(DatabaseError) {
    // The shadow's column comes first: its comparison distinguishes all texts. Zero has two signs.
    let isEqual = shadow.columns.map { name in
      let (row, former) = ("t.\(name.sqlQuoted)", "s.\(name.sqlQuoted)")
      return """
         AND \(former) IS \(row) AND typeof(\(former)) = typeof(\(row))
         AND (typeof(\(row)) <> 'real' OR \(row) <> 0)
        """
    }
    try execute(
      """
      DELETE FROM \(shadow.name.sqlQuoted) AS s WHERE \(TableShadow.existed) AND EXISTS (
        SELECT 1 FROM \(shadow.table.sqlQuoted) AS t
        WHERE \(shadow.sameKey("t", "s"))\(isEqual.joined()))
      """)
  }

  /// Makes the triggers and the table of a shadow what they should be. The values of columns that
  /// it already had are kept.
  package func renew(_ shadow: TableShadow) throws(DatabaseError) {
    try dropTriggers(of: shadow.table)
    try renewFormerVersions(shadow.name, of: shadow)
    try shadow.triggers.install(in: self)
  }

  /// Makes a table of former versions what it should be, with the values of columns that it already
  /// had.
  package func renewFormerVersions(
    _ name: String, of shadow: TableShadow
  ) throws(DatabaseError) {
    let creation = shadow.creation(of: name)
    guard try !hasSchemaEntry(creation) else { return }
    let needed = shadow.key + [TableShadow.existed]
    let kept = try columnNames(of: name)
    let names = (needed + shadow.columns.filter(kept.contains)).sqlList
    guard needed.allSatisfy(kept.contains) else {
      try execute("DROP TABLE IF EXISTS \(name.sqlQuoted)")
      return try execute(creation)
    }
    // Not by ALTER TABLE, which fails if any view or trigger of the application is broken.
    try execute("CREATE TEMP TABLE tandem_former AS SELECT \(names) FROM \(name.sqlQuoted)")
    try execute("DROP TABLE \(name.sqlQuoted)")
    try execute(creation)
    try execute("INSERT INTO \(name.sqlQuoted) (\(names)) SELECT \(names) FROM temp.tandem_former")
    try execute("DROP TABLE temp.tandem_former")
  }

  /// True if the triggers of a shadow are exactly as planned, and its table has all its columns.
  package func hasMissedNothing(of shadow: TableShadow) throws(DatabaseError) -> Bool {
    guard try hasFormerVersions(of: shadow) else { return false }
    return try hasTriggers(of: shadow)
  }

  /// True if the table of a shadow has all its columns, among others.
  package func hasFormerVersions(of shadow: TableShadow) throws(DatabaseError) -> Bool {
    let kept = try columnNames(of: shadow.name)
    return (shadow.key + [TableShadow.existed] + shadow.columns).allSatisfy(kept.contains)
  }

  /// The names of a table's columns, in order; empty if there is none of that name.
  func columnNames(of table: String) throws(DatabaseError) -> [String] {
    let listing = try prepare("SELECT name FROM pragma_table_info(?)")
    try listing.bind([.text(table)])
    return try listing.texts()
  }
}

extension TableShadow {
  /// The condition that no part of a row's key is null.
  package var hasKey: String {
    key.map { "\($0.sqlQuoted) NOT NULL" }.joined(separator: " AND ")
  }
}
