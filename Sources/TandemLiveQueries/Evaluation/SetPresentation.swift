internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// Makes elements of rows, and keeps those that are presented if the consumer updates them itself.
///
/// Rows are compared with the rows last read, never with presented elements.
struct SetPresentation<Element: Sendable>: Sendable {
  typealias Update = @Sendable (_ presented: inout Element, _ fetched: Element) throws -> Void

  private let decode: @Sendable (Record) throws -> Element
  private let onUpdate: Update?
  private let deliversRows: Bool
  /// The elements to start from; `nil` after the start.
  private var start: StartingPoint<Element>?
  private var presented: [RecordKey: Element] = [:]

  init(
    startingFrom start: StartingPoint<Element>? = nil, onUpdate: Update?,
    deliversRows: Bool = false,
    decode: @escaping @Sendable (Record) throws -> Element
  ) {
    self.start = start
    self.onUpdate = onUpdate
    self.deliversRows = deliversRows
    self.decode = decode
  }

  /// The difference with elements instead of rows.
  ///
  /// - Parameter change: The changes of the rows.
  mutating func present(_ change: KeyedDifference) throws -> SetDifference<Element> {
    let (difference, columns) = (change.difference, change.columns)
    if let start {
      self.start = nil
      return try begin(difference.inserted, from: start, columns)
    }
    guard onUpdate != nil else {
      if deliversRows, let rows = difference as? SetDifference<Element> { return rows }
      return try difference.map(decode)
    }
    let deleted = try difference.deleted.map { record in
      try presented.removeValue(forKey: columns.key(of: record)) ?? decode(record)
    }
    let updated = try difference.updated.compactMap { update -> SetDifference<Element>.Update? in
      let key = columns.key(of: update.new)
      let former = try decode(update.old)
      let fetched = try decode(update.new)
      guard ElementComparison.isUpdate(from: former, to: fetched) else { return nil }
      let old = presented[key] ?? former
      return try .init(old: old, new: present(fetched, key, insteadOf: old))
    }
    let inserted = try difference.inserted.map { record in
      try present(decode(record), columns.key(of: record), insteadOf: nil)
    }
    return SetDifference(inserted: inserted, updated: updated, deleted: deleted)
  }

  /// The element that the consumer presents from now on.
  private mutating func present(
    _ fetched: Element, _ key: RecordKey, insteadOf old: Element?
  ) throws -> Element {
    guard let onUpdate else { return fetched }
    var element = old ?? fetched
    if old != nil {
      try onUpdate(&element, fetched)
      precondition(
        ElementComparison.haveSameIdentity(element, fetched),
        "onUpdate must give the presented element the identity of the one that was read")
    }
    presented[key] = element
    return element
  }

  /// The changes between the elements to start from and the first rows.
  private mutating func begin(
    _ records: [Record], from start: StartingPoint<Element>, _ columns: ResultColumns
  ) throws -> SetDifference<Element> {
    let elements = try records.map(decode)
    let pairing = try start.pair(elements)
    var difference = SetDifference(deleted: pairing.rest)
    for (offset, element) in elements.enumerated() {
      let key = columns.key(of: records[offset])
      switch pairing.partners[offset] {
      case .none: difference.inserted.append(try present(element, key, insteadOf: nil))
      case .some(let partner) where partner.isEqual:
        if onUpdate != nil { presented[key] = partner.element }
      case .some(let partner):
        let new = try present(element, key, insteadOf: partner.element)
        difference.updated.append(.init(old: partner.element, new: new))
      }
    }
    return difference
  }
}
