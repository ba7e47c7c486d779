/// One change of a set of identifiable elements, for those who hand changes on one at a time.
public enum SetChange<Element> {
  /// An element that only the new version has.
  case inserted(Element)
  /// An element that both versions have, with different contents.
  case updated(old: Element, new: Element)
  /// An element that only the old version has.
  case deleted(Element)
}

extension SetChange: Sendable where Element: Sendable {}
extension SetChange: Equatable where Element: Equatable {}
extension SetChange: Hashable where Element: Hashable {}

extension SetDifference {
  /// Adds one change at the end of its kind.
  @inlinable
  public mutating func append(_ change: SetChange<Element>) {
    switch change {
    case .inserted(let element): inserted.append(element)
    case .updated(let old, let new): updated.append(Update(old: old, new: new))
    case .deleted(let element): deleted.append(element)
    }
  }

  /// Calls `body` with each change: deletions, then updates, then insertions, each in their order.
  @inlinable
  public func forEachChange(_ body: (SetChange<Element>) throws -> Void) rethrows {
    for element in deleted { try body(.deleted(element)) }
    for update in updated { try body(.updated(old: update.old, new: update.new)) }
    for element in inserted { try body(.inserted(element)) }
  }
}
