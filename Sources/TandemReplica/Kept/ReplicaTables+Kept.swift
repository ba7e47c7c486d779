internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

extension ReplicaTables {
  /// The number of resolved edits that a file keeps. Open ones are always kept.
  package static var maxResolvedEditCount: Int { 10_000 }

  /// The statement that creates the table of the kept edits.
  static let keptCreation = """
    CREATE TABLE tandem_kept (
      id INTEGER PRIMARY KEY, "table" TEXT NOT NULL, "key" TEXT NOT NULL, kind TEXT NOT NULL, reason TEXT,
      fields TEXT, base TEXT, "local" TEXT, remote TEXT, others TEXT, resolution TEXT NOT NULL,
      version INTEGER, reported_in INTEGER, UNIQUE ("table", "key", id))
    """
}

// MARK: - The list

extension ReplicaTables {
  /// The kept edits, in the order in which they came.
  ///
  /// - Parameter includesResolved: False for open ones only.
  package func keptEdits(
    _ selection: KeptEdit.Selection, includingResolved includesResolved: Bool = false
  ) throws -> [KeptEdit] {
    try keptEdits(
      selection.condition + (includesResolved ? "" : " AND resolution = 'unresolved'"))
  }

  private func keptEdits(_ condition: String) throws -> [KeptEdit] {
    try rows(
      """
      SELECT id, "table", "key", kind, reason, fields, base, "local", remote, others, resolution
      FROM \(keptSource()) WHERE \(condition) ORDER BY id
      """
    ).map { row in
      guard case .integer(let id) = row[0], case .text(let table) = row[1],
        case .text(let keyText) = row[2], case .text(let kindText) = row[3],
        case .text(let resolutionText) = row[10],
        let key = try? SyncMessageReader(limits: .unlimited).id(Array(keyText.utf8)),
        let kind = KeptEdit.Kind(rawValue: kindText),
        let resolution = KeptEdit.Resolution(rawValue: resolutionText)
      else { throw ReplicaError.damaged("tandem_kept", connection.path) }
      let versions = try row[6...9].map { try record($0, of: "tandem_kept") }
      let fields = try fieldNames(row[5])
      return KeptEdit(
        id: id, key: SyncKey(table: table, id: key), kind: kind,
        reason: row[4].textValue ?? kind.reason(fields), fields: fields, base: versions[0],
        local: versions[1], remote: kind == .edit ? versions[0] : versions[2],
        others: versions[3], resolution: resolution)
    }
  }

  private func fieldNames(_ value: FieldValue) throws -> [String]? {
    guard case .text(let text) = value else { return nil }
    guard let values = try? SyncMessageReader(limits: .unlimited).id(Array(text.utf8)) else {
      throw ReplicaError.damaged("tandem_kept", connection.path)
    }
    return values.compactMap(\.textValue)
  }

  /// The number of edits that nobody has decided on.
  func openCount(_ selection: KeptEdit.Selection) throws -> Int {
    try count("\(keptSource()) WHERE resolution = 'unresolved' AND \(selection.condition)")
  }
}

extension KeptEdit.Selection {
  fileprivate var condition: String {
    switch self {
    case .conflicts: "kind NOT IN ('edit', 'row', 'record')"
    case .rejected: "kind IN ('edit', 'row', 'record')"
    case .all: "TRUE"
    case .one(let id): "id = \(id)"
    }
  }
}

extension KeptEdit.Kind {
  /// The reason of a conflict, for people.
  fileprivate func reason(_ fields: [String]?) -> String {
    switch self {
    case .editEdit: "both sides changed \(fields.map { $0.joined(separator: ", ") } ?? "it")"
    case .addAdd: "both sides added it, with different values"
    case .editDelete: "this file changed it, and the space deleted it"
    case .deleteEdit: "this file deleted it, and the space changed it"
    case .edit, .row, .record: ""
    }
  }
}

// MARK: - Taking note

extension ReplicaTables {
  /// Keeps the versions of a conflict, with its resolution, and the version of the space that this file knows.
  func record(
    _ conflict: MergeConflict<Record>, _ resolution: MergeResolution<Record>, _ key: SyncKey,
    fields: [String]? = nil
  ) throws {
    let version = try state().revision?.version ?? 0
    let outcome: KeptEdit.Resolution
    switch resolution {
    case .local: outcome = .local
    case .remote: outcome = .remote
    case .unresolved: outcome = .unresolved
    case .merged: outcome = .merged
    case .deleted:
      outcome = conflict.local == nil ? .local : conflict.remote == nil ? .remote : .merged
    }
    let names = fields.map { names in
      let values = names.map { FieldValue.text($0) }
      return FieldValue.text(
        String(decoding: SyncMessageWriter.bytes(id: values), as: UTF8.self))
    }
    try keep(
      key,
      [
        .text(conflict.kind.rawValue), .null, names ?? .null, conflict.base.storedText,
        conflict.local.storedText, conflict.remote.storedText, .null, .text(outcome.rawValue),
        .integer(Int64(version)), .null,
      ])
  }

