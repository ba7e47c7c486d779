/// The keys of a list of records, one after the other, and what follows from them.
struct KeyValues {
  private let names: [String]
  private let recordCount: Int
  /// The values of the key fields, record by record.
  private let values: [FieldValue]

  /// The keys of `records`; an error if one lacks a value.
  init(of records: [Record], key names: [String]) throws(RecordError) {
    var fields = KeyFields(names)
    var values: [FieldValue] = []
    values.reserveCapacity(records.count * names.count)
    for position in records.indices {
      let offsets = fields.offsets(in: records[position])
      for field in names.indices {
        guard let offset = offsets[field], !records[position].values[offset].isNull else {
          throw RecordError(
            .missingKey,
            "the record has no value in the key field \(FieldValue.text(names[field]))",
            record: position + 1)
        }
        values.append(records[position].values[offset])
      }
    }
    self.names = names
    self.values = values
    recordCount = records.count
  }

  /// Whether each key is less than the next.
  var areAscending: Bool {
    guard recordCount > 1 else { return true }
    return (1..<recordCount).allSatisfy { compare($0 - 1, $0) < 0 }
  }

  /// The positions of the records in ascending order of their keys, equal keys in the order of the
  /// list.
  func ascendingOrder() -> [Int] {
    var entries = (0..<recordCount).map { position in
      (abbreviation: values[position * names.count].abbreviation, position: position)
    }
    entries.sort { first, second in
      if first.abbreviation != second.abbreviation {
        return first.abbreviation < second.abbreviation
      }
      let order = compare(first.position, second.position)
      return order != 0 ? order < 0 : first.position < second.position
    }
    return entries.map(\.position)
  }

  /// An error about the first record in the list that has the key of an earlier one, if there is one.
  func firstDuplicate(in order: [Int]) -> RecordError? {
    let pairs = zip(order, order.dropFirst()).filter { compare($0, $1) == 0 }
    guard let (first, second) = pairs.min(by: { $0.1 < $1.1 }) else { return nil }
    let key = zip(names, values[first * names.count..<(first + 1) * names.count])
      .map { "\($0) = \($1)" }.joined(separator: ", ")
    return RecordError(
      .duplicateKey, "the records \(first + 1) and \(second + 1) have the same key \(key)",
      record: second + 1)
  }

  /// Negative, zero or positive as the key of one record is less than, equal to or greater than that
  /// of another.
  @inline(__always)
  private func compare(_ first: Int, _ second: Int) -> Int {
    for field in names.indices {
      let a = values[first * names.count + field]
      let b = values[second * names.count + field]
      if a < b { return -1 }
      if a != b { return 1 }
    }
    return 0
  }
}
