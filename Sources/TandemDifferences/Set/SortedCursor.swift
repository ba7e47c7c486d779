/// One version of a walk: its next element, and the check that identities ascend.
@usableFromInline
struct SortedCursor<Base: IteratorProtocol, ID: Comparable> {
  @usableFromInline var base: Base
  @usableFromInline let side: IdentityViolation.Side
  @usableFromInline let id: (Base.Element) -> ID
  /// The next element of the walk; `nil` after it was taken, until ``advanceIfTaken()``.
  @usableFromInline var head: (element: Base.Element, id: ID)?
  @usableFromInline var last: ID?
  @usableFromInline var offset = -1
  @usableFromInline var hasEnded = false

  @inlinable
  init(_ base: Base, side: IdentityViolation.Side, id: @escaping (Base.Element) -> ID) {
    self.base = base
    self.side = side
    self.id = id
  }

  /// Moves to the next element if the last one was taken. Returns that element's violation, if any.
  @inlinable
  mutating func advanceIfTaken() -> IdentityViolation? {
    guard head == nil, !hasEnded else { return nil }
    guard let element = base.next() else {
      hasEnded = true
      return nil
    }
    let identity = id(element)
    offset += 1
    if let kind = kindOfViolation(by: identity) {
      return IdentityViolation(side: side, offset: offset, kind: kind)
    }
    last = identity
    head = (element, identity)
    return nil
  }

  @inlinable
  func kindOfViolation(by identity: ID) -> IdentityViolation.Kind? {
    guard let last else {
      return IdentityViolation.isIncomparable(identity) ? .incomparable : nil
    }
    return IdentityViolation.kind(of: identity, after: last)
  }

  /// Removes and returns the head.
  @inlinable
  mutating func take() -> Base.Element? {
    defer { head = nil }
    return head?.element
  }
}
