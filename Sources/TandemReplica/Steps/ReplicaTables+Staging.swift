internal import TandemRecords
internal import TandemSQLite
package import TandemSync

extension ReplicaTables {
  /// The pages that have arrived and are not applied yet.
  package enum Staging: Hashable, Sendable {
    /// The page that is missing next.
    case incomplete(SyncPull)
    /// All pages are there.
    case complete
  }

  /// The next page to ask for, or that all are there.
  package func staging() throws -> Staging { try staging(try state()) }

  func staging(_ state: ReplicaState) throws -> Staging {
    let since = pullStart(state)
    let last = try rows(
      "SELECT next FROM tandem_staged WHERE since = ? ORDER BY position DESC LIMIT 1",
      [.text(since.name)])
    var cursor: String?
    switch last.first?[0] {
    case nil: break
    case .text(let next)?: cursor = next
    default: return .complete
    }
    return .incomplete(
      SyncPull(
        replica: state.replica, since: since, known: since == nil ? knownRevision(state) : nil,
        cursor: cursor, knownSequence: state.sequence,
        asksForNumbers: try (knownSchema?.declarations ?? declarations()).contains(
          where: \.isNumbered)))
  }

  /// True if the answer to a request is of use. It is late if a commit waits for its outcome, or if
  /// another process has synchronized the file since the request: then it may not know what that
  /// process sent, and would look like a space that has lost it.
  func awaits(answerTo pull: SyncPull) throws -> Bool {
    guard try outboxSummary() == nil, case .incomplete(let next) = try staging() else {
      return false
    }
    return next.limited(to: pull.maxChangeCount) == pull
  }

  /// Stores a page: in the file beside the database, or, if there can be none, in the database as the bytes of its
  /// message.
  ///
  /// - Parameter pull: The request that the page answers. If another process has synchronized the
  ///   file since, or a commit waits for its outcome, the page is not stored. If it shows another
  ///   revision than the file has, a pull follows.
  /// - Returns: True if the page was stored.
  /// - Throws: `ForeignPage` if no space makes the page, or so many; nothing is stored then.
  @discardableResult
  package func stage(_ page: SyncPage, for pull: SyncPull) throws -> Bool {
    let file = try stagedFile()
    guard try awaits(answerTo: pull) else {
      if try state().revision != page.revision { try requirePull() }
      return false
    }
    try discardStaged(exceptSince: pull.since)
    try check(page)
    guard try stagedPageCount() < SyncLimits.maxPullPageCount else {
      throw ForeignPage("a pull has more than \(SyncLimits.maxPullPageCount) pages")
    }
    try run(
      "INSERT INTO tandem_staged (since, next, page) VALUES (?, ?, ?)",
      [
        .text(pull.since.name), page.next.map { .text($0) } ?? .null,
        try content(of: page, in: file ?? createStagedFile()),
      ])
    return true
  }

  /// The content of a page, or the token by which the file has it.
  private func content(of page: SyncPage, in file: StagedFile?) throws -> FieldValue {
    guard let file else { return .blob(SyncMessageWriter.bytes(page)) }
    let first = try rows("SELECT page FROM tandem_staged ORDER BY position LIMIT 1").first?[0]
    return try file.store(page, after: first, asRows: try isFresh(), hasher)
  }

  /// Throws if no space makes the page: by its keys. A record that comes again in a later page is legal: it
  /// was changed in the meantime.
  func check(_ page: SyncPage, isEvent: Bool = false) throws {
    try page.checkKeys(isEvent: isEvent)
    let schema = try schema()
    for change in page.changes {
      try schema.table(named: change.key.table)?.checkCount(of: change.key.id)
    }
  }

  /// Forgets all pages, as when the space says that the pull must start again.
  package func discardStaged() throws { try run("DELETE FROM tandem_staged", []) }

  /// Forgets the pages that have waited for a decision: it is about what the space has now, and another one may have
  /// answered before.
  func discardUndecided() throws {
    if try state().pullNeed.needsDecision, try staging() == .complete { try discardStaged() }
  }

  /// Demands a pull of the changes since the revision, as when the space has announced a commit.
  package func requirePull() throws {
    var state = try state()
    guard state.pullNeed == .none else { return }
    state.requirePull()
    try save(state)
  }

  /// Forgets the pages of requests that continue from another revision.
  func discardStaged(exceptSince since: SpaceRevision?) throws {
    try run("DELETE FROM tandem_staged WHERE since <> ?", [.text(since.name)])
  }

  /// Calls `body` with each staged page, in order.
  package func forEachStagedPage(_ body: (SyncPage) throws -> Void) throws {
    try forEachStagedPage(in: try stagedFile(), withoutRows: false, body)
  }

