internal import TandemRecords
internal import TandemSQLite

/// A row of a result, with its key.
struct KeyedRecord: Sendable {
  var key: RowKey
  var record: Record
}

extension KeyedRecord: Equatable {
  /// Whether the two are the same row, with no value in another form: whoever has one has the other.
  static func == (first: KeyedRecord, second: KeyedRecord) -> Bool {
    first.key == second.key && first.record.hasSameStorage(as: second.record)
  }
}
