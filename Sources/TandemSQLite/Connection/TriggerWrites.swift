internal import CSQLite
internal import TandemRecords

/// The tables that a trigger writes, as SQLite's authorizer reports them while statements that fire it compile. What
/// a trigger does that this one fires counts for that trigger.
package struct TriggerWrites: Sendable {
  /// The tables into which it inserts, or from which it deletes, in lower case.
  package fileprivate(set) var tables: Set<String> = []
  /// The columns that it updates, by table, both in lower case.
  package fileprivate(set) var columns: [String: Set<String>] = [:]
}

extension DatabaseConnection {
  /// The writes of each trigger that statements fire, by the name of the trigger in lower case. A statement that does
  /// not compile is left out.
  package func triggerWrites(of statements: [String]) -> [String: TriggerWrites] {
    let log = WriteLog()
    let context = Unmanaged.passUnretained(log).toOpaque()
    sqlite3_set_authorizer(
      handle.pointer,
      { context, action, table, column, _, trigger in
        guard let context, let table, let trigger else { return SQLITE_OK }
        let log = Unmanaged<WriteLog>.fromOpaque(context).takeUnretainedValue()
        log.note(
          action, table: String(cString: table), column: column.map { String(cString: $0) },
          trigger: String(cString: trigger))
        return SQLITE_OK
      }, context)
    defer { sqlite3_set_authorizer(handle.pointer, nil, nil) }
    for sql in statements { _ = try? prepare(sql) }
    return withExtendedLifetime(log) { log.writes }
  }
}

/// Collects the authorizer's questions.
private final class WriteLog {
  var writes: [String: TriggerWrites] = [:]

  func note(_ action: Int32, table: String, column: String?, trigger: String) {
    let (trigger, table) = (trigger.lowercased(), table.lowercased())
    switch action {
    case SQLITE_INSERT, SQLITE_DELETE:
      writes[trigger, default: TriggerWrites()].tables.insert(table)
    case SQLITE_UPDATE:
      guard let column else { return }
      writes[trigger, default: TriggerWrites()].columns[table, default: []]
        .insert(column.lowercased())
    default: return
    }
  }
}
