internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
package import TandemSync

extension ReplicaTables {
  /// The number of keys that are read at a time, where there may be many.
  private static var keyStepCount: Int { 500 }

  /// The message of the commit that waits for an outcome; `nil` if none does.
  package func outbox() throws -> [UInt8]? {
    guard let row = try rows("SELECT message FROM tandem_outbox").first else { return nil }
    guard case .blob(let bytes) = row[0] else {
      throw ReplicaError.damaged("tandem_outbox", connection.path)
    }
    return bytes
  }

  /// The identity of the commit that waits for an outcome, and the number of its changes.
  func outboxSummary() throws -> SyncSummary.Outbox? {
    guard let row = try rows("SELECT id, change_count FROM tandem_outbox").first else { return nil }
    guard case .text(let text) = row[0], let id = SyncToken(text), case .integer(let count) = row[1]
    else { throw ReplicaError.damaged("tandem_outbox", connection.path) }
    return SyncSummary.Outbox(commit: id, changeCount: Int(clamping: count))
  }

  /// The commit that waits for an outcome; `nil` if none does.
  package func pendingCommit() throws -> SyncCommit? {
    guard let bytes = try outbox() else { return nil }
    guard let commit = try? SyncMessageReader(limits: .unlimited).commit(bytes) else {
      throw ReplicaError.damaged("tandem_outbox", connection.path)
    }
    return commit
  }

  /// Makes a commit of the difference between rows and shadows, and stores it as the outbox.
  ///
  /// The shadows of its rows are set aside. From now on, the triggers keep the frozen version of a
  /// row that changes again. If there are more changes than the limits allow, the commit has a part
  /// of them, in the order of tables and keys.
  ///
  /// A row that no message can hold stays as it is, and is noted in `tandem_rejected`.
  ///
  /// - Returns: The bytes to send; `nil` if there is nothing to send, if a pull has to come first,
  ///   or if a commit waits for its outcome.
  package func freeze(
    _ merging: ReplicaMerging, limits: SyncLimits = SyncLimits(),
    using generator: inout some RandomNumberGenerator
  ) throws -> [UInt8]? {
    let schema = try schema()
    let state = try state()
    guard let base = state.revision, state.pullNeed == .none, try outboxSummary() == nil else {
      return nil
    }
    // A page that arrived before this commit cannot be applied after it.
    try discardStaged()
    var budget = FreezeBudget(limits)
    var changes: [SyncChange] = []
    try readingRows {
      for table in schema.tables {
        try freeze(table, merging.merging(of: table.name), base, into: &changes, &budget)
      }
    }
    try pruneNotes()
    let sequence = state.sequence + 1
    let overruled = try unreportedVersions(in: sequence, &budget)
    guard !changes.isEmpty || !overruled.isEmpty else { return nil }
    let commit = SyncCommit(
      replica: state.replica, sequence: sequence, id: .random(using: &generator), base: base,
      changes: changes, overruled: overruled)
    let bytes = SyncMessageWriter.bytes(commit)
    try run(
      "INSERT INTO tandem_outbox (one, id, change_count, message) VALUES (1, ?, ?, ?)",
      [.text(commit.id.description), .integer(Int64(changes.count)), .blob(bytes)])
    return bytes
  }

  /// Freezes the changes of one table, as far as the budget goes.
  private func freeze(
    _ table: ReplicaTable, _ merging: TableMerging, _ base: SpaceRevision,
    into changes: inout [SyncChange], _ budget: inout FreezeBudget
  ) throws {
    var frozen: [[FieldValue]] = []
    var last: KeyPage.Position?
    repeat {
      var unchanged: [[FieldValue]] = []
      var isFull = false
      var step = try forEachTouchedRow(table, after: last) { key, row in
        guard let verbs = try sendableChange(of: row, key, merging) else { return true }
        let syncKey = table.syncKey(key)
        guard !verbs.isEmpty else {
          unchanged.append(key)
          if row.isWrittenAnew { try unpark(table, syncKey, row.local) }
          return true
        }
        let change = verbs.map { SyncChange(key: syncKey, verb: $0) }
        switch budget.take(change) {
        case .tooLarge:
          try noteRow(
            syncKey, "the record is longer than \(budget.limits.maxRecordByteCount) bytes")
        case .spent:
          isFull = true
          return false
        case .taken:
          changes += change
          frozen.append(key)
          if row.isWrittenAnew, let local = row.local, let unseen = row.base {
            // The row has only a version that the table can hold. The one that it replaces is recorded.
            try record(
              .addAdd(local: local, remote: unseen), .local, syncKey, version: base.version)
          }
        }
        return !budget.isSpent
      }
      if step.hasUnreadable, !isFull {
        let page = try keys(of: table, in: table.shadow.name, after: last)
        for key in page.unreadable { try noteUnreadable(key, table) }
        step.next = page.next
      }
      for key in unchanged { try setShadow(nil, table, key) }
      last = step.next
    } while last != nil && !budget.isSpent
    try setAside(table, frozen)
  }

