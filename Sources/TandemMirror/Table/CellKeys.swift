internal import TandemRecords
internal import TandemSQLite

/// The keys of a CSV list in the forms that the rows of a table have.
///
/// A cell of CSV has no type: `17` is the number 17 or the text "17", and a column without a type may have either.
/// A row keeps its identity, however the cell of its record was read. Only a key that no row has gets the form
/// in which the list was read.
struct CellKeys {
  /// The values of the key, by the position of the record, where a row has another form of them.
  private(set) var values: [Int: [FieldValue]] = [:]

  /// Finds the rows of a table that have another form of the key of a record.
  ///
  /// - Parameter key: The offsets of the key's columns, all of which the table has.
  init(
    of list: PackedRecords, _ columns: TableColumns, key: [Int], in schema: TableSchema?,
    _ connection: DatabaseConnection
  ) throws(DatabaseError) {
    let cells = columns.cellOffsets(of: list)
    guard let schema, key.contains(where: cells.contains) else { return }
    let names = key.map { columns.columns[$0].name }
    var rows: [RecordKey: [RecordKey]] = [:]
    let statement = try connection.prepare(
      "SELECT \(names.sqlList) FROM \(schema.name.sqlQuoted)")
    while try statement.step() {
      let row = RecordKey(try statement.values())
      rows[row.withNumbers, default: []].append(row)
    }
    guard !rows.isEmpty else { return }
    let offsets = list.layouts.map(columns.offsets(in:))
    var taken = Set<RecordKey>()
    var others: [(position: Int, rows: [RecordKey])] = []
    for position in list.indices {
      let places = offsets[list.layoutIndex(at: position)]
      let record = RecordKey(
        key.map { column in
          let value = places[column].map { list.value(at: $0, ofRecordAt: position) } ?? .null
          return columns.columns[column].stored(value) ?? value
        })
      let candidates = rows[record.withNumbers] ?? []
      if candidates.contains(record) {
        taken.insert(record)
      } else if !candidates.isEmpty {
        let same = candidates.filter { row in
          zip(key, zip(record.values, row.values)).allSatisfy { column, values in
            cells.contains(column)
              ? values.0.isSameCell(inTable: values.1) : values.0 == values.1
          }
        }
        others.append((position, same))
      }
    }
    for (position, rows) in others {
      let free = rows.filter { !taken.contains($0) }
      if free.count == 1 { values[position] = free[0].values }
    }
  }
}

extension RecordKey {
  /// The key with each text that is a number as this number.
  var withNumbers: RecordKey {
    RecordKey(
      values.map { value in
        guard case .text(let text) = value else { return value }
        return FieldValue(numberIn: text) ?? value
      })
  }
}