  func record(_ conflict: RowMerge.Conflict, _ key: SyncKey) throws {
    try record(conflict.versions, conflict.resolution, key, fields: conflict.fields)
  }

  /// Keeps an edit from one version to another that was taken out of its row.
  ///
  /// Call it while the former version of the row is there, and before the row is deleted: columns
  /// that are not synchronized are kept with it.
  ///
  /// - Returns: The number of the kept edit.
  func reject(
    _ key: SyncKey, _ reason: String, _ content: Record?, from base: Record?, others: Record? = nil
  ) throws -> KeptEdit.ID {
    let others =
      try others ?? schema().table(named: key.table).flatMap { try otherValues($0, key.id) }
    try note(.edit, key, reason, base: base, local: content, others: others)
    return try connection.integer("SELECT last_kept FROM tandem_state") ?? 0
  }

  /// Notes an edit that is still in its row and cannot be sent.
  func noteRow(_ key: SyncKey, _ reason: String) throws {
    // What kept it in its row before is no longer so.
    try run(
      "DELETE FROM tandem_kept WHERE \"table\" = ? AND \"key\" = ? AND kind = 'row' AND reason <> ?",
      [.text(key.table), .text(key.idText), .text(reason)])
    try note(.row, key, reason)
  }

  /// Notes a version of the space that the table does not accept; `nil` if the row has it, or there is
  /// none any more.
  func noteParked(_ parked: ParkedFields?, _ key: SyncKey) throws {
    try run(
      "DELETE FROM tandem_kept WHERE \"table\" = ? AND \"key\" = ? AND kind = 'record'",
      [.text(key.table), .text(key.idText)])
    guard let parked, let reason = parked.reason else { return }
    switch parked.extent {
    case .record:
      try note(.record, key, "this file has no row for it: \(reason)", remote: parked.fields)
    case .fields:
      try note(
        .record, key, "the row has other values of these fields: \(reason)", remote: parked.fields)
    case .deletion:
      try note(.record, key, "the space has deleted it, the row is still here: \(reason)")
    }
  }

  private func note(
    _ kind: KeptEdit.Kind, _ key: SyncKey, _ reason: String, base: Record? = nil,
    local: Record? = nil, remote: Record? = nil, others: Record? = nil
  ) throws {
    // An edit that is still in its row, or a version of the space, is noted once. Two equal edits are two.
    if kind != .edit {
      let known = try rows(
        """
        SELECT 1 FROM tandem_kept
        WHERE "table" = ? AND "key" = ? AND kind = ? AND reason = ? AND remote IS ?
        """,
        [
          .text(key.table), .text(key.idText), .text(kind.rawValue), .text(reason),
          remote.storedText,
        ])
      guard known.isEmpty else { return }
    }
    // Only the versions of conflicts are reported to the space.
    try keep(
      key,
      [
        .text(kind.rawValue), .text(reason), .null, base.storedText, local.storedText,
        remote.storedText, others.storedText, .text(KeptEdit.Resolution.unresolved.rawValue),
        .null, 0,
      ])
  }

  /// Numbers of edits that were forgotten are not used again.
  private func keep(_ key: SyncKey, _ values: [FieldValue]) throws {
    try run("UPDATE tandem_state SET last_kept = last_kept + 1", [])
    try run(
      """
      INSERT INTO tandem_kept (
        id, "table", "key", kind, reason, fields, base, "local", remote, others, resolution, version,
        reported_in)
      VALUES ((SELECT last_kept FROM tandem_state), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, [.text(key.table), .text(key.idText)] + values)
  }

  func forget(keptEdit id: KeptEdit.ID) throws {
    try run("DELETE FROM tandem_kept WHERE id = ?", [.integer(id)])
  }

  /// Removes the oldest edits that are resolved and known to the space, beyond the limit.
  func pruneKeptEdits() throws {
    try run(
      """
      DELETE FROM tandem_kept WHERE resolution <> 'unresolved' AND reported_in = 0
        AND id <= (SELECT max(id) FROM tandem_kept) - ?
      """, [.integer(Int64(ReplicaTables.maxResolvedEditCount))])
  }

  /// Forgets the notes on rows whose edits have been sent, undone or replaced. A replaced version
  /// is kept as a conflict.
  func pruneNotes() throws {
    for note in try keptEdits("kind = 'row'") {
      guard let table = try schema().table(named: note.key.table) else { continue }
      let isTouched = table.keyNames.map { name in
        "\(name.sqlQuoted) IN (?, +CAST(? AS TEXT))"
      }.joined(separator: " AND ")
      let found = try rows(
        "SELECT 1 FROM \(table.shadow.name.sqlQuoted) WHERE \(isTouched)",
        note.key.id.flatMap { [$0, $0] })
      if found.isEmpty { try forget(keptEdit: note.id) }
    }
  }
}

extension Optional<Record> {
  /// The version as a column of `tandem_kept` has it.
  fileprivate var storedText: FieldValue { map { .text($0.text) } ?? .null }
}
