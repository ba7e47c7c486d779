internal import CSQLite
package import TandemRecords

extension Statement {
  /// Appends the values of the current row, whose texts are not checked.
  package func appendRow(to row: inout PackedRow) {
    for column in 0..<Int(sqlite3_data_count(handle)) {
      let column = self.column(column)
      switch column.type {
      case SQLITE_INTEGER: row.append(column.integer)
      case SQLITE_FLOAT: row.append(column.real)
      case SQLITE_TEXT: row.append(text: column.text)
      case SQLITE_BLOB: row.append(blob: column.blob)
      default: row.appendNull()
      }
    }
  }
}
