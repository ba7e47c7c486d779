/// A list of records in ascending order of a key that each of them has, and no two the same.
public struct KeyedRecords: Sendable {
  /// The records, ascending by ``key``.
  public let records: [Record]
  /// The names of the fields whose values are the key, the most significant first.
  public let key: [String]

  /// Puts records in the order of a key.
  ///
  /// - Parameters:
  ///   - records: the records, in any order.
  ///   - key: the names of one or more fields, each once.
  /// - Precondition: `key` is not empty and names no field twice.
  /// - Throws: ``RecordError/Code/missingKey`` for the first record that has no value, or null, in a
  ///   field of the key; ``RecordError/Code/duplicateKey`` for the first record whose key an earlier
  ///   one has. Errors count records from 1 in the order of the given list.
  /// - Complexity: O(*n*) if the records are ascending already, else O(*n* log *n*).
  public init(_ records: [Record], key: [String]) throws(RecordError) {
    precondition(RecordLayout(key) != nil && !key.isEmpty, "A key names fields, each once")
    let values = try KeyValues(of: records, key: key)
    if values.areAscending {
      self.records = records
    } else {
      let order = values.ascendingOrder()
      if let duplicate = values.firstDuplicate(in: order) { throw duplicate }
      self.records = order.map { records[$0] }
    }
    self.key = key
  }
}

extension KeyedRecords: Equatable {}

extension KeyedRecords: RandomAccessCollection {
  /// Always 0.
  public var startIndex: Int { 0 }
  /// How many records there are.
  public var endIndex: Int { records.count }
  /// The record at a position in the order of the key.
  public subscript(position: Int) -> Record { records[position] }
}

extension KeyedRecords {
  /// The key of the record at a position.
  public func key(at position: Int) -> RecordKey {
    RecordKey(key.map { records[position][$0] })
  }

  /// The record with the given key, or `nil`.
  ///
  /// - Complexity: O(log *n*).
  public subscript(key sought: RecordKey) -> Record? {
    var range = 0..<records.count
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      if key(at: middle) < sought {
        range = middle + 1..<range.upperBound
      } else {
        range = range.lowerBound..<middle
      }
    }
    let found = range.lowerBound
    return found < records.count && key(at: found) == sought ? records[found] : nil
  }
}