  /// The change of a row; empty if there is none, `nil` if no message can hold it, which is noted.
  private func sendableChange(
    of row: ReplicaRow, _ key: [FieldValue], _ merging: TableMerging
  ) throws -> [SyncChange.Verb]? {
    let syncKey = row.table.syncKey(key)
    guard !row.isUnreadable else {
      try noteRow(syncKey, "a text is not UTF-8; store it as a blob, or repair it")
      return nil
    }
    guard RecordEncoding.byteCount(of: syncKey) <= SyncLimits.maxKeyByteCount else {
      try noteRow(syncKey, "the key is longer than \(SyncLimits.maxKeyByteCount) bytes")
      return nil
    }
    return RowDifference(base: row.base, local: row.local, merging).verbs
  }

  /// Sets the former versions of frozen rows aside.
  private func setAside(_ table: ReplicaTable, _ keys: [[FieldValue]]) throws {
    let statements = table.statements
    guard !keys.isEmpty else { return }
    guard try connection.integer(statements.countShadows) != Int64(keys.count) else {
      try run(statements.setAllAside, [])
      return try run(statements.deleteShadows, [])
    }
    for key in keys {
      try run(statements.setAside, key)
      try setShadow(nil, table, key)
    }
  }

  /// Some keys of a table with the key columns of another one, ascending, after a given one. Keys
  /// with a null are left out.
  func keys(
    of table: ReplicaTable, in list: String, after last: KeyPage.Position?
  ) throws -> KeyPage {
    let names = table.keyNames.sqlList
    var conditions = table.keyNames.map { "\($0.sqlQuoted) NOT NULL" }
    if let last { conditions.append("(\(names)) > (\(last.marks.joined(separator: ", ")))") }
    let rest = """
      FROM \(list.sqlQuoted) WHERE \(conditions.joined(separator: " AND "))
      ORDER BY \(names) LIMIT \(ReplicaTables.keyStepCount)
      """
    let (keys, unreadable) = try readableRows("SELECT \(names) \(rest)", last?.values ?? [])
    var page = KeyPage(keys: keys)
    if !unreadable.isEmpty {
      // Again, with the bytes of texts.
      let columns = table.keyNames.map { name in
        let name = name.sqlQuoted
        return "CASE typeof(\(name)) WHEN 'text' THEN CAST(\(name) AS BLOB) ELSE \(name) END, "
          + "typeof(\(name)) = 'text'"
      }
      let raw = try rows(
        "SELECT \(columns.joined(separator: ", ")) \(rest)", last?.values ?? []
      ).map(KeyPage.Position.init(columns:))
      page.unreadable = unreadable.map { raw[$0] }
      page.next = raw.last
    } else {
      page.next = keys.last.map(KeyPage.Position.init(key:))
    }
    // In a UTF-16 database, SQLite may alter the bytes of such a text, so that nothing comes after it.
    let isLast = keys.count + unreadable.count < ReplicaTables.keyStepCount
    if isLast || page.next?.values == last?.values { page.next = nil }
    return page
  }

  /// Notes a row whose key is a text that is not UTF-8. If there is no such row any more, forgets
  /// that it has changed: the space never had it.
  private func noteUnreadable(_ key: KeyPage.Position, _ table: ReplicaTable) throws {
    let condition = zip(table.keyNames, key.marks).map { "\($0.sqlQuoted) = \($1)" }
      .joined(separator: " AND ")
    let name = table.name.sqlQuoted
    if try rows("SELECT 1 FROM \(name) WHERE \(condition)", key.values).isEmpty {
      try run("DELETE FROM \(table.shadow.name.sqlQuoted) WHERE \(condition)", key.values)
    } else {
      try noteRow(
        table.syncKey(key.values),
        "the key has a text that is not UTF-8 (its bytes are shown as a blob); repair it")
    }
  }

