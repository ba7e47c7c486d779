internal import CSQLite
internal import TandemRecords

/// The forms of values in the columns of one table.
final class ColumnCodings {
  /// The form that the type of the records states.
  let coding: RecordCoding
  /// The table; `nil` if there is none.
  private let table: String?
  private let database: DatabaseHandle
  /// The first value found in each column.
  private var samples: [String: FieldValue] = [:]

  init(_ coding: RecordCoding, table: String?, _ database: DatabaseHandle) {
    self.coding = coding
    self.table = table
    self.database = database
  }

  /// The field's value of a value for a column. Looks for a value in the column only if the value has a date or
  /// UUID in it, because that reads the whole table if there is none.
  func fieldValue(of value: some Encodable, column: String) throws -> FieldValue {
    guard let table else { return try FieldEncoder.fieldValue(of: value, coding) }
    var coding = coding
    coding.sample = samples[column]
    coding.requiresSample = coding.sample == nil
    do {
      return try FieldEncoder.fieldValue(of: value, coding)
    } catch is MissingSample {
      coding.sample = try sample(of: column, table)
      coding.requiresSample = false
      return try FieldEncoder.fieldValue(of: value, coding)
    }
  }

  /// Looks for a value. A column without one is looked at again next time, because it gets one by then.
  private func sample(of column: String, _ table: String) throws(DatabaseError) -> FieldValue? {
    let name = column.sqlQuoted
    let statement = try Statement(
      "SELECT \(name) FROM \(table.sqlQuoted) WHERE \(name) IS NOT NULL LIMIT 1",
      database: database)
    guard try statement.step() else { return nil }
    let sample = try statement.value(at: 0)
    samples[column] = sample
    return sample
  }
}
