import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync

/// What the laws ask about a file.
struct FileView {
  let hasRow: Bool
  /// The edit that wrote the first field.
  let value: Int?
  let editCount: Int
  let isUpToDate: Bool
  let version: Int
  let digest: RecordDigest
  let openConflict: Int64?
  /// The edits in records of conflicts and rejections.
  let recorded: Set<Int>
  let hasRecords: Bool
  /// With rules: all rows, the rows that lack their parent, the names of all edits, and the keys of kept edits.
  var rows: [[FieldValue]] = []
  var orphanCount = 0
  var edits = ""
  var keptKeys: Set<String> = []
}

/// What the laws ask about the space.
struct SpaceView {
  let value: Int?
  let hasRow: Bool
  let count: FieldValue
  /// The digests of all versions.
  let digests: [RecordDigest]
}

extension Exhaustion {
  func view(ofFile image: Int32) throws -> FileView {
    if let view = fileViews[image] { return view }
    try files[image].restore(file)
    let view = try file.read { connection in
      let tables = file.replica(connection)
      let row = try hasRules ? nil : connection.rows("SELECT x FROM t").first
      let summary = try tables.summary()
      let texts = try connection.rows(
        """
        SELECT iif(kind = 'edit', '', ifnull(base, '')) || ifnull("local", '') || ifnull(remote, '') FROM tandem_kept
        """
      ).compactMap(\.first?.textValue)
      var view = FileView(
        hasRow: row != nil,
        value: row?[0].textValue.flatMap { EditLedger.edits(in: $0).first },
        editCount: Int(try connection.integer("SELECT count FROM edits") ?? 0),
        isUpToDate: summary.isUpToDate, version: summary.sync.revision?.version ?? -1,
        digest: try tables.computedDigest(),
        openConflict: try tables.keptEdits(.conflicts).first?.id,
        recorded: Set(texts.flatMap(EditLedger.edits)), hasRecords: !texts.isEmpty)
      if hasRules { try addRows(to: &view, connection) }
      return view
    }
    fileViews[image] = view
    return view
  }

  private func addRows(to view: inout FileView, _ connection: DatabaseConnection) throws {
    view.rows = try connection.rows("SELECT id, x FROM p UNION ALL SELECT id, p FROM c ORDER BY id")
    view.orphanCount = try connection.rows("PRAGMA foreign_key_check").count
    view.edits = try connection.rows("SELECT names FROM edits").first?[0].textValue ?? ""
    view.keptKeys = Set(
      try connection.rows("SELECT \"key\" FROM tandem_kept").compactMap { $0[0].textValue })
  }

  func view(ofSpace image: Int32) throws -> SpaceView {
    if let view = spaceViews[image] { return view }
    try spaces[image].restore(spaceDatabase)
    let view = try spaceDatabase.read { connection in
      let all = try SpaceTables(connection).page(SyncPull(replica: nil, since: nil))
      var fields: Record?
      if case .page(let page) = all { fields = page.changes.first?.fields }
      let digests = try connection.rows("SELECT digest FROM history ORDER BY version")
      return SpaceView(
        value: fields?["x"].textValue.flatMap { EditLedger.edits(in: $0).first },
        hasRow: fields != nil, count: fields?["n"] ?? .null,
        digests: digests.compactMap { $0[0].textValue.flatMap { RecordDigest($0) } })
    }
    spaceViews[image] = view
    return view
  }

  /// The base of a file is exactly the state of the space at its revision.
  func checkBase(_ state: State, _ number: Int) throws {
    let view = try view(ofFile: state.files[number])
    let digests = try self.view(ofSpace: state.space).digests
    guard digests.indices.contains(view.version), digests[view.version] == view.digest else {
      throw SimulationViolation(
        "the base of file \(number) is not the state of version \(view.version)")
    }
  }

  /// The laws of the end.
  func checkEnd(_ state: State) throws {
    let space = try view(ofSpace: state.space)
    let files = try state.files.map { try view(ofFile: $0) }
    for (number, file) in files.enumerated() where file.digest != space.digests.last {
      throw SimulationViolation("file \(number) does not have the records of the space")
    }
    guard !hasRules else { return try checkRules(files) }
    let recorded = files.reduce(into: Set<Int>()) { $0.formUnion($1.recorded) }
    let ledger = ledgers[state.ledger]
    try ledger.check(
      final: space.value, hasRow: space.hasRow, count: space.count, recorded: recorded,
      hasRecords: files.contains(where: \.hasRecords))
  }

  /// The rules hold, both files have the same rows, and each row that was added and that nobody deleted is there or kept.
  private func checkRules(_ files: [FileView]) throws {
    guard files[0].rows == files[1].rows else {
      throw SimulationViolation("the files have different rows")
    }
    guard files[0].orphanCount == 0 else { throw SimulationViolation("a row lacks its parent") }
    let additions = [
      ("addFirst", "deleteFirst", "a"), ("addSecond", "none", "b"),
      ("addChild", "deleteChild", "k"),
    ]
    for (addition, deletion, key) in additions {
      let edits = files[0].edits + files[1].edits
      guard edits.contains(addition), !edits.contains(deletion) else { continue }
      let isThere =
        files[0].rows.contains { $0[0] == .text(key) }
        || files.contains { $0.keptKeys.contains("[\"\(key)\"]") }
      if !isThere { throw SimulationViolation("the row \(key) is lost") }
    }
  }
}
