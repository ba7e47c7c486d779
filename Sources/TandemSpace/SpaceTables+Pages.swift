internal import TandemRecords
internal import TandemSQLite
package import TandemSync

extension SpaceTables {
  /// A page of the records that changed after a revision, or of all live records.
  ///
  /// - Parameter account: The account that asks; `nil` where there are no accounts.
  /// - Throws: ``TandemSync/SyncRequestError`` with code `malformed` for a cursor that no page of this
  ///   request had, and with code `unauthorized` for a replica of another account;
  ///   ``DatabaseError``; ``SpaceError``.
  package func page(_ pull: SyncPull, account: String? = nil) throws -> SyncPullAnswer {
    if let account, let replica = pull.replica { try checkOwner(of: replica, account) }
    let state = try state()
    let position = try position(pull, state)
    // The history may have been lost, and the horizon may have moved, since the page before.
    if let gone = try gone(position.anchor, state) { return .gone(gone) }
    if let known = pull.known, let gone = try gone(known, state), gone != .horizon {
      return .gone(gone)
    }
    let (changes, next) = try changes(after: position, pull)
    return .page(
      SyncPage(
        revision: state.head, digest: state.digest,
        replica: try pull.replica.flatMap { try standing(of: $0) }, changes: changes,
        next: next?.description,
        numbers: pull.asksForNumbers ? try numbers(of: state.tables) : nil))
  }

  private func position(_ pull: SyncPull, _ state: SpaceState) throws(SyncRequestError)
    -> PagePosition
  {
    guard let cursor = pull.cursor else {
      // All live records are anchored at the head that the first page sees.
      return PagePosition(
        anchor: pull.since ?? state.head, version: pull.since.map { $0.version + 1 } ?? 0,
        table: "",
        key: nil)
    }
    guard let position = PagePosition(cursor), pull.since ?? position.anchor == position.anchor
    else {
      throw SyncRequestError(
        .malformed, "the cursor is not that of a page of this request; start again")
    }
    return position
  }

  /// The records after a position, up to the limits of a page, and the position of the next page.
  private func changes(
    after position: PagePosition, _ pull: SyncPull
  ) throws -> ([SyncRecordState], PagePosition?) {
    // A replica that starts from nothing need not know of records that were deleted before.
    let deletionsAfter = pull.since == nil ? position.anchor.version : -1
    let maxCount = max(1, min(pull.maxChangeCount, limits.maxPageChangeCount))
    var changes: [SyncRecordState] = []
    var last = position
    var hasMore = false
    var byteCount = 0
    try connection.forEachRow(
      .changes,
      [
        .integer(Int64(position.version)), .text(position.table),
        // No record has an empty key.
        .blob(position.key ?? []), .integer(Int64(deletionsAfter)),
      ]
    ) { row in
      hasMore = changes.count == maxCount || byteCount >= limits.maxPageByteCount
      guard !hasMore else { return false }
      guard row.count == 5, case .integer(let version) = row[0], case .text(let table) = row[1],
        case .blob(let keyBytes) = row[2], case .text(let idText) = row[3]
      else { throw damaged("a record") }
      let key = try storedKey(table, idText)
      let former = changes.last?.fields?.layout
      changes.append(
        SyncRecordState(
          key: key, version: Int(version),
          fields: try fields(row[4], of: key, expecting: former)))
      byteCount += row.reduce(0) { $0 + $1.textByteCount }
      last = PagePosition(
        anchor: position.anchor, version: Int(version), table: table, key: keyBytes)
      return true
    }
    return (changes, hasMore ? last : nil)
  }
}

extension FieldValue {
  /// The number of bytes of a text; 0 for other values.
  fileprivate var textByteCount: Int {
    if case .text(let text) = self { text.utf8.count } else { 0 }
  }
}

/// The position after the last record of a page, and the revision that the whole request started
/// from: the changes since that revision must still be known.
private struct PagePosition: CustomStringConvertible {
  let anchor: SpaceRevision
  let version: Int
  let table: String
  /// `nil` before the first record of the version.
  let key: [UInt8]?

  init(anchor: SpaceRevision, version: Int, table: String, key: [UInt8]?) {
    self.anchor = anchor
    self.version = version
    self.table = table
    self.key = key
  }

  init?(_ text: String) {
    let parts = text.split(separator: "~", omittingEmptySubsequences: false)
    guard parts.count == 4, let anchor = SpaceRevision(parts[0]), let version = Int(parts[1]),
      version >= 0, let table = [UInt8](hexadecimal: parts[2].utf8),
      let name = String(validating: table, as: UTF8.self),
      let key = [UInt8](hexadecimal: parts[3].utf8)
    else { return nil }
    self.init(anchor: anchor, version: version, table: name, key: key)
  }

  var description: String {
    "\(anchor)~\(version)~\(Array(table.utf8).hexadecimal)~\((key ?? []).hexadecimal)"
  }
}
