internal import TandemRecords

/// The rows that no record has been found for, by the values that a table with a key compares.
struct RowForms {
  /// The columns whose JSON is compared by structure.
  let structured: Set<Int>
  private(set) var rows: [RecordKey: [RowBag.Row]] = [:]

  init(structured: Set<Int>) { self.structured = structured }

  mutating func add(_ row: RowBag.Row) { rows[form(of: row.values), default: []].append(row) }

  mutating func takeRow(equalTo values: [FieldValue]) -> Bool {
    rows[form(of: values)]?.popLast() != nil
  }

  /// Takes the rows that have the same cells of CSV as records; returns the records that have no such row.
  ///
  /// - Parameter cells: The columns where a number and a text may be the same cell.
  mutating func withoutSameCells(_ records: [Record], _ cells: Set<Int>) -> [Record] {
    let left = rows.filter { !$0.value.isEmpty }.keys.sorted()
    let similar = Dictionary(grouping: left, by: \.withNumbers)
    return records.filter { record in
      let form = form(of: record.values)
      let same = similar[form.withNumbers]?.first { row in
        rows[row]?.isEmpty == false && isSame(form.values, row.values, cells)
      }
      return same.map { rows[$0]?.popLast() } == nil
    }
  }

  private func isSame(_ new: [FieldValue], _ old: [FieldValue], _ cells: Set<Int>) -> Bool {
    new.indices.allSatisfy {
      cells.contains($0) ? new[$0].isSameCell(inTable: old[$0]) : new[$0] == old[$0]
    }
  }

  /// The values with the JSON of structured columns in one form for each structure.
  private func form(of values: [FieldValue]) -> RecordKey {
    var values = values
    for offset in structured {
      if let text = values[offset].textValue, JSONStructure.isNested(text),
        let canonical = JSONStructure.canonicalText(of: text)
      {
        values[offset] = .text(String(decoding: canonical, as: UTF8.self))
      }
    }
    return RecordKey(values)
  }
}
