internal import TandemRecords
internal import TandemSQLite
package import TandemSync

/// A follower's copy of a space: its rows as the leader has them, in a file that no replica can use.
///
/// The copy is marked as a space that was moved, so that no program takes commits for it. The table `followed` has the
/// position of the copy, in one row. The members of the space are in the file as in a backup, so that they are written with
/// the rows, and have no effect before the promotion. Claims are missing: they are computed when the copy is promoted.
package struct SpaceCopy: Hashable, Sendable {
  package let position: SpaceCopyPosition
  package let horizon: Int
  /// True if the leader had no such space any more when it was asked last.
  package let isAbsent: Bool
  /// The members of the space, which are in the file until its promotion; `nil` if the leader gave none, as those of earlier
  /// versions.
  package let members: [SpaceMember]?
}

extension SyncRequestError {
  /// The refusal of what needs a space, for a copy that was not promoted.
  static let unpromotedCopy = SyncRequestError(
    .unavailable,
    "the space is a copy of one of another server, and is used only there; promote this server first",
    retryAfter: .seconds(2))
}

extension SpaceTables {
  /// True if a space is a copy of one of another server. Those in a database are none.
  func isCopy() throws -> Bool {
    try (connection as? SQLiteSpaceConnection)?.has(table: "followed") == true
  }

  /// What a file is a copy of; `nil` if it is no copy.
  package func copy() throws -> SpaceCopy? {
    let file = try file()
    guard try isCopy() else { return nil }
    let row = try file.connection.row(
      """
      SELECT epoch, head, mark, journal, entry, schema, absent, horizon FROM followed, space
        JOIN history ON history.version = space.head
      """)
    guard let row, let epoch = row[0].textValue.flatMap({ SyncToken($0) }),
      let version = row[1].integerValue, (0...SpaceRevision.maxVersion).contains(version),
      case .integer(let mark) = row[2], let journal = row[3].textValue.flatMap({ SyncToken($0) }),
      let entry = row[4].integerValue, let schema = row[5].textValue.flatMap({ RecordDigest($0) }),
      let absent = row[6].integerValue, let horizon = row[7].integerValue
    else { throw damaged("the position of the copy") }
    return SpaceCopy(
      position: SpaceCopyPosition(
        head: SpaceRevision(epoch: epoch, version: version, mark: UInt64(bitPattern: mark)),
        journal: journal, entry: entry, schema: schema), horizon: -1 - horizon,
      isAbsent: absent != 0, members: try SpaceMember.taken(along: file.connection))
  }

  /// Notes whether the leader has the space.
  package func noteAbsence(_ isAbsent: Bool) throws {
    try file().connection.run("UPDATE followed SET absent = ?", [.integer(isAbsent ? 1 : 0)])
  }

  /// Takes the members out of a copy that is promoted in this transaction; returns `nil` if the leader gave none.
  package func takeMembers() throws -> [SpaceMember]? {
    let connection = try file().connection
    let members = try SpaceMember.taken(along: connection)
    try SpaceMember.take(nil, along: connection)
    return members
  }

  /// Makes a copy a space that takes commits: it computes the claims, checks all records, and takes the mark away.
  ///
  /// The space has the history of the leader. So replicas go on where they were; one that has seen a commit which the copy
  /// lacks notices it by its mark, as after a restored backup.
  ///
  /// - Throws: ``SpaceError`` with code `damaged` if the records have not the digest of the head.
  package func promoteCopy() throws {
    guard try copy() != nil else { throw SpaceCopyError.notACopy }
    let file = try file()
    try connection.run(.toggleMoved, [])
    try file.connection.run("DELETE FROM claim WHERE side <> 2")
    try insertClaims(of: try rules(), try state().tables)
    try checkDigest()
    try file.connection.execute("DROP TABLE followed")
  }
}

extension SQLiteSpaceStore {
  /// Writes the pages of a leader into the copy in a file, which is made if it is missing; all of them or nothing.
  ///
  /// - Parameters:
  ///   - since: As in ``SpaceCopyReceiver``.
  ///   - former: A state that the history has to have; `nil` for none.
  ///   - header: The header of the last page.
  ///   - forEachPage: Calls its parameter with all pages in order.
  ///   - isPermitted: Returns false if the copy must not be changed any more.
  /// - Throws: ``SpaceCopyError``; ``SpaceError`` if the file is another database; ``TandemSQLite/DatabaseError``.
  package static func receiveCopy(
    path: String, since: SpaceCopyPosition?, after former: SpaceRevision?,
    _ header: SpaceCopyHeader,
    forEachPage: @escaping @Sendable (_ body: ([UInt8]) throws -> Void) throws -> Void,
    isPermitted: @escaping @Sendable () -> Bool
  ) async throws {
    // Otherwise it would make a file.
    guard isPermitted() else { throw SpaceCopyError.stopped }
    let database = try await Database.open(
      path: path,
      configuration: DatabaseConfiguration(access: since == nil ? .readWriteCreate : .readWrite))
    let result: Result<Void, any Error>
    do {
      // Before the first write, which would change the journal of another database.
      try await database.read {
        try SpaceTables($0.connection).check(allowsEmptyFile: since == nil)
      }
      result = .success(
        try await database.write { transaction in
          var receiver = try SpaceCopyReceiver(
            SpaceTables(transaction.connection), since: since, journal: header.position.journal)
          try forEachPage { try receiver.add($0) }
          try receiver.finish(header, after: former)
          guard isPermitted() else { throw SpaceCopyError.stopped }
        })
    } catch {
      result = .failure(error)
    }
    await database.close()
    try result.get()
  }
}
