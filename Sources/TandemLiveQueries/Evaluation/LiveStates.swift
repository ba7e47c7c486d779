internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The state of a run that delivers list differences.
struct ListState<Element: Sendable>: LiveState {
  typealias Result = OrderedResult

  private var isSilent: Bool
  private let decode: @Sendable (Record) throws -> Element

  init(deliversEmptyStart: Bool, decode: @escaping @Sendable (Record) throws -> Element) {
    isSilent = !deliversEmptyStart
    self.decode = decode
  }

  mutating func deliver(_ change: ListDifference<KeyedRow>) throws -> ListDifference<Element>? {
    let difference = try change.map { try decode($0.record) }
    defer { isSilent = true }
    return isSilent && difference.isEmpty ? nil : difference
  }
}

/// The state of a run that delivers whole lists.
struct ValuesState<Element: Sendable>: LiveState {
  typealias Result = OrderedResult

  private var elements: [Element]?
  private let decode: @Sendable (Record) throws -> Element

  init(decode: @escaping @Sendable (Record) throws -> Element) { self.decode = decode }

  mutating func deliver(_ change: ListDifference<KeyedRow>) throws -> [Element]? {
    if elements != nil, change.isEmpty { return nil }
    let changed = try change.map { try decode($0.record) }
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
  typealias Result = KeyedResult

  /// The rows that the consumer has before the first change.
  private var former: [Record]
  private var presentation: SetPresentation<Element>
  private var isSilent: Bool
  let needsStart: Bool

  init(
    startingFrom start: [Record] = [], needsStart: Bool = true, deliversEmptyStart: Bool,
    _ presentation: SetPresentation<Element>
  ) {
    former = start
    self.needsStart = needsStart
    self.presentation = presentation
    isSilent = !deliversEmptyStart
  }

  mutating func deliver(_ change: KeyedDifference) throws -> SetDifference<Element>? {
    let difference = try presentation.present(former.isEmpty ? change : first(change))
    defer { isSilent = true }
    return isSilent && difference.isEmpty ? nil : difference
  }

  /// The change from the rows that the consumer has to those of a first change.
  private mutating func first(_ change: KeyedDifference) -> KeyedDifference {
    var rest: [RecordKey: Record] = [:]
    for record in former { rest[change.columns.key(of: record)] = record }
    former = []
    var changes = KeyedChanges()
    for record in change.difference.inserted {
      let key = change.columns.key(of: record)
      changes.note(key, from: rest.removeValue(forKey: key), to: record)
    }
    for (key, record) in rest { changes.note(key, from: record, to: nil) }
    return KeyedDifference(difference: changes.difference(), columns: change.columns)
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
