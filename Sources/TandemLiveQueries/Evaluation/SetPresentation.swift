internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// Makes elements of rows, and keeps those that are presented, if the consumer wants a say in what an
/// update makes of them.
///
/// Rows are compared with the rows last read, never with anything presented.
struct SetPresentation<Element: Sendable>: Sendable {
  typealias Update = @Sendable (_ presented: inout Element, _ fetched: Element) throws -> Void

  private let decode: @Sendable (Record) throws -> Element
  private let onUpdate: Update?
  /// Where to start from; `nil` once that is done.
  private var start: StartingPoint<Element>?
  private var presented: [RowKey: Element] = [:]

  init(
    startingFrom start: StartingPoint<Element>? = nil, onUpdate: Update?,
    decode: @escaping @Sendable (Record) throws -> Element
  ) {
    self.start = start
    self.onUpdate = onUpdate
    self.decode = decode
  }

  /// The same difference with elements.
  ///
  /// - Parameter result: Where the rows come from, for their keys.
  mutating func present(
    _ difference: SetDifference<Record>, _ result: KeyedResult
  ) throws -> SetDifference<Element> {
    if let start {
      self.start = nil
      return try begin(difference.inserted, from: start, result)
    }
    guard onUpdate != nil else { return try difference.map(decode) }
    let deleted = try difference.deleted.map { record in
      try presented.removeValue(forKey: result.key(of: record)) ?? decode(record)
    }
    let updated = try difference.updated.map { update in
      let key = result.key(of: update.new)
      let old = try presented[key] ?? decode(update.old)
      return try SetDifference.Update(
        old: old, new: present(decode(update.new), key, insteadOf: old))
    }
    let inserted = try difference.inserted.map { record in
      try present(decode(record), result.key(of: record), insteadOf: nil)
    }
    return SetDifference(inserted: inserted, updated: updated, deleted: deleted)
  }

  /// What the consumer presents for an element from now on.
  private mutating func present(
    _ fetched: Element, _ key: RowKey, insteadOf old: Element?
  ) throws -> Element {
    guard let onUpdate else { return fetched }
    var element = old ?? fetched
    if old != nil { try onUpdate(&element, fetched) }
    presented[key] = element
    return element
  }

  /// What changed between the elements to start from and the first rows.
  private mutating func begin(
    _ records: [Record], from start: StartingPoint<Element>, _ result: KeyedResult
  ) throws -> SetDifference<Element> {
    let elements = try records.map(decode)
    let pairing = try start.pair(elements)
    var difference = SetDifference(deleted: pairing.rest)
    for (offset, element) in elements.enumerated() {
      let key = result.key(of: records[offset])
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
