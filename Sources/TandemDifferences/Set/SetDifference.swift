/// The difference between two versions of a set of identifiable elements.
///
/// Each identity appears at most once in the three arrays. An element is *updated* if both versions
/// have its identity, with unequal contents.
///
/// The initialisers below compute a difference. ``inverted`` reverses it, and
/// ``applying(to:identifiedBy:)`` applies it. Deleted elements are in the order of the old version,
/// inserted and updated elements in the order of the new one.
public struct SetDifference<Element> {
  /// An element whose identity is in both versions, with different contents.
  public struct Update {
    /// The element in the old version.
    public var old: Element
    /// The element in the new version.
    public var new: Element

    /// Creates an update from the two versions of one element.
    @inlinable
    public init(old: Element, new: Element) {
      self.old = old
      self.new = new
    }
  }

  /// Elements that only the new version has.
  public var inserted: [Element]
  /// Elements that both versions have, with different contents.
  public var updated: [Update]
  /// Elements that only the old version has.
  public var deleted: [Element]

  /// Creates a difference from the given changes; without arguments, an empty one.
  @inlinable
  public init(inserted: [Element] = [], updated: [Update] = [], deleted: [Element] = []) {
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
  }

  /// True if the two versions are equal.
  @inlinable
  public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }

  /// The number of changes.
  @inlinable
  public var count: Int { inserted.count + updated.count + deleted.count }

  /// The difference in the other direction: from the new version to the old one.
  ///
  /// Elements keep their order.
  @inlinable
  public var inverted: SetDifference {
    SetDifference(
      inserted: deleted,
      updated: updated.map { Update(old: $0.new, new: $0.old) },
      deleted: inserted)
  }
}

extension SetDifference: Sendable where Element: Sendable {}
extension SetDifference: Equatable where Element: Equatable {}
extension SetDifference: Hashable where Element: Hashable {}
extension SetDifference: Encodable where Element: Encodable {}
extension SetDifference: Decodable where Element: Decodable {}

extension SetDifference.Update: Sendable where Element: Sendable {}
extension SetDifference.Update: Equatable where Element: Equatable {}
extension SetDifference.Update: Hashable where Element: Hashable {}
extension SetDifference.Update: Encodable where Element: Encodable {}
extension SetDifference.Update: Decodable where Element: Decodable {}

/// One change of a set of identifiable elements, for callers that handle changes one at a time.
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
