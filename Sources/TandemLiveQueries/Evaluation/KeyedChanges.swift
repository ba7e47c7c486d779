internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// Changes of rows as they are found, to be put in the order of their keys.
struct KeyedChanges {
  private var inserted = Kind<Record>()
  private var updated = Kind<SetDifference<Record>.Update>()
  private var deleted = Kind<Record>()
  private let isKept: Bool

  /// No changes.
  ///
  /// - Parameter isKept: False to keep none of those to come.
  init(isKept: Bool = true) { self.isKept = isKept }

  /// The changes of one kind. Most come in order, which makes sorting needless.
  private struct Kind<Change> {
    private(set) var changes: [Change] = []
    private var keys: [RecordKey] = []
    private var isAscending = true

    mutating func append(_ change: Change, _ key: RecordKey) {
      if let last = keys.last, key < last { isAscending = false }
      keys.append(key)
      changes.append(change)
    }

    func sorted() -> [Change] {
      if isAscending { return changes }
      return keys.indices.sorted { keys[$0] < keys[$1] }.map { changes[$0] }
    }
  }

  /// The number of new rows.
  var insertedCount: Int { inserted.changes.count }

  /// Adds the change of the row of one key.
  mutating func note(_ key: RecordKey, from old: Record?, to new: Record?) {
    guard isKept else { return }
    switch (old, new) {
    case (nil, nil): break
    case (nil, .some(let new)): inserted.append(new, key)
    case (.some(let old), nil): deleted.append(old, key)
    case (.some(let old), .some(let new)):
      if !old.hasSameStorage(as: new) { updated.append(.init(old: old, new: new), key) }
    }
  }

  /// All of them, each kind ascending by key.
  func difference() -> SetDifference<Record> {
    SetDifference(
      inserted: inserted.sorted(), updated: updated.sorted(), deleted: deleted.sorted())
  }
}

/// A row of a result, with its key.
struct KeyedRow: Sendable {
  var key: RecordKey
  var record: Record
}

extension KeyedRow: Equatable {
  /// True if the two are the same row and all values have the same storage.
  static func == (first: KeyedRow, second: KeyedRow) -> Bool {
    first.key == second.key && first.record.hasSameStorage(as: second.record)
  }
}
