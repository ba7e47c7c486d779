/// An element and where it is: what a list difference deletes or inserts.
///
/// The offset is an `Int` in a ``ListDifference``, a ``SectionedOffset`` in a
/// ``SectionedListDifference``; likewise for ``ListMove`` and ``ListUpdate``.
public struct ListPlacement<Offset, Element> {
  /// Where the element is: in the old list if it is deleted, in the new one if it is inserted.
  public var offset: Offset
  /// The element.
  public var element: Element

  /// Places `element` at `offset`.
  @inlinable
  public init(offset: Offset, element: Element) {
    self.offset = offset
    self.element = element
  }
}

extension ListPlacement where Offset == Int {
  /// The elements at the given offsets.
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

/// An element that both lists have, in another place relative to those that stay.
public struct ListMove<Offset> {
  /// Where the element is in the old list.
  public var from: Offset
  /// Where the element is in the new list.
  public var to: Offset

  /// A move between two places, each counted in its own list.
  @inlinable
  public init(from: Offset, to: Offset) {
    self.from = from
    self.to = to
  }
}

/// An element that both lists have, moved or not, with different contents.
public struct ListUpdate<Offset, Element> {
  /// Where the element is in the old list.
  public var oldOffset: Offset
  /// Where the element is in the new list.
  public var newOffset: Offset
  /// The element as the old list has it.
  public var old: Element
  /// The element as the new list has it.
  public var new: Element

  /// Pairs the two versions of one element.
  @inlinable
  public init(oldOffset: Offset, newOffset: Offset, old: Element, new: Element) {
    self.oldOffset = oldOffset
    self.newOffset = newOffset
    self.old = old
    self.new = new
  }

  /// The update that leads back.
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
