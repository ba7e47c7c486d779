/// What is known of the version that two sides last had in common.
///
/// An ancestor that is *unknown* is not one that is empty: a record missing from a known ancestor
/// was added since, whereas nothing can be said of a record when the ancestor is unknown. There is
/// no `nil` here that could mean either.
public enum Ancestor<Element> {
  /// The version both sides started from.
  case known([Element])
  /// No such version is at hand: the sides never met, or their common history is gone.
  case unknown

  /// The ancestor's records; none if it is unknown.
  @inlinable
  package var elements: [Element] {
    switch self {
    case .known(let elements): elements
    case .unknown: []
    }
  }
}

extension Ancestor: Sendable where Element: Sendable {}
extension Ancestor: Equatable where Element: Equatable {}
extension Ancestor: Hashable where Element: Hashable {}
