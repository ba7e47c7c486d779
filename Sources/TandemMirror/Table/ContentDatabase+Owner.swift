internal import TandemRecords
internal import TandemSQLite

/// Whose the directory of files is: the database has, for each table, a random text, which the
/// directory has too.
extension ContentDatabase {
  /// The owner of the directory, as its mark names it; `nil` if there is none yet.
  func owner() throws -> String? {
    try DirectoryState.load(table: mirror.table, from: reader()).map { ownerText($0.owner) }
  }

  /// A new owner, in place of the one before: what has been left in another directory would be out of
  /// date by the time that the mirror came back to it.
  func makeOwner() throws -> String {
    let halves = (0..<2).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 16) }
    let token = halves.joined(separator: "-")
    let connection = try writer()
    try connection.transaction {
      var state =
        try DirectoryState.load(table: mirror.table, from: connection)
        ?? DirectoryState(owner: token)
      state.owner = token
      try state.save(table: mirror.table, to: connection)
    }
    return ownerText(token)
  }

  /// Throws if rows have files of contents that are not among those of this mirror.
  func requireContents() throws {
    let connection = try reader()
    let state = try DirectoryState.load(table: mirror.table, from: connection)
    try state?.requireContents(contents, ofTable: connection.schema(ofTable: mirror.table))
  }

  /// Files are named after keys: by another key, the same name would be another record's.
  private func ownerText(_ token: String) -> String {
    ([token] + mirror.key.map { $0.lowercased() }).joined(separator: "\t")
  }
}
