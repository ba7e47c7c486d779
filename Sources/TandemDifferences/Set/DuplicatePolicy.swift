/// The treatment of elements of one version that have the same identity.
///
/// A difference needs unique identities. Lists of other programs do not always have them.
public enum DuplicatePolicy: String, Hashable, Sendable, Codable, CaseIterable {
  /// Reject the version with an ``IdentityViolation``.
  case error
  /// Take the first element of each identity.
  case first
  /// Take the last element of each identity, in its place.
  case last

  /// Returns the elements with one of each identity, in their order.
  ///
  /// <!-- Snippets/CodeInComments.swift unique -->
  /// ```swift
  /// let notes = try DuplicatePolicy.last.unique(received, identifiedBy: \.id)
  /// ```
  ///
  /// - Parameters:
  ///   - elements: A version, in any order.
  ///   - side: The version that an error names.
  ///   - id: An element's identity: a key path or a closure.
  /// - Throws: ``IdentityViolation`` if an identity does not equal itself, as NaN; by ``error`` also for
  ///   the first element whose identity occurs earlier.
  /// - Complexity: O(*n*) expected time and memory.
  @inlinable
  public func unique<Element, ID: Hashable>(
    _ elements: [Element], as side: IdentityViolation.Side = .new, identifiedBy id: (Element) -> ID
  ) throws(IdentityViolation) -> [Element] {
    var offsets: [ID: Int] = [:]
    offsets.reserveCapacity(elements.count)
    for (offset, element) in elements.enumerated() {
      let identity = id(element)
      if IdentityViolation.isIncomparable(identity) {
        throw IdentityViolation(side: side, offset: offset, kind: .incomparable)
      }
      guard offsets[identity] != nil else {
        offsets[identity] = offset
        continue
      }
      switch self {
      case .error: throw IdentityViolation(side: side, offset: offset, kind: .duplicate)
      case .first: break
      case .last: offsets[identity] = offset
      }
    }
    if offsets.count == elements.count { return elements }
    return elements.indices.compactMap { offset in
      offsets[id(elements[offset])] == offset ? elements[offset] : nil
    }
  }
}
