internal import TandemRecords

/// What a run has found out and done so far.
struct ContentRun {
  /// The files of each row, by its key.
  var files: [RecordKey: [String?]] = [:]
  var items: [MirroredItem] = []
  var validators = RecordListValidators()
  /// The rows that differ from their items.
  var oldRows: [RecordKey: Record] = [:]
  /// The rows that no item has.
  var deletedRows: [(key: RecordKey, row: Record)] = []
  /// The files, by content, of which it is not known that they are those of their rows.
  var unsettled: [Set<FileName>] = []
  var isUnmodified = false
  var isPlanned = false
  var plannedIDs = Set<RecordKey>()
  var removedIDs = Set<RecordKey>()
  /// The path of each file that was transferred, by content; `.some(nil)` for one that there is none of.
  var transferred: [RecordKey: [Int: String?]] = [:]

  /// How many contents were transferred.
  var contentCount: Int {
    transferred.values.reduce(0) { $0 + $1.values.count { $0 != nil } }
  }

  mutating func note(_ path: String?, at position: Int, of id: RecordKey) {
    transferred[id, default: [:]][position] = .some(path)
  }
}
