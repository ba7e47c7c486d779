internal import CSQLite
internal import TandemRecords

/// Records the keys of the rows that a connection changes, by SQLite's preupdate hook.
///
/// This hook sees more than the update hook: rows removed by `REPLACE`, by a `DELETE` without
/// `WHERE`, by cascades and triggers, and tables without rowid. A savepoint that is rolled back may
/// leave keys of rows that did not change in the end; the key of a row that changed is never
/// missing.
///
/// It belongs to the isolation domain of its connection, which may have several of them. Without
/// interests it costs nothing.
package final class ChangeCapture {
  private let handle: DatabaseHandle
  private var interests: [String: [TableInterest]] = [:]
  private var current = RecordedTable()
  private var others: [TableInterest: TouchedKeys] = [:]

  /// The keys recorded for one table: rows of one table mostly change one after another.
  private struct RecordedTable {
    var name: [CChar] = [0]
    var touched: [(interest: TableInterest, keys: TouchedKeys)] = []
  }

  /// Prepares to record the changes of a connection that ``setInterests(_:)`` selects.
  package init(_ connection: DatabaseConnection) {
    handle = connection.handle
  }

  deinit { unhook() }

  /// Replaces the interests from the next row on, and discards the keys recorded so far.
  ///
  /// - Parameter seesTruncation: False if each of the tables has a trigger for deletions. SQLite then
  ///   calls the hook for each row of a `DELETE` without `WHERE`, and compiles no statement again.
  package func setInterests(
    _ interests: some Collection<TableInterest>, seesTruncation: Bool = true
  ) {
    self.interests = Dictionary(grouping: interests, by: \.table)
    current = RecordedTable()
    others = [:]
    if interests.isEmpty {
      unhook()
    } else if !handle.captures.contains(where: isSelf) {
      hook()
      if seesTruncation { compileAgain() }
    }
  }

  private func hook() {
    handle.captures.append(Unmanaged.passUnretained(self))
    guard handle.captures.count == 1 else { return }
    sqlite3_preupdate_hook(
      handle.pointer,
      { context, database, operation, schema, table, oldRowid, newRowid in
        guard let context, let table, sqlite3_stricmp(schema, "main") == 0 else { return }
        let row = ChangedRow(
          database: database, operation: operation, oldRowid: oldRowid, newRowid: newRowid)
        for capture in Unmanaged<DatabaseHandle>.fromOpaque(context).takeUnretainedValue().captures
        {
          capture.takeUnretainedValue().record(row, of: table)
        }
      }, Unmanaged.passUnretained(handle).toOpaque())
  }

  private func unhook() {
    handle.captures.removeAll(where: isSelf)
    if handle.captures.isEmpty { sqlite3_preupdate_hook(handle.pointer, nil, nil) }
  }

  private func isSelf(_ capture: Unmanaged<ChangeCapture>) -> Bool {
    capture.toOpaque() == Unmanaged.passUnretained(self).toOpaque()
  }

  /// A `DELETE` without `WHERE` that was compiled while there was no hook never calls one. Setting an
  /// authorizer makes SQLite compile all statements again before they run.
  private func compileAgain() {
    sqlite3_set_authorizer(handle.pointer, { _, _, _, _, _, _ in SQLITE_OK }, nil)
    sqlite3_set_authorizer(handle.pointer, nil, nil)
  }

  /// Returns the keys recorded since the last call, and discards them.
  package func take() -> [TableInterest: TouchedKeys] {
    flush()
    defer { others = [:] }
    return others
  }

  private func record(_ row: ChangedRow, of table: UnsafePointer<CChar>) {
    if sqlite3_stricmp(table, current.name) != 0 { switchTable(to: table) }
    for offset in current.touched.indices where !current.touched[offset].keys.isTooMany {
      let interest = current.touched[offset].interest
      if row.matters(to: interest.columns) {
        row.insertKeys(interest.key, into: &current.touched[offset].keys)
      }
    }
  }

  private func switchTable(to table: UnsafePointer<CChar>) {
    flush()
    let name = String(cString: table)
    current = RecordedTable(
      name: Array(name.utf8CString),
      touched: (interests[name] ?? []).map {
        (interest: $0, keys: others.removeValue(forKey: $0) ?? TouchedKeys())
      })
  }

  /// Moves the keys of the current table to those of the others.
  private func flush() {
    for (interest, keys) in current.touched where !keys.isEmpty { others[interest] = keys }
    current = RecordedTable()
  }
}

extension ColumnValue {
  /// True if the two have the same type and the same bits, neither being null.
  func hasSameStorage(as other: ColumnValue) -> Bool {
    guard type == other.type else { return false }
    return type == SQLITE_FLOAT
      ? real.bitPattern == other.real.bitPattern : compare(to: other) == 0
  }
}
