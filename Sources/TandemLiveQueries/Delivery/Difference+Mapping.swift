internal import TandemDifferences

extension SetDifference {
  /// The same difference with other elements.
  func map<NewElement>(
    _ transform: (Element) throws -> NewElement
  ) rethrows -> SetDifference<NewElement> {
    SetDifference<NewElement>(
      inserted: try inserted.map(transform),
      updated: try updated.map { .init(old: try transform($0.old), new: try transform($0.new)) },
      deleted: try deleted.map(transform))
  }
}

extension ListDifference {
  /// The same difference with other elements.
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
      })
    guard let difference else {
      preconditionFailure("Other elements at the same offsets do not contradict each other")
    }
    return difference
  }
}
