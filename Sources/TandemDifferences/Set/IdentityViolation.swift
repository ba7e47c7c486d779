/// The error of comparing two versions of which one breaks the rule that identities are unique and,
/// for the sorted forms, strictly ascending.
public struct IdentityViolation: Error, Hashable, Sendable {
  /// One of the two versions.
  public enum Side: String, Hashable, Sendable, Codable {
    /// The version that a difference starts from.
    case old
    /// The version that a difference ends at.
    case new
  }

  /// The kind of violation.
  public enum Kind: String, Hashable, Sendable, Codable {
    /// Another element of the same version has the same identity.
    case duplicate
    /// The identity is less than the one before it.
    case descending
    /// The identity cannot be compared with another, or does not equal itself, as NaN.
    case incomparable
  }

  /// The version that has the element.
  public var side: Side
  /// The element's position in that version, counted from 0.
  public var offset: Int
  /// The kind of violation.
  public var kind: Kind

  /// Creates a violation by the element at `offset` of one version.
  @usableFromInline
  package init(side: Side, offset: Int, kind: Kind) {
    self.side = side
    self.offset = offset
    self.kind = kind
  }

  /// Returns true if an identity does not equal itself, as NaN.
  @inlinable @inline(__always)
  static func isIncomparable<ID: Equatable>(_ identity: ID) -> Bool { !(identity == identity) }

  /// Returns the kind of violation of `identity` after `predecessor`, or `nil` if it is greater.
  @inlinable
  static func kind<ID: Comparable>(of identity: ID, after predecessor: ID) -> Kind? {
    if predecessor < identity { return nil }
    if predecessor == identity { return .duplicate }
    return identity < predecessor ? .descending : .incomparable
  }
}

extension IdentityViolation: CustomStringConvertible {
  /// A sentence such as "element 3 of the new version has the same identity as another one".
  public var description: String {
    let subject = "element \(offset) of the \(side.rawValue) version"
    switch kind {
    case .duplicate: return "\(subject) has the same identity as another one"
    case .descending: return "\(subject) is out of order: its identity is less than the one before"
    case .incomparable: return "\(subject) has an identity that cannot be compared, such as NaN"
    }
  }
}
