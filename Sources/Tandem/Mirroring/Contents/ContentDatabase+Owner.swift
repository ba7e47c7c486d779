internal import TandemRecords
internal import TandemSQLite

/// Whose the directory of files is: the database has, for each table, a random text, which the
/// directory has too.
extension ContentDatabase {
  private static let ownerTable = "tandem_mirror_directory"

  /// The owner of the directory, as its mark names it; `nil` if there is none yet.
  func owner() throws -> String? {
    let connection = try reader()
    guard try connection.schema(ofTable: Self.ownerTable) != nil else { return nil }
    let statement = try connection.prepare(
      "SELECT owner FROM \(Self.ownerTable) WHERE table_name = ?")
    try statement.bind([.text(mirror.table)])
    guard try statement.step() else { return nil }
    return try statement.value(at: 0).textValue.map(ownerText)
  }

  /// A new owner, in place of the one before: what has been left in another directory would be out of
  /// date by the time that the mirror came back to it.
  func makeOwner() throws -> String {
    let halves = (0..<2).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 16) }
    let token = halves.joined(separator: "-")
    let connection = try writer()
    try connection.transaction {
      try connection.execute(
        """
        CREATE TABLE IF NOT EXISTS \(Self.ownerTable) (
          table_name TEXT NOT NULL COLLATE NOCASE PRIMARY KEY, owner TEXT NOT NULL
        ) WITHOUT ROWID
        """)
      try connection.execute(
        "INSERT OR REPLACE INTO \(Self.ownerTable) VALUES (?, ?)", .text(mirror.table),
        .text(token))
    }
    return ownerText(token)
  }

  /// Files are named after keys: by another key, the same name would be another record's.
  private func ownerText(_ token: String) -> String {
    ([token] + mirror.key.map { $0.lowercased() }).joined(separator: "\t")
  }
}
