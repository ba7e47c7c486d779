internal import TandemRecords
internal import TandemSQLite

/// A row of a result, with its key.
struct KeyedRecord: Equatable, Sendable {
  var key: RowKey
  var record: Record
}
