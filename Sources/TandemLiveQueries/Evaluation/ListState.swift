internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The state of a run that delivers list differences.
struct ListState<Element: Sendable>: LiveState {
  private var result: OrderedResult
  private var isSilent: Bool
  private let decode: @Sendable (Record) throws -> Element

  init(
    _ definition: QueryDefinition, deliversEmptyStart: Bool,
    decode: @escaping @Sendable (Record) throws -> Element
  ) {
    result = OrderedResult(definition)
    isSilent = !deliversEmptyStart
    self.decode = decode
  }

  mutating func advance(
    _ changes: CommittedChanges, _ reading: LiveReading
  ) throws -> ListDifference<Element>? {
    let difference = try result.advance(changes, reading)
    defer { isSilent = true }
    if isSilent, difference.isEmpty { return nil }
    return try difference.map { try decode($0.record) }
  }
}

/// The state of a run that delivers whole lists.
struct ValuesState<Element: Sendable>: LiveState {
  private var result: OrderedResult
  private var elements: [Element]?
  private let decode: @Sendable (Record) throws -> Element

  init(_ definition: QueryDefinition, decode: @escaping @Sendable (Record) throws -> Element) {
    result = OrderedResult(definition)
    self.decode = decode
  }

  mutating func advance(
    _ changes: CommittedChanges, _ reading: LiveReading
  ) throws -> [Element]? {
    let difference = try result.advance(changes, reading)
    if elements != nil, difference.isEmpty { return nil }
    let changed = try difference.map { try decode($0.record) }
    guard let values = changed.applying(to: elements ?? [], by: { _, _ in true }) else {
      preconditionFailure("The elements are those of the list that the difference leads from")
    }
    elements = values
    return values
  }
}
