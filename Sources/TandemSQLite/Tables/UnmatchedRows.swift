internal import TandemDifferences
internal import TandemRecords

/// Rows that are not the same at the same rowid.
struct UnmatchedRows {
  private var updated: [(key: RecordKey, change: SetChange<Record>)] = []
  private var old: [KeyedRecord] = []
  private var new: [KeyedRecord] = []
  private var byteCount = 0

  func isWorthwhile(afterRows rowCount: Int) -> Bool {
    let count = old.count + new.count
    return byteCount <= RowidWalk.maxUnmatchedByteCount
      && (count <= RowidWalk.maxUnrelatedCount || count <= rowCount / 2)
  }

  mutating func update(_ old: KeyedRecord, _ new: KeyedRecord) {
    byteCount += old.byteCount + new.byteCount
    updated.append((new.key, .updated(old: old.record, new: new.record)))
  }

  mutating func add(old row: KeyedRecord) {
    byteCount += row.byteCount
    old.append(row)
  }

  mutating func add(new row: KeyedRecord) {
    byteCount += row.byteCount
    new.append(row)
  }

  /// The changes, in the order of the keys.
  consuming func sorted(_ columns: ComparedColumns) -> [SetChange<Record>] {
    old.sort { $0.key < $1.key }
    new.sort { $0.key < $1.key }
    var changes = updated
    var rest = old[...]
    for row in new {
      while let former = rest.first, former.key < row.key {
        changes.append((former.key, .deleted(former.record)))
        rest.removeFirst()
      }
      if let former = rest.first, former.key == row.key {
        if !columns.areEqual(former.record, row.record) {
          changes.append((row.key, .updated(old: former.record, new: row.record)))
        }
        rest.removeFirst()
      } else {
        changes.append((row.key, .inserted(row.record)))
      }
    }
    for former in rest { changes.append((former.key, .deleted(former.record))) }
    return changes.sorted { $0.key < $1.key }.map(\.change)
  }
}

struct KeyedRecord {
  var key: RecordKey
  var record: Record

  /// The bytes that it occupies, about.
  var byteCount: Int {
    record.values.reduce(64) { sum, value in
      switch value {
      case .text(let text): sum + 32 + text.utf8.count
      case .blob(let bytes): sum + 32 + bytes.count
      case .null, .integer, .real: sum + 24
      }
    }
  }
}