  /// The rows of a query, and the offsets of those that are left out because they have a text that
  /// is not UTF-8: no message can name such a key.
  func readableRows(
    _ sql: String, _ values: [FieldValue]
  ) throws -> (rows: [[FieldValue]], unreadable: [Int]) {
    try connection.withStatement(sql) { statement throws(DatabaseError) in
      try statement.bind(values)
      var rows: [[FieldValue]] = []
      var unreadable: [Int] = []
      while try statement.step() {
        do throws(DatabaseError) {
          rows.append(try statement.values())
        } catch {
          guard error.code == .mismatch else { throw error }
          unreadable.append(rows.count + unreadable.count)
        }
      }
      return (rows, unreadable)
    }
  }

  /// The versions that merges overruled and no commit has reported; they are reported in the given
  /// commit. One that is too long for a message stays in `tandem_conflicts` alone.
  private func unreportedVersions(
    in sequence: Int, _ budget: inout FreezeBudget
  ) throws -> [SyncRecordState] {
    let found = try rows(
      """
      SELECT id, "table", "key", base, "local", remote, resolution, version FROM tandem_conflicts
      WHERE reported_in IS NULL ORDER BY id LIMIT \(budget.limits.maxCommitChangeCount)
      """)
    var versions: [SyncRecordState] = []
    for row in found {
      guard case .text(let table) = row[1], case .text(let idText) = row[2],
        case .integer(let version) = row[7],
        let id = try? SyncMessageReader(limits: .unlimited).id(Array(idText.utf8))
      else { throw ReplicaError.damaged("tandem_conflicts", connection.path) }
      let overruled = row[6] == "local" ? row[5] : row[4]
      var fields: Record?
      if case .text(let text) = overruled {
        guard let record = try? SyncMessageReader(limits: .unlimited).fields(Array(text.utf8))
        else {
          throw ReplicaError.damaged("tandem_conflicts", connection.path)
        }
        fields = record
      }
      let state = SyncRecordState(
        key: SyncKey(table: table, id: id), version: Int(clamping: version), fields: fields)
      switch budget.take(state) {
      case .spent: return versions
      case .taken: versions.append(state)
      case .tooLarge: break
      }
      try run(
        "UPDATE tandem_conflicts SET reported_in = ? WHERE id = ?",
        [.integer(Int64(sequence)), row[0]])
    }
    return versions
  }
}

/// Some keys of a table, in ascending order.
struct KeyPage {
  /// A key, with texts that are not UTF-8.
  struct Position {
    /// The values; texts are blobs of their bytes if one of them is not UTF-8.
    let values: [FieldValue]
    /// The expressions of the values, each with a parameter. A cast has an affinity, which could
    /// change the comparison; the sign removes it.
    let marks: [String]

    /// True if it has bytes of texts.
    var isRaw: Bool { marks.contains { $0 != "?" } }

    /// A key that can be read.
    init(key: [FieldValue]) {
      values = key
      marks = key.map { _ in "?" }
    }

    /// A key as a query returns it: for each column its value, and whether it is a text.
    init(columns: [FieldValue]) {
      values = columns.indices.filter { $0 % 2 == 0 }.map { columns[$0] }
      marks = columns.indices.filter { $0 % 2 == 1 }.map { offset in
        columns[offset] == 1 ? "+CAST(? AS TEXT)" : "?"
      }
    }
  }

  /// The keys that can be read.
  var keys: [[FieldValue]]
  /// The other keys.
  var unreadable: [Position] = []
  /// The last key, if there may be more.
  var next: Position?
}

/// The room that is left in a commit.
private struct FreezeBudget {
  enum Answer {
    case taken
    /// The commit is full.
    case spent
    /// No commit can hold the record.
    case tooLarge
  }

  /// The bytes of a commit's message beside its changes, with room to spare.
  private static let frameByteCount = 4_096

  let limits: SyncLimits
  private var byteCount: Int
  private var changeCount: Int
  private var overruledCount: Int
  /// Measures the messages of changes, one after the other.
  private var json = JSONWriter()

  init(_ limits: SyncLimits) {
    self.limits = limits
    byteCount = limits.maxCommitByteCount - FreezeBudget.frameByteCount
    changeCount = limits.maxCommitChangeCount
    overruledCount = limits.maxCommitChangeCount
  }

