extension ListDifference {
  /// A single change of a list. Its offsets count in the list after all previous steps.
  public enum Step {
    /// Remove the element at an offset.
    case remove(at: Int)
    /// Insert an element so that it is at an offset.
    case insert(Element, at: Int)
    /// Remove the element at an offset and insert it so that it is at another.
    case move(from: Int, to: Int)
    /// Replace the element at an offset.
    case update(Element, at: Int)

    /// Changes the list. If an offset is out of bounds, returns `false` and leaves the list
    /// unchanged.
    ///
    /// - Complexity: O(*n*) for *n* elements; O(1) for an update.
    @inlinable
    @discardableResult
    public func apply(to elements: inout [Element]) -> Bool {
      switch self {
      case .remove(let offset):
        guard elements.indices.contains(offset) else { return false }
        elements.remove(at: offset)
      case .insert(let element, let offset):
        guard (0...elements.count).contains(offset) else { return false }
        elements.insert(element, at: offset)
      case .move(let from, let to):
        guard elements.indices.contains(from), elements.indices.contains(to) else { return false }
        elements.insert(elements.remove(at: from), at: to)
      case .update(let element, let offset):
        guard elements.indices.contains(offset) else { return false }
        elements[offset] = element
      }
      return true
    }
  }

  /// The difference as single steps. Applied in turn, they lead from the old list to the new one.
  ///
  /// First come the removals, from the last to the first; then insertions and moves, in the order
  /// of their elements in the new list; then the updates in that order. There is one step for each
  /// deletion, insertion, move and update.
  ///
  /// - Complexity: O(*d* log *d*) for *d* changes.
  @inlinable
  public var steps: [Step] {
    var steps: [Step] = []
    steps.reserveCapacity(count)
    for deletion in deletions.reversed() { steps.append(.remove(at: deletion.offset)) }
    var waiting = WaitingMoves(deletions: deletions.map(\.offset), moves: moves, layout: layout)
    var insertion = insertions.startIndex
    for (rank, offset) in waiting.layout.placed.enumerated() {
      if insertion < insertions.endIndex, insertions[insertion].offset == offset {
        let place = offset + waiting.count(beforeStay: offset - rank)
        steps.append(.insert(insertions[insertion].element, at: place))
        insertion += 1
      } else {
        let from = waiting.popOffset(ofMoveAt: rank - insertion, placedCount: rank)
        steps.append(.move(from: from, to: offset + waiting.count(beforeStay: offset - rank)))
      }
    }
    for update in updates { steps.append(.update(update.new, at: update.newOffset)) }
    return steps
  }
}

extension ListDifference.Step: Sendable where Element: Sendable {}
extension ListDifference.Step: Equatable where Element: Equatable {}
extension ListDifference.Step: Hashable where Element: Hashable {}
