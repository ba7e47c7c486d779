/// The version that two sides last had in common, if it is known.
///
/// An *unknown* base differs from an empty one. A record missing from a known base was added since.
/// With an unknown base nothing is known about the record, and it is kept. An optional could not
/// express the difference.
public enum MergeBase<Element> {
  /// The version both sides started from.
  case known([Element])
  /// There is no such version: the sides never met, or their common history is lost.
  case unknown

  /// The base's records; empty if it is unknown.
  @inlinable
  package var elements: [Element] {
    switch self {
    case .known(let elements): elements
    case .unknown: []
    }
  }
}

extension MergeBase: Sendable where Element: Sendable {}
extension MergeBase: Equatable where Element: Equatable {}
extension MergeBase: Hashable where Element: Hashable {}
