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

  func readsEverything(ifUnknown isUnknown: Bool) -> Bool {
    result.readsEverything(ifUnknown: isUnknown)
  }

  mutating func advance(
    _ changes: CommittedChanges, _ reading: LiveReading
  ) throws -> ListDifference<Element>? {
    let difference = try result.advance(changes, reading).map { try decode($0.record) }
    defer { isSilent = true }
    return isSilent && difference.isEmpty ? nil : difference
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

  func readsEverything(ifUnknown isUnknown: Bool) -> Bool {
    result.readsEverything(ifUnknown: isUnknown)
  }

  mutating func advance(
    _ changes: CommittedChanges, _ reading: LiveReading
  ) throws -> [Element]? {
    let difference = try result.advance(changes, reading)
    if elements != nil, difference.isEmpty { return nil }
    let changed = try difference.map { try decode($0.record) }
    if elements != nil, changed.isEmpty { return nil }
    guard let values = changed.applying(to: elements ?? [], by: { _, _ in true }) else {
      preconditionFailure("The elements are those of the list that the difference leads from")
    }
    elements = values
    return values
  }
}

/// The state of a run that delivers set differences.
struct SetState<Element: Sendable>: LiveState {
  private var result: KeyedResult
  private var presentation: SetPresentation<Element>
  private var isSilent: Bool

  init(
    _ definition: QueryDefinition, startingFrom start: [Record] = [], deliversEmptyStart: Bool,
    _ presentation: SetPresentation<Element>
  ) {
    result = KeyedResult(definition, startingFrom: start)
    self.presentation = presentation
    isSilent = !deliversEmptyStart
  }

  func readsEverything(ifUnknown isUnknown: Bool) -> Bool {
    result.readsEverything(ifUnknown: isUnknown)
  }

  mutating func advance(
    _ changes: CommittedChanges, _ reading: LiveReading
  ) throws -> SetDifference<Element>? {
    let difference = try presentation.present(try result.advance(changes, reading), result)
    defer { isSilent = true }
    return isSilent && difference.isEmpty ? nil : difference
  }
}

extension SetDifference {
  /// The same difference with other elements, without updates between equal ones.
  func map<NewElement>(
    _ transform: (Element) throws -> NewElement
  ) rethrows -> SetDifference<NewElement> {
    SetDifference<NewElement>(
      inserted: try inserted.map(transform),
      updated: try updated.map { .init(old: try transform($0.old), new: try transform($0.new)) }
        .filter { ElementComparison.isUpdate(from: $0.old, to: $0.new) },
      deleted: try deleted.map(transform))
  }
}

extension ListDifference {
  /// The same difference with other elements, without updates between equal ones.
  func map<NewElement>(
    _ transform: (Element) throws -> NewElement
  ) rethrows -> ListDifference<NewElement> {
    let difference = ListDifference<NewElement>(
      deletions: try deletions.map { .init(offset: $0.offset, element: try transform($0.element)) },
      insertions: try insertions.map {
        .init(offset: $0.offset, element: try transform($0.element))
      },
      moves: moves,
      updates: try updates.map {
        .init(
          oldOffset: $0.oldOffset, newOffset: $0.newOffset, old: try transform($0.old),
          new: try transform($0.new))
      }.filter { ElementComparison.isUpdate(from: $0.old, to: $0.new) })
    guard let difference else {
      preconditionFailure("Other elements at the same offsets do not contradict each other")
    }
    return difference
  }
}
