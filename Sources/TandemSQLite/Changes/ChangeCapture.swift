internal import CSQLite
internal import TandemRecords

/// Notes which rows a connection changes, by SQLite's preupdate hook.
///
/// The hook sees what no other does: rows removed by `REPLACE`, by a `DELETE` without `WHERE`, by
/// cascades and triggers, and tables without rowid. A savepoint that is rolled back may leave keys
/// of rows that did not change in the end; no key of a row that did is ever missing.
///
/// It belongs to the isolation domain of its connection. Without interests it costs nothing.
package final class ChangeCapture {
  private let handle: DatabaseHandle
  private var interests: [String: [TableInterest]] = [:]
  private var isHooked = false
  private var current = NotedTable()
  private var others: [TableInterest: TouchedKeys] = [:]

  /// What was noted of one table: rows of one table mostly change one after another.
  private struct NotedTable {
    var name: [CChar] = [0]
    var touched: [(interest: TableInterest, keys: TouchedKeys)] = []
  }

  /// Prepares to note the changes of a connection; ``setInterests(_:)`` says which.
  package init(_ connection: DatabaseConnection) {
    handle = connection.handle
  }

  deinit { sqlite3_preupdate_hook(handle.pointer, nil, nil) }

  /// Replaces what is to be noted from the next row on, and forgets what was.
  package func setInterests(_ interests: some Collection<TableInterest>) {
    self.interests = Dictionary(grouping: interests, by: \.table)
    current = NotedTable()
    others = [:]
    if interests.isEmpty {
      sqlite3_preupdate_hook(handle.pointer, nil, nil)
      isHooked = false
    } else if !isHooked {
      hook()
    }
  }

  private func hook() {
    isHooked = true
    sqlite3_preupdate_hook(
      handle.pointer,
      { context, database, operation, schema, table, oldRowid, newRowid in
        guard let context, let table, sqlite3_stricmp(schema, "main") == 0 else { return }
        let row = ChangedRow(
          database: database, operation: operation, oldRowid: oldRowid, newRowid: newRowid)
        Unmanaged<ChangeCapture>.fromOpaque(context).takeUnretainedValue().note(row, of: table)
      }, Unmanaged.passUnretained(self).toOpaque())
    // A `DELETE` without `WHERE` that was compiled without a hook empties its table past one for ever.
    // An authorizer makes SQLite compile all statements again before they run.
    sqlite3_set_authorizer(handle.pointer, { _, _, _, _, _, _ in SQLITE_OK }, nil)
    sqlite3_set_authorizer(handle.pointer, nil, nil)
  }

  /// What was noted since it was last taken; afterwards, nothing is.
  package func take() -> [TableInterest: TouchedKeys] {
    settle()
    defer { others = [:] }
    return others
  }

  private func note(_ row: ChangedRow, of table: UnsafePointer<CChar>) {
    if sqlite3_stricmp(table, current.name) != 0 { turn(to: table) }
    for offset in current.touched.indices {
      let interest = current.touched[offset].interest
      if row.matters(to: interest.columns) {
        row.insertKeys(interest.key, into: &current.touched[offset].keys)
      }
    }
  }

  private func turn(to table: UnsafePointer<CChar>) {
    settle()
    let name = String(cString: table)
    current = NotedTable(
      name: Array(name.utf8CString),
      touched: (interests[name] ?? []).map {
        (interest: $0, keys: others.removeValue(forKey: $0) ?? TouchedKeys())
      })
  }

  /// Puts what was noted of the current table to the others.
  private func settle() {
    for (interest, keys) in current.touched where !keys.isEmpty { others[interest] = keys }
    current = NotedTable()
  }
}
