internal import CSQLite
internal import TandemRecords

extension Statement {
  /// Appends the values of the current row in the form of ``/TandemRecords/PackedRow``. Its texts are not
  /// checked.
  package func appendRow(to bytes: inout [UInt8]) {
    for column in 0..<Int(sqlite3_data_count(handle)) {
      let column = self.column(column)
      switch column.type {
      case SQLITE_INTEGER: PackedRow.append(column.integer, to: &bytes)
      case SQLITE_FLOAT: PackedRow.append(column.real, to: &bytes)
      case SQLITE_TEXT: PackedRow.append(column.text, tag: PackedRow.Tag.text, to: &bytes)
      case SQLITE_BLOB: PackedRow.append(column.blob, tag: PackedRow.Tag.blob, to: &bytes)
      default: PackedRow.appendNull(to: &bytes)
      }
    }
  }
}
