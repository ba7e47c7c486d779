public import TandemDifferences

extension SetDifference<Record> {
  /// The difference from one list of records to another, each kind ascending by key.
  ///
  /// - Precondition: both lists have the same key.
  /// - Complexity: O(*n* + *m*).
  public init(from old: KeyedRecords, to new: KeyedRecords) {
    precondition(old.key == new.key, "Lists are compared by one key")
    let difference: SetDifference<KeyedRecord>
    do {
      difference = try SetDifference<KeyedRecord>(
        from: old.keyed(), to: new.keyed(), sortedBy: \.key, by: { $0.record == $1.record })
    } catch {
      preconditionFailure("Keyed records are ascending, yet \(error)")
    }
    self.init(
      inserted: difference.inserted.map(\.record),
      updated: difference.updated.map { Update(old: $0.old.record, new: $0.new.record) },
      deleted: difference.deleted.map(\.record))
  }
}

/// A record beside its key.
private struct KeyedRecord {
  var key: RecordKey
  var record: Record
}

extension KeyedRecords {
  fileprivate func keyed() -> [KeyedRecord] {
    indices.map { KeyedRecord(key: key(at: $0), record: self[$0]) }
  }
}
