/// The positions of the records of a list, in ascending order of a unique key.
package struct KeyOrder: Sendable {
  /// The positions; `nil` if the list itself is in this order.
  private let positions: [Int]?
  private let recordCount: Int

  /// Sorts a number of records by a key.
  ///
  /// - Parameters:
  ///   - recordCount: the number of records.
  ///   - key: the names of one or more fields, each once.
  ///   - value: returns the value of a field of the key for the record at a position; `nil` if it has no such
  ///     field.
  /// - Precondition: `key` is not empty and names no field twice.
  /// - Throws: ``RecordError/Code/missingKey`` for the first record with no value, or null, in a
  ///   key field; ``RecordError/Code/duplicateKey`` for the first record with the key of an earlier
  ///   one. Errors count records from 1 in the order of the list.
  /// - Complexity: O(*n*) if the records are ascending already, else O(*n* log *n*).
  package init(
    ofRecords recordCount: Int, key: [String],
    value: (_ position: Int, _ field: Int) -> FieldValue?
  ) throws(RecordError) {
    precondition(RecordLayout(key) != nil && !key.isEmpty, "A key names fields, each once")
    self.recordCount = recordCount
    let values = try KeyValues(ofRecords: recordCount, key: key, value: value)
    if values.areAscending {
      positions = nil
    } else {
      let order = values.ascendingOrder()
      if let duplicate = values.firstDuplicate(in: order) { throw duplicate }
      positions = order
    }
  }

  /// The order of the list itself, for records without a key.
  package init(ofRecordsWithoutKey recordCount: Int) {
    positions = nil
    self.recordCount = recordCount
  }

  /// Sorts records by a key, whose values they have as the fields of these names.
  init(of records: [Record], key: [String]) throws(RecordError) {
    var fields = KeyFields(key)
    try self.init(ofRecords: records.count, key: key) { position, field in
      fields.offsets(in: records[position])[field].map { records[position].values[$0] }
    }
  }

  /// True if the list itself is in this order.
  var isListOrder: Bool { positions == nil }
}

extension KeyOrder: RandomAccessCollection {
  /// Always 0.
  package var startIndex: Int { 0 }
  /// The number of records.
  package var endIndex: Int { recordCount }

  /// The position in the list of the record with so many keys before it.
  package subscript(rank: Int) -> Int {
    guard let positions else {
      precondition(rank < recordCount, "There are fewer records")
      return rank
    }
    return positions[rank]
  }
}