  var isSpent: Bool { changeCount <= 0 || byteCount <= 0 }

  mutating func take(_ changes: [SyncChange]) -> Answer {
    let lengths = changes.map { change in
      json.removeAll()
      json.write(change)
      return json.bytes.count
    }
    if lengths.contains(where: { $0 > limits.maxRecordByteCount }) { return .tooLarge }
    let total = lengths.reduce(0, +) + lengths.count
    guard changes.count <= changeCount, total <= byteCount else { return .spent }
    changeCount -= changes.count
    byteCount -= total
    return .taken
  }

  mutating func take(_ state: SyncRecordState) -> Answer {
    var json = JSONWriter()
    json.write(state)
    guard json.bytes.count <= limits.maxRecordByteCount else { return .tooLarge }
    guard overruledCount > 0, json.bytes.count < byteCount else { return .spent }
    overruledCount -= 1
    byteCount -= json.bytes.count + 1
    return .taken
  }
}

/// The changes of one record since its base.
struct RowDifference {
  /// The verbs that make the base the local version; two if some fields are set and others are
  /// counted.
  private(set) var verbs: [SyncChange.Verb] = []

  init(base: Record?, local: Record?, _ merging: TableMerging) {
    switch (base, local) {
    case (nil, nil): return
    case (nil, let local?): verbs = [.insert(local.withoutNulls)]
    case (_?, nil): verbs = [.delete]
    case (let base?, let local?): addUpdates(base, local, merging)
    }
  }

  private mutating func addUpdates(_ base: Record, _ local: Record, _ merging: TableMerging) {
    var updates: [(name: String, value: FieldValue)] = []
    var additions: [(name: String, value: FieldValue)] = []
    var names: [String] = []
    if base.layout === local.layout {
      names = local.values.indices
        .filter { !base.values[$0].hasSameStorage(as: local.values[$0]) }
        .map { local.layout.names[$0] }
    } else {
      names = local.layout.names
      names += base.layout.names.filter { local.layout.offset(of: $0) == nil }
    }
    for name in names where !base[name].hasSameStorage(as: local[name]) {
      if merging.isCounter(name), case .integer(let old) = base[name],
        case .integer(let new) = local[name]
      {
        let (addition, overflow) = new.subtractingReportingOverflow(old)
        if !overflow {
          additions.append((name, .integer(addition)))
          continue
        }
      }
      updates.append((name, local[name]))
    }
    if !updates.isEmpty { verbs.append(.update(Record(uniqueFields: updates))) }
    if !additions.isEmpty { verbs.append(.add(Record(uniqueFields: additions))) }
  }
}

extension Record {
  /// A record of fields whose names are known to be unique.
  fileprivate init(uniqueFields fields: [(name: String, value: FieldValue)]) {
    self.init(
      uncheckedLayout: RecordLayout(uniqueNames: fields.map(\.name)), values: fields.map(\.value))
  }

  /// The record without the fields that are null, which count as absent.
  var withoutNulls: Record {
    guard values.contains(where: \.isNull) else { return self }
    let kept = values.indices.filter { !values[$0].isNull }
    return Record(
      uncheckedLayout: RecordLayout(uniqueNames: kept.map { layout.names[$0] }),
      values: kept.map { values[$0] })
  }

  /// The record after a change by one verb of an update.
  func applying(_ verb: SyncChange.Verb) -> Record {
    var record = self
    switch verb {
    case .insert, .delete: break
    case .update(let fields):
      for (name, value) in zip(fields.layout.names, fields.values) {
        record[field: FieldName(name)] = value.isNull ? nil : value
      }
    case .add(let fields):
      for (name, value) in zip(fields.layout.names, fields.values) {
        guard case .integer(let old) = record[name], case .integer(let addition) = value else {
          continue
        }
        record[field: FieldName(name)] = .integer(old &+ addition)
      }
    }
    return record
  }
}

extension SyncLimits {
  /// The limits for messages that Tandem itself has stored.
  static var unlimited: SyncLimits {
    SyncLimits(
      maxRecordByteCount: 1 << 40, maxCommitByteCount: 1 << 40, maxCommitChangeCount: 1 << 40,
      maxPageByteCount: 1 << 40, maxPageChangeCount: 1 << 40)
  }
}
