internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The space accepts a commit after others that its replica has not seen, unless they changed the same
/// fields. So one replica may delete a row while another one begins to refer to it, and neither commit
/// has seen the other. The replica whose commit was accepted last brings the row back: it keeps the versions
/// that the commit replaced until a pull has brought the commits before it.
extension ReplicaTables {
  static let overtakingName = "tandem_overtaking"

  /// Keeps the version that a commit replaced which was accepted after others: if the commit deletes a row that
  /// others may refer to, or makes a row refer to another one.
  func keepOvertaking(
    _ key: SyncKey, in schema: ReplicaSchema, from base: Record?, to record: Record?
  ) throws {
    guard let table = schema.table(named: key.table) else { return }
    let isNeeded = schema.foreignKeys.contains { foreignKey in
      guard foreignKey.attachedChild != nil else { return false }
      if foreignKey.parent === table, record == nil { return base != nil }
      guard foreignKey.attachedChild === table, let record else { return false }
      return base.map { !foreignKey.hasSameReference(record, $0, key.id) } ?? true
    }
    guard isNeeded else { return }
    if !schema.mayHaveOvertaking { try createOvertaking() }
    try run(
      "INSERT OR IGNORE INTO \(ReplicaTables.overtakingName) VALUES (?, ?, ?, ?)",
      [
        .text(key.table), .blob(key.canonicalBytes), .text(key.idText),
        base.map { .text($0.text) } ?? .null,
      ])
  }

  /// Creates their table, which few files need.
  package func createOvertaking() throws {
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS \(ReplicaTables.overtakingName) (
        "table" TEXT NOT NULL, "key" BLOB NOT NULL, id TEXT NOT NULL, base TEXT,
        PRIMARY KEY ("table", "key")) WITHOUT ROWID
      """)
  }

  /// True if there are any.
  package func hasOvertaking() throws -> Bool {
    try schema().mayHaveOvertaking
      && !rows("SELECT 1 FROM \(ReplicaTables.overtakingName) LIMIT 1").isEmpty
  }

  /// Forgets them: the commits before have come.
  func forgetOvertaking(_ schema: ReplicaSchema) throws {
    if schema.mayHaveOvertaking { try run("DELETE FROM \(ReplicaTables.overtakingName)", []) }
  }

  /// The version of a record that such a commit replaced; `nil` if there was none, or no such commit.
  func overtakingBase(_ key: SyncKey) throws -> Record? {
    guard try schema().mayHaveOvertaking else { return nil }
    let rows = try rows(
      "SELECT base FROM \(ReplicaTables.overtakingName) WHERE \"table\" = ? AND \"key\" = ?",
      [.text(key.table), .blob(key.canonicalBytes)])
    return try rows.first.flatMap { try record($0[0], of: ReplicaTables.overtakingName) }
  }

  /// The keys of the rows of a table that such a commit changed. A commit has a limited number.
  func overtakingKeys(of table: ReplicaTable) throws -> [[FieldValue]] {
    guard try schema().mayHaveOvertaking else { return [] }
    return try rows(
      "SELECT id FROM \(ReplicaTables.overtakingName) WHERE \"table\" = ?", [.text(table.name)]
    ).map { row in
      guard case .text(let text) = row[0],
        let id = try? SyncMessageReader(limits: .unlimited).id(Array(text.utf8))
      else { throw ReplicaError.damaged(ReplicaTables.overtakingName, connection.path) }
      return id
    }
  }
}
