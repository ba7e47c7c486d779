internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The journal of a file that other servers follow: which rows without a version were written last.
///
/// The table `touched` has one row for each such row, of a replica, its name, or a value that a commit has stated
/// (``SpaceClaim/Side/stated``), with an ascending number that it gets anew with each write. So the journal has no more
/// rows than these tables, and a follower that knows a number gets what was written since. The row without a table has
/// the identity of the journal.
extension SQLiteSpaceConnection {
  /// The identity of the journal and the number of its last entry; `nil` if there is none.
  func journal() throws -> (id: SyncToken, last: Int)? {
    guard try has(table: "touched") else { return nil }
    let row = try connection.row(
      "SELECT key, (SELECT max(seq) FROM touched) FROM touched WHERE tab = ''")
    guard let id = row?[0].textValue.flatMap({ SyncToken($0) }), let last = row?[1].integerValue
    else {
      throw SpaceError(
        .damaged, "its journal cannot be read: restore a backup", path: connection.path)
    }
    return (id, last)
  }

  /// Makes the journal, with all rows that are there, unless there is one.
  func makeJournal(_ id: SyncToken) throws {
    guard try !has(table: "touched") else { return }
    for group in [SpaceTableGroup.numbers, .statedClaims, .replicaNames] { try make(group) }
    try connection.execute(
      """
      CREATE TABLE touched (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, tab TEXT NOT NULL, rule INTEGER NOT NULL, key NOT NULL,
        UNIQUE (tab, rule, key))
      """)
    try connection.run(
      "INSERT INTO touched (tab, rule, key) VALUES ('', 0, ?)", [.text(id.description)])
    for rows in [
      "SELECT 'replica', 0, id FROM replica", "SELECT 'replica_name', 0, id FROM replica_name",
      "SELECT 'claim', rule, key FROM claim WHERE side = 2",
    ] {
      try connection.execute("INSERT OR IGNORE INTO touched (tab, rule, key) \(rows)")
    }
    // Earlier versions of this program would write without noting it.
    try connection.execute("PRAGMA user_version=4")
  }

  /// Notes the row that a statement has written, if the file has a journal.
  func noteInJournal(_ statement: SpaceStatement, _ parameters: [FieldValue]) throws {
    let row: [FieldValue]
    switch statement {
    case .storeReplica: row = [.text("replica"), 0, parameters[0]]
    case .setName, .removeName: row = [.text("replica_name"), 0, parameters[0]]
    case .insertClaim, .deleteClaim:
      guard parameters[1] == .integer(Int64(SpaceClaim.Side.stated.rawValue)) else { return }
      row = [.text("claim"), parameters[0], parameters[3]]
    default: return
    }
    guard try has(table: "touched") else { return }
    try connection.run("INSERT OR REPLACE INTO touched (tab, rule, key) VALUES (?, ?, ?)", row)
  }
}
