internal import TandemRecords
internal import TandemSQLite

// Files that earlier versions attached. A step that may write takes their tables over; one that only reads, reads the
// tables as they are.
extension ReplicaTables {
  /// The formats that are taken over. In format 4, the outbox has room for one part; up to 5, conflicts and rejected
  /// changes are two lists, each with its own numbers.
  static let formerFormats: ClosedRange<Int64> = 4...5

  /// The tables that are gone since.
  static let formerTableNames = ["tandem_conflicts", "tandem_rejected", "tandem_overtaking"]

  /// The kept edits of an earlier format, as rows of `tandem_kept`. Rejected changes follow the conflicts.
  private static let formerKept = """
    SELECT id, "table", "key", kind, NULL AS reason, fields, base, "local", remote, NULL AS others, resolution,
      version, reported_in
    FROM tandem_conflicts
    UNION ALL
    SELECT id + (SELECT coalesce(max(id), 0) FROM tandem_conflicts), "table", "key", kind, reason, NULL, base,
      iif(kind = 'record', NULL, content), iif(kind = 'record', content, NULL), others, 'unresolved', NULL, 0
    FROM tandem_rejected
    """

  /// What a query reads the kept edits from.
  func keptSource() throws -> String {
    try hasFormerTables() ? "(\(ReplicaTables.formerKept))" : "tandem_kept"
  }

  /// True if ``upgrade()`` has something to do.
  func hasFormerTables() throws -> Bool {
    try connection.integer(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'tandem_kept'") == 0
  }

  /// Changes Tandem's tables to those of this version.
  func upgrade() throws {
    let format = try rows("SELECT format FROM tandem_state").first?[0]
    guard case .integer(let format)? = format, ReplicaTables.formerFormats.contains(format) else {
      return
    }
    if format == 4 {
      for (name, columns) in [
        ("tandem_outbox", "id, change_count, message"), ("tandem_withdrawn", "id, message"),
      ] {
        let rows = try rows("SELECT \(columns) FROM \(name) ORDER BY rowid")
        try connection.execute("DROP TABLE \(name)")
        try create(name)
        for row in rows {
          let marks = row.map { _ in "?" }.joined(separator: ", ")
          try run("INSERT INTO \(name) (\(columns)) VALUES (\(marks))", row)
        }
      }
    }
    try create("tandem_kept")
    try connection.execute("INSERT INTO tandem_kept \(ReplicaTables.formerKept)")
    for name in ReplicaTables.formerTableNames {
      try connection.execute("DROP TABLE IF EXISTS \(name)")
    }
    // ALTER TABLE fails if any view or trigger of the file cannot be compiled.
    let columns = """
      space, tables, replica, sequence, revision, digest, space_digest, pull, whole, former_tables, is_paused
      """
    let state = try rows("SELECT \(columns), last_rejection FROM tandem_state")
    try connection.execute("DROP TABLE tandem_state")
    try create("tandem_state")
    for row in state {
      let marks = row.map { _ in "?" }.joined(separator: ", ")
      try run(
        """
        INSERT INTO tandem_state (one, format, \(columns), last_kept)
        VALUES (1, \(ReplicaTables.format), \(marks) + (SELECT coalesce(max(id), 0) FROM tandem_kept))
        """, row)
    }
  }

  private func create(_ name: String) throws {
    for creation in ReplicaTables.creations where creation.hasPrefix("CREATE TABLE \(name) ") {
      try connection.execute(creation)
    }
  }
}
