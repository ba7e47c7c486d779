extension ListDifference {
  /// Returns the new list, given the old one, or `nil` if this difference does not fit it: an
  /// offset is out of bounds, or an element to be deleted or updated has other contents.
  ///
  /// - Parameters:
  ///   - elements: The old list.
  ///   - areEquivalent: Returns true if an element of `elements` is the one that this difference
  ///     deletes or updates. It is not called for elements that stay or move.
  /// - Complexity: O(*n* + *d* log *d*) for *n* elements and *d* changes.
  @inlinable
  public func applying(
    to elements: [Element], by areEquivalent: (Element, Element) -> Bool
  ) -> [Element]? {
    let layout = layout
    guard
      let stayCount = layout.stayCount(oldCount: elements.count),
      deletions.allSatisfy({ areEquivalent(elements[$0.offset], $0.element) })
    else { return nil }
    var result = layout.assemble(
      stays: layout.stays(count: stayCount), of: elements, placing: placements(from: elements))
    for update in updates {
      guard result.indices.contains(update.newOffset),
        areEquivalent(result[update.newOffset], update.old)
      else { return nil }
      result[update.newOffset] = update.new
    }
    return result
  }

  /// Returns inserted and moved elements, ascending in the new list.
  @inlinable
  func placements(from elements: [Element]) -> [Placement] {
    let moved = moves.map { Placement(offset: $0.to, element: elements[$0.from]) }
    return moved.isEmpty ? insertions : (insertions + moved).sorted { $0.offset < $1.offset }
  }
}

extension ListDifference where Element: Equatable {
  /// Returns the new list, given the old one, or `nil` if this difference does not fit it: an
  /// offset is out of bounds, or an element to be deleted or updated has other contents.
  ///
  /// - Complexity: O(*n* + *d* log *d*) for *n* elements and *d* changes.
  @inlinable
  public func applying(to elements: [Element]) -> [Element]? {
    applying(to: elements, by: { $0 == $1 })
  }
}

extension ListLayout {
  /// Returns the elements that stay, with the others filled in at their offsets.
  ///
  /// The stays must be within `elements`, and the placements those of this layout.
  @inlinable
  func assemble<Element>(
    stays: [ListRun], of elements: [Element], placing placements: [ListPlacement<Int, Element>]
  ) -> [Element] {
    var result: [Element] = []
    result.reserveCapacity(elements.count - removed.count + placements.count)
    var next = 0
    for run in stays {
      while result.count < run.new {
        result.append(placements[next].element)
        next += 1
      }
      result.append(contentsOf: elements[run.old..<run.old + run.count])
    }
    result.append(contentsOf: placements[next...].lazy.map(\.element))
    return result
  }
}
