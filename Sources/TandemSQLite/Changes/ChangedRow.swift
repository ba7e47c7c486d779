internal import CSQLite
internal import TandemRecords

/// A row about to change, as the preupdate hook shows it.
struct ChangedRow {
  let database: OpaquePointer?
  let operation: Int32
  let oldRowid: Int64
  let newRowid: Int64

  /// True if the change concerns the given columns: one of them changes, or the row is inserted,
  /// deleted or moved.
  func matters(to columns: [Int]?) -> Bool {
    guard operation == SQLITE_UPDATE, oldRowid == newRowid, let columns else { return true }
    return columns.contains { column in
      guard let old = value(at: column, sqlite3_preupdate_old),
        let new = value(at: column, sqlite3_preupdate_new)
      else { return true }
      // A null may stand for the default of a column that was added after the row.
      return old.isNull || new.isNull || !old.hasSameStorage(as: new)
    }
  }

  /// Adds the key of the row before the change, and the one after it.
  func insertKeys(_ key: TableInterest.Key, into keys: inout TouchedKeys) {
    switch key {
    case .none: keys.insertMany()
    case .rowid:
      if operation != SQLITE_INSERT { keys.insert(RecordKey(.integer(oldRowid))) }
      if operation == SQLITE_INSERT || operation == SQLITE_UPDATE && newRowid != oldRowid {
        keys.insert(RecordKey(.integer(newRowid)))
      }
    case .columns(let columns, let mayBeRounded):
      if operation != SQLITE_INSERT {
        insert(columns, mayBeRounded, sqlite3_preupdate_old, into: &keys)
      }
      if operation != SQLITE_DELETE { insert(columns, false, sqlite3_preupdate_new, into: &keys) }
    }
  }

  private typealias Reading =
    (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Int32

  private func insert(
    _ columns: [Int], _ mayBeRounded: Bool, _ read: Reading, into keys: inout TouchedKeys
  ) {
    var values: [FieldValue] = []
    values.reserveCapacity(columns.count)
    for column in columns {
      guard let value = value(at: column, read)?.fieldValue else { return keys.insertMany() }
      if mayBeRounded, case .real(let number) = value, abs(number) >= 0x1p53 {
        return keys.insertMany()
      }
      values.append(value)
    }
    keys.insert(RecordKey(values))
  }

  private func value(at column: Int, _ read: Reading) -> ColumnValue? {
    var value: OpaquePointer?
    guard read(database, Int32(truncatingIfNeeded: column), &value) == SQLITE_OK else { return nil }
    return ColumnValue(value)
  }
}
