public import TandemDifferences

extension SetDifference {
  /// The difference from one list without a key to another: each element counts as often as it occurs. Nothing
  /// is updated, because nothing says which element another one was.
  ///
  /// - Parameter whole: All values of an element that count.
  /// - Complexity: O(*n* + *m*).
  package init(
    fromBag old: [Element], to new: [Element], by whole: (Element) -> some Hashable
  ) {
    self.init()
    deleted = Self.surplus(of: old, over: new, by: whole)
    inserted = Self.surplus(of: new, over: old, by: whole)
  }

  /// The elements of a list that another one does not have, or has less often.
  private static func surplus<Whole: Hashable>(
    of list: [Element], over other: [Element], by whole: (Element) -> Whole
  ) -> [Element] {
    var counts: [Whole: Int] = [:]
    for element in other { counts[whole(element), default: 0] += 1 }
    return list.filter { element in
      let whole = whole(element)
      guard let count = counts[whole], count > 0 else { return true }
      counts[whole] = count - 1
      return false
    }
  }
}

extension SetDifference<ListRecord> {
  /// The difference from one list without a key to another, with the types of their format. Deletions are in the
  /// order of the old list, insertions in that of the new one.
  ///
  /// - Complexity: O(*n* + *m*) in the records of both.
  public init(fromBag old: ListText, to new: ListText) {
    self.init(fromBag: old.records, to: new.records) { record in
      JSONStructure.canonicalText(of: record.description) ?? Array(record.description.utf8)
    }
  }
}

extension SetDifference<Record> {
  /// The difference from one list without a key to another, as a table would store them. An absent field counts as
  /// null. Deletions are in the order of the old list, insertions in that of the new one.
  ///
  /// - Complexity: O((*n* + *m*) *f*) in the records of both and the different fields.
  public init(fromBag old: [Record], to new: [Record]) {
    let names = Set((old + new).flatMap { $0.layout.names.map { FieldName($0) } })
      .sorted { UTF8Order.precedes($0.text, $1.text) }
    self.init(fromBag: old, to: new) { record in RecordKey(names.map { record[$0.text] }) }
  }
}
