internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// What a leader sends to the servers that follow it: the rows of a space as they are stored, in pages.
///
/// Rows of the history and of records carry the version that wrote them. Rows of replicas, their names, and the values
/// that commits have stated for unique indexes do not; their keys are in the journal of the file
/// (``SQLiteSpaceConnection``). The declarations are few: they are sent as a whole when they have changed. Parts of
/// commits that are under way are not sent, nor what can be computed: claims and usage.
extension SpaceTables {
  /// A page of the rows that were written after a position, or of all.
  ///
  /// The rows of all pages, in this order, give the state at the position of the last one: later rows replace earlier ones.
  ///
  /// - Parameter cursor: The one of the page before.
  /// - Returns: `nil` if the file has no journal yet (``makeJournal(using:)``).
  /// - Throws: ``TandemSync/SyncRequestError`` with code `malformed` for a cursor that no page had, and with `unauthorized`
  ///   for a space in a database.
  package func copyPage(
    since: SpaceCopyPosition?, cursor: String?
  ) throws -> SpaceCopyAnswer? {
    let file = try file()
    let state = try state()
    if let since, let gone = try gone(since.head, state) { return .gone(gone) }
    guard let journal = try file.journal() else { return nil }
    // The file is an older one than that which the copy was made of.
    if let since, since.journal == journal.id, since.entry > journal.last {
      return .gone(.history)
    }
    var place = SpaceCopyCursor(
      anchor: since?.head ?? state.head, since: since?.head.version,
      entry: since?.journal == journal.id ? since?.entry ?? 0 : 0)
    if let cursor {
      guard let given = SpaceCopyCursor(cursor) else {
        throw SyncRequestError(
          .malformed, "the cursor is not that of a page of this request; start again")
      }
      place = given
      if let gone = try gone(place.anchor, state) { return .gone(gone) }
    }
    var page = CopyPage(limits: limits)
    let isLast = try page.add(after: &place, from: file)
    let schema = try file.schemaSum()
    if isLast {
      if schema != since?.schema { try page.addSchema(of: file) }
      try page.addAll(.number, of: file)
    }
    let header = SpaceCopyHeader(
      position: SpaceCopyPosition(
        head: state.head, journal: journal.id, entry: place.entry, schema: schema),
      horizon: state.horizon, next: isLast ? nil : place.description)
    return .page(SpaceCopyLines.line(header.values) + page.bytes)
  }

  /// Makes the journal of the file, unless there is one.
  package func makeJournal(using generator: inout some RandomNumberGenerator) throws {
    try file().makeJournal(SyncToken.random(using: &generator))
  }

  func file() throws(SyncRequestError) -> SQLiteSpaceConnection {
    guard let file = connection as? SQLiteSpaceConnection else {
      throw SyncRequestError(
        .unauthorized, "the spaces of this server are in a database, which has standbys of its own")
    }
    return file
  }
}

extension SQLiteSpaceStore {
  /// A page of the rows that were written after a position (``SpaceTables/copyPage(since:cursor:)``).
  package func copyPage(
    since: SpaceCopyPosition?, cursor: String?
  ) async throws -> SpaceCopyAnswer {
    if let answer = try await read({ try $0.copyPage(since: since, cursor: cursor) }) {
      return answer
    }
    try await write { space in
      var generator = SystemRandomNumberGenerator()
      try space.makeJournal(using: &generator)
    }
    guard let answer = try await read({ try $0.copyPage(since: since, cursor: cursor) }) else {
      throw SyncRequestError(.unavailable, "the journal of the space is missing; try again")
    }
    return answer
  }
}

extension SpaceCopyHeader {
  /// True if there is a next page, and its place is after that of the page that a cursor was for. So the pages end.
  package func isBeyond(_ cursor: String?) -> Bool {
    guard let next = next.flatMap({ SpaceCopyCursor($0) }) else { return false }
    guard let cursor else { return true }
    return SpaceCopyCursor(cursor).map(next.isBeyond) ?? false
  }
}

extension SQLiteSpaceConnection {
  /// The sum of the declarations.
  fileprivate func schemaSum() throws -> RecordDigest {
    var sum = RecordDigest.empty
    let hasher = RecordHasher()
    func add(_ table: SpaceStoredTable, _ row: [FieldValue]) {
      sum.add(SyncKey(table: table.rawValue, id: row), .empty, by: hasher)
    }
    if let row = try connection.row("SELECT tables FROM space") { add(.space, row) }
    for table in [SpaceStoredTable.rule, .columnDefinition]
    where try table.groups.allSatisfy(has) {
      try forEachRow(of: table) { add(table, $0) }
    }
    return sum
  }
}
