internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// Elements that a consumer already has, to be compared with the first ones read.
struct StartingPoint<Element: Sendable>: Sendable {
  /// The pairs of elements of both sides with the same identity.
  struct Pairing {
    /// For each element read, the one to start from with its identity, and true if the two are
    /// equal.
    var partners: [(element: Element, isEqual: Bool)?]
    /// Elements to start from that were not read, in their order.
    var rest: [Element]
  }

  let pair: @Sendable (_ elements: [Element]) throws -> Pairing

  /// A starting point whose elements have an identity, and contents to be compared.
  ///
  /// ``pair`` throws ``IdentityViolation`` if two elements to start from have the same identity.
  init<ID: Hashable & SendableMetatype, Contents: Equatable & SendableMetatype>(
    _ start: [Element], identity: @escaping @Sendable (Element) throws -> (ID, Contents)
  ) {
    pair = { elements in
      var places: [ID: Int] = [:]
      var contents: [Contents] = []
      for (place, element) in start.enumerated() {
        let (id, content) = try identity(element)
        guard places.updateValue(place, forKey: id) == nil else {
          throw IdentityViolation(side: .old, offset: place, kind: .duplicate)
        }
        contents.append(content)
      }
      let partners = try elements.map { element -> (element: Element, isEqual: Bool)? in
        let (id, content) = try identity(element)
        guard let place = places.removeValue(forKey: id) else { return nil }
        return (start[place], contents[place] == content)
      }
      return Pairing(partners: partners, rest: places.values.sorted().map { start[$0] })
    }
  }
}

extension StartingPoint where Element: DatabaseRecord {
  /// A starting point of records, identified by their key and compared by their stored values.
  init(stored start: [Element]) {
    let encoder = DetachedRecordEncoder(Element.self)
    self.init(start) { element in
      let record = try encoder.record(of: element)
      let key = Element.keyColumnNames.map { name in
        record.layout.names.firstIndex(where: name.isSameSQLName).map { record.values[$0] } ?? .null
      }
      return (key, record)
    }
  }
}
