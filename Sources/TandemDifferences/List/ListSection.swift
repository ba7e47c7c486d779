/// A group of a sectioned list: a header that identifies it, and its elements in order.
public struct ListSection<Header, Element> {
  /// The header, which identifies and describes the section.
  public var header: Header
  /// The elements in their order.
  public var elements: [Element]

  /// Creates a section from its header and elements.
  @inlinable
  public init(header: Header, elements: [Element]) {
    self.header = header
    self.elements = elements
  }
}

extension ListSection: Sendable where Header: Sendable, Element: Sendable {}
extension ListSection: Equatable where Header: Equatable, Element: Equatable {}
extension ListSection: Hashable where Header: Hashable, Element: Hashable {}
extension ListSection: Encodable where Header: Encodable, Element: Encodable {}
extension ListSection: Decodable where Header: Decodable, Element: Decodable {}

/// The position of an element in a sectioned list. Positions have the order of the elements.
public struct SectionedOffset: Hashable, Comparable, Sendable, Codable {
  /// The offset of the section in the list.
  public var section: Int
  /// The offset of the element in the section.
  public var element: Int

  /// Creates a position from its parts.
  @inlinable
  public init(section: Int, element: Int) {
    self.section = section
    self.element = element
  }

  /// Returns true if the first position is before the second.
  @inlinable
  public static func < (left: SectionedOffset, right: SectionedOffset) -> Bool {
    (left.section, left.element) < (right.section, right.element)
  }
}

/// The elements of all sections in one array, and the start of each section in it.
@usableFromInline
struct FlattenedSections<Element> {
  @usableFromInline var elements: [Element] = []
  /// The offset of each section's first element, and of the end.
  @usableFromInline var starts = [0]

  @inlinable
  init<Header>(_ sections: [ListSection<Header, Element>]) {
    elements.reserveCapacity(sections.reduce(0) { $0 + $1.elements.count })
    for section in sections {
      elements.append(contentsOf: section.elements)
      starts.append(elements.count)
    }
  }

  /// The offsets of one section's elements.
  @inlinable
  func range(of section: Int) -> Range<Int> { starts[section]..<starts[section + 1] }

  /// - Complexity: O(log *s*) for *s* sections.
  @inlinable
  func sectionedOffset(of offset: Int) -> SectionedOffset {
    let section = starts.partitionIndex { $0 > offset } - 1
    return SectionedOffset(section: section, element: offset - starts[section])
  }
}