  /// - Parameter withoutRows: True to leave out the records that the file has as rows.
  func forEachStagedPage(
    in file: StagedFile?, withoutRows: Bool, _ body: (SyncPage) throws -> Void
  ) throws {
    var position: FieldValue = .integer(.min)
    while let row = try rows(
      "SELECT position, page FROM tandem_staged WHERE position > ? ORDER BY position LIMIT 1",
      [position]
    ).first {
      try body(try stagedPage(row[1], in: file, withoutRows: withoutRows))
      position = row[0]
    }
  }

  /// The number of staged pages, without reading them. Their positions have no gaps.
  func stagedPageCount() throws -> Int {
    let count = try connection.integer(
      """
      SELECT (SELECT max(position) FROM tandem_staged) - (SELECT min(position) FROM tandem_staged) + 1
      """)
    return Int(clamping: count ?? 0)
  }

  /// The last page, without the records that the file has as rows; `nil` if there is none.
  func lastStagedPage(in file: StagedFile?) throws -> SyncPage? {
    try rows("SELECT page FROM tandem_staged ORDER BY position DESC LIMIT 1").first
      .map { try stagedPage($0[0], in: file, withoutRows: true) }
  }

  private func stagedPage(
    _ content: FieldValue, in file: StagedFile?, withoutRows: Bool
  ) throws -> SyncPage {
    var page: SyncPage?
    switch content {
    case .blob(let bytes): page = try? SyncMessageReader(limits: .unlimited).page(bytes)
    default: page = try withoutRows ? file?.pageWithoutRows(content) : file?.page(content)
    }
    guard let page else { throw ReplicaError.damaged("tandem_staged", connection.path) }
    return page
  }

  /// The revision that a pull continues from; `nil` if it brings everything.
  private func pullStart(_ state: ReplicaState) -> SpaceRevision? {
    switch state.pullNeed {
    case .none, .changes, .conflict: state.revision
    case .first, .horizon, .columns, .epoch, .history, .repair: nil
    }
  }

  /// The revision whose history a pull of everything continues; `nil` if the space is known to have another one.
  private func knownRevision(_ state: ReplicaState) -> SpaceRevision? {
    state.pullNeed.needsDecision ? nil : state.revision
  }
}

// MARK: - The file beside the database

extension ReplicaTables {
  /// The file that has the content of staged pages; `nil` if no page is in one. If it lacks one of them, as in a database
  /// that was restored, all pages are forgotten: the pull starts again.
  func stagedFile() throws -> StagedFile? {
    guard let last = try rows(Self.stagedTokens + " DESC LIMIT 1").first?[0] else { return nil }
    if let file = try openedStagedFile() {
      let hasAll = try file.retainOnly(try stagedPageCount(), last: last) {
        try rows(Self.stagedTokens).map { $0[0] }
      }
      if hasAll { return file }
    }
    try discardStaged()
    return nil
  }

  /// The file that is there, which may lack pages.
  func openedStagedFile() throws -> StagedFile? {
    guard let (companion, schema, layout) = try stagedFileLayout() else { return nil }
    return StagedFile(companion, schema, layout: layout)
  }

  private static let stagedTokens =
    "SELECT page FROM tandem_staged WHERE typeof(page) = 'text' ORDER BY position"

  private func createStagedFile() throws -> StagedFile? {
    guard let (companion, schema, layout) = try stagedFileLayout() else { return nil }
    try connection.checkIsFileThere()
    return try StagedFile.created(companion, schema, layout: layout)
  }

  /// The file, and the tables that it is made for.
  private func stagedFileLayout() throws -> (CompanionFile, ReplicaSchema, layout: String)? {
    guard let companion = CompanionFile(of: connection) else { return nil }
    let schema = try schemaAsItIs().schema
    var layout = String(
      decoding: SyncMessageWriter.bytes(schema.tables.map(\.declaration)), as: UTF8.self)
    for table in schema.tables {
      layout += try connection.declaration(ofTable: table.name) ?? ""
    }
    return (companion, schema, layout)
  }

  /// Removes the file unless it has pages that are not applied.
  package func removeStagedFile() throws {
    guard try rows(Self.stagedTokens + " LIMIT 1").isEmpty else { return }
    CompanionFile(of: connection)?.remove()
  }

  /// True if the file has no rows, former versions or edits yet: then what comes first are rows as they are.
  func isFresh() throws -> Bool {
    guard try state().pullNeed == .first, try rows("SELECT 1 FROM tandem_parked LIMIT 1").isEmpty
    else { return false }
    return try schema().tables.allSatisfy { table in
      try [table.name, table.shadow.name, table.asideName].allSatisfy {
        try rows("SELECT 1 FROM \($0.sqlQuoted) LIMIT 1").isEmpty
      }
    }
  }

  /// True if all staged pages are in the file, and their rows can be copied.
  func canCopyRows() throws -> Bool {
    try isFresh()
      && rows("SELECT 1 FROM tandem_staged WHERE typeof(page) <> 'text' LIMIT 1").isEmpty
  }
}

extension Optional where Wrapped == SpaceRevision {
  /// The text of the revision; `everything` for none.
  fileprivate var name: String { self?.description ?? "everything" }
}
