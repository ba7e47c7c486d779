package import TandemDifferences

/// A list of records in ascending order of a unique key.
package struct KeyedRecords: Sendable {
  /// The records, ascending by ``key``.
  package let records: [Record]
  /// The names of the key fields, the most significant first.
  package let key: [String]

  /// Sorts records by a key.
  ///
  /// - Parameters:
  ///   - records: the records, in any order.
  ///   - key: the names of one or more fields, each once.
  /// - Precondition: `key` is not empty and names no field twice.
  /// - Throws: ``RecordError/Code/missingKey`` for the first record with no value, or null, in a
  ///   key field; ``RecordError/Code/duplicateKey`` for the first record with the key of an earlier
  ///   one. Errors count records from 1 in the order of the given list.
  /// - Complexity: O(*n*) if the records are ascending already, else O(*n* log *n*).
  package init(_ records: [Record], key: [String]) throws(RecordError) {
    let order = try KeyOrder(of: records, key: key)
    self.records = order.isListOrder ? records : order.map { records[$0] }
    self.key = key
  }
}

extension KeyedRecords: Equatable {}

extension KeyedRecords: RandomAccessCollection {
  /// Always 0.
  package var startIndex: Int { 0 }
  /// The number of records.
  package var endIndex: Int { records.count }
  /// The record at a position in the order of the key.
  package subscript(position: Int) -> Record { records[position] }
}

extension KeyedRecords {
  /// The key of the record at a position.
  package func key(at position: Int) -> RecordKey {
    RecordKey(key.map { records[position][$0] })
  }

  /// The record with the given key, or `nil`.
  ///
  /// - Complexity: O(log *n*).
  package subscript(key sought: RecordKey) -> Record? {
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

extension SetDifference<Record> {
  /// The difference from one list of records to another, each kind ascending by key.
  ///
  /// - Precondition: both lists have the same key.
  /// - Complexity: O(*n* + *m*).
  package init(from old: KeyedRecords, to new: KeyedRecords) {
    precondition(old.key == new.key, "Lists are compared by one key")
    self.init(fromAscending: old.keyed(), to: new.keyed())
  }
}

/// A record and its key.
struct Keyed<Element> {
  var key: RecordKey
  var element: Element
}

extension Keyed: Sendable where Element: Sendable {}

extension SetDifference where Element: Equatable {
  /// The difference from one list to another, which ascend by their keys.
  init(fromAscending old: [Keyed<Element>], to new: [Keyed<Element>]) {
    let difference: SetDifference<Keyed<Element>>
    do {
      difference = try SetDifference<Keyed<Element>>(
        from: old, to: new, sortedBy: \.key, comparedBy: { $0.element == $1.element })
    } catch {
      preconditionFailure("Keyed records are ascending, yet \(error)")
    }
    self.init(
      inserted: difference.inserted.map(\.element),
      updated: difference.updated.map { Update(old: $0.old.element, new: $0.new.element) },
      deleted: difference.deleted.map(\.element))
  }
}

extension KeyedRecords {
  fileprivate func keyed() -> [Keyed<Record>] {
    indices.map { Keyed(key: key(at: $0), element: self[$0]) }
  }
}

extension KeyedRecords: CustomStringConvertible {
  /// As in `by id: [{id: 1, name: "Ann"}, … 4 more]`.
  package var description: String {
    "by \(key.joined(separator: ", ")): "
      + DescriptionLimit.list(records) { "\($0)" }
  }
}
