/// One step of a walk through two versions that are sorted by identity.
public enum SortedChange<Old, New> {
  /// An element whose identity only the old version has.
  case deleted(Old)
  /// An element whose identity only the new version has.
  case inserted(New)
  /// Two elements of one identity. The caller decides if their contents are equal.
  case common(Old, New)
  /// An identity is not greater than the one before it, so the walk ends here.
  case violation(IdentityViolation)
}

extension SortedChange: Sendable where Old: Sendable, New: Sendable {}
extension SortedChange: Equatable where Old: Equatable, New: Equatable {}
extension SortedChange: Hashable where Old: Hashable, New: Hashable {}

/// A lazy walk through two versions that are both sorted by identity, in strictly ascending order.
///
/// The steps come in the order of the identities. The two versions may have different element
/// types, such as rows of a table and objects from a server, as long as their identities compare.
/// Each version is iterated once, at most one element ahead of the walk, so memory is O(1) and time
/// O(*n* + *m*). If a version is out of order or has an identity twice, the walk ends with
/// ``SortedChange/violation(_:)`` in every build; the check costs one comparison per step. If both
/// versions break the order at once, the violation names the old one.
///
/// This is the merge of two sorted files (Knuth, The Art of Computer Programming, volume 3, 5.2.4).
public struct SortedDifference<Old: Sequence, New: Sequence, ID: Comparable>: Sequence {
  @usableFromInline let old: Old
  @usableFromInline let new: New
  @usableFromInline let oldID: @Sendable (Old.Element) -> ID
  @usableFromInline let newID: @Sendable (New.Element) -> ID

  /// Creates a walk from `old` to `new`, both ascending by the identities that the closures return.
  @inlinable
  public init(
    from old: Old, identifiedBy oldID: @escaping @Sendable (Old.Element) -> ID,
    to new: New, identifiedBy newID: @escaping @Sendable (New.Element) -> ID
  ) {
    self.old = old
    self.new = new
    self.oldID = oldID
    self.newID = newID
  }

  /// Creates a walk from `old` to `new`, both ascending by `id`.
  @inlinable
  public init(from old: Old, to new: New, sortedBy id: @escaping @Sendable (Old.Element) -> ID)
  where Old.Element == New.Element {
    self.init(from: old, identifiedBy: id, to: new, identifiedBy: id)
  }

  /// Creates a walk from `old` to `new`, both ascending by their elements' `id`.
  @inlinable
  public init(from old: Old, to new: New)
  where
    Old.Element: Identifiable & SendableMetatype, New.Element: Identifiable & SendableMetatype,
    Old.Element.ID == ID, New.Element.ID == ID, ID: SendableMetatype
  {
    self.init(from: old, identifiedBy: { $0.id }, to: new, identifiedBy: { $0.id })
  }

  /// Creates a walk from `old` to `new`, both in ascending order. The elements are their own identities, so common
  /// elements are equal.
  ///
  /// Elements that are `Identifiable` too are compared by their `id`; to compare whole elements, pass `{ $0 }` as
  /// `sortedBy`.
  @_disfavoredOverload @inlinable
  public init(from old: Old, to new: New)
  where Old.Element == ID, New.Element == ID, ID: SendableMetatype {
    self.init(from: old, identifiedBy: { $0 }, to: new, identifiedBy: { $0 })
  }

  /// Returns an iterator at the start of both versions.
  @inlinable
  public func makeIterator() -> Iterator {
    Iterator(
      old: old.makeIterator(), new: new.makeIterator(), oldID: oldID, newID: newID)
  }

  /// The walk itself.
  public struct Iterator: IteratorProtocol {
    @usableFromInline var old: SortedCursor<Old.Iterator, ID>
    @usableFromInline var new: SortedCursor<New.Iterator, ID>
    @usableFromInline var isFinished = false

    @inlinable
    init(
      old: Old.Iterator, new: New.Iterator,
      oldID: @escaping (Old.Element) -> ID, newID: @escaping (New.Element) -> ID
    ) {
      self.old = SortedCursor(old, side: .old, id: oldID)
      self.new = SortedCursor(new, side: .new, id: newID)
    }

    /// Returns the next step, or `nil` after the end of both versions.
    @inlinable
    public mutating func next() -> SortedChange<Old.Element, New.Element>? {
      guard !isFinished else { return nil }
      if let violation = old.advanceIfTaken() ?? new.advanceIfTaken() { return end(violation) }
      guard let (oldElement, oldID) = old.head else {
        return new.take().map { .inserted($0) }
      }
      guard let (newElement, newID) = new.head else {
        return old.take().map { .deleted($0) }
      }
      if oldID < newID {
        old.head = nil
        return .deleted(oldElement)
      }
      if newID < oldID {
        new.head = nil
        return .inserted(newElement)
      }
      guard oldID == newID else {
        return end(IdentityViolation(side: .new, offset: new.offset, kind: .incomparable))
      }
      old.head = nil
      new.head = nil
      return .common(oldElement, newElement)
    }

    @inlinable
    mutating func end(_ violation: IdentityViolation) -> SortedChange<Old.Element, New.Element> {
      isFinished = true
      return .violation(violation)
    }
  }
}

extension SortedDifference: Sendable where Old: Sendable, New: Sendable {}
