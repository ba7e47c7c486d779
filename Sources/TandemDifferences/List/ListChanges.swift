/// An element that a list difference deletes or inserts, with its offset.
///
/// The offset is an `Int` in a ``ListDifference``, a ``SectionedOffset`` in a
/// ``SectionedListDifference``; likewise for ``ListMove`` and ``ListUpdate``.
public struct ListPlacement<Offset, Element> {
  /// The offset: in the old list for a deletion, in the new one for an insertion.
  public var offset: Offset
  /// The element.
  public var element: Element

  /// Creates a placement from its parts.
  @inlinable
  public init(offset: Offset, element: Element) {
    self.offset = offset
    self.element = element
  }
}

extension ListPlacement where Offset == Int {
  /// Returns the elements at the given offsets.
  @inlinable
  static func placements(
    of elements: UnsafeBufferPointer<Element>, at offsets: [Int]
  ) -> [ListPlacement] {
    [ListPlacement](unsafeUninitializedCapacity: offsets.count) { placements, initializedCount in
      for (position, offset) in offsets.enumerated() {
        placements.initializeElement(
          at: position, to: ListPlacement(offset: offset, element: elements[offset]))
      }
      initializedCount = offsets.count
    }
  }
}

/// A move of an element that both lists have, relative to the elements that stay.
public struct ListMove<Offset> {
  /// The offset of the element in the old list.
  public var from: Offset
  /// The offset of the element in the new list.
  public var to: Offset

  /// Creates a move between two offsets, each in its own list.
  @inlinable
  public init(from: Offset, to: Offset) {
    self.from = from
    self.to = to
  }
}

/// An update of an element that both lists have, moved or not, with different contents.
public struct ListUpdate<Offset, Element> {
  /// The offset of the element in the old list.
  public var oldOffset: Offset
  /// The offset of the element in the new list.
  public var newOffset: Offset
  /// The element in the old list.
  public var old: Element
  /// The element in the new list.
  public var new: Element

  /// Creates an update from the two versions of one element.
  @inlinable
  public init(oldOffset: Offset, newOffset: Offset, old: Element, new: Element) {
    self.oldOffset = oldOffset
    self.newOffset = newOffset
    self.old = old
    self.new = new
  }

  /// The update in the other direction.
  @inlinable
  var inverted: ListUpdate {
    ListUpdate(oldOffset: newOffset, newOffset: oldOffset, old: new, new: old)
  }
}

extension ListPlacement: Sendable where Offset: Sendable, Element: Sendable {}
extension ListPlacement: Equatable where Offset: Equatable, Element: Equatable {}
extension ListPlacement: Hashable where Offset: Hashable, Element: Hashable {}
extension ListPlacement: Encodable where Offset: Encodable, Element: Encodable {}
extension ListPlacement: Decodable where Offset: Decodable, Element: Decodable {}

extension ListMove: Sendable where Offset: Sendable {}
extension ListMove: Equatable where Offset: Equatable {}
extension ListMove: Hashable where Offset: Hashable {}
extension ListMove: Encodable where Offset: Encodable {}
extension ListMove: Decodable where Offset: Decodable {}

extension ListUpdate: Sendable where Offset: Sendable, Element: Sendable {}
extension ListUpdate: Equatable where Offset: Equatable, Element: Equatable {}
extension ListUpdate: Hashable where Offset: Hashable, Element: Hashable {}
extension ListUpdate: Encodable where Offset: Encodable, Element: Encodable {}
extension ListUpdate: Decodable where Offset: Decodable, Element: Decodable {}
