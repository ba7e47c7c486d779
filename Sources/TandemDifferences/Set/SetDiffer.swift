/// The differences between successive snapshots of a set, for objects that present it, such as the
/// pins on a map or the models behind views.
///
/// A snapshot consists of *sources*, such as rows of a query. A *presented* element is made for
/// each source when it first appears, and kept as long as the source exists, so that a pin remains
/// the same object and keeps its selection. It may have another type, or be the source itself.
///
/// Sources are compared only with the previous sources, never with presented elements. An element
/// is reported as updated once for each change of its source, independently of the result of
/// `onUpdate`.
///
/// <!-- Snippets/CodeInComments.swift differ -->
/// ```swift
/// var differ = SetDiffer<Place, Pin, Place.ID>()
/// let difference = try differ.difference(to: places, onInsert: Pin.init) { pin, place in
///   pin.move(to: place)
///   return pin
/// }
/// ```
///
/// **First snapshot.** ``snapshot`` is `nil` until there is a snapshot, which differs from an empty
/// one. A caller that skips empty differences must still deliver the first one; otherwise "no data
/// yet" and "empty" look alike.
///
/// **Errors.** If a snapshot is rejected, the differ is unchanged. Objects that `onUpdate` changed
/// until then stay changed.
///
/// **Isolation.** The differ is a value. It calls the closures on the caller's actor, before it
/// returns. An object that `onUpdate` changes and returns is both the old and the new element of
/// its update, and is also part of differences delivered earlier.
public struct SetDiffer<Source: Equatable, Presented, ID: Hashable> {
  @usableFromInline var sources: [Source]?
  @usableFromInline var elements: [ID: Presented]
  @usableFromInline let sourceID: @Sendable (Source) -> ID
  @usableFromInline let presentedID: @Sendable (Presented) -> ID

  /// A differ that has not seen a snapshot.
  ///
  /// - Parameters:
  ///   - sourceID: The identity of a source: a key path or a closure.
  ///   - presentedID: The identity of a presented element, which must equal that of its source.
  public init(
    identifiedBy sourceID: @escaping @Sendable (Source) -> ID,
    presentedIdentifiedBy presentedID: @escaping @Sendable (Presented) -> ID
  ) {
    elements = [:]
    self.sourceID = sourceID
    self.presentedID = presentedID
  }

  /// The last snapshot; `nil` before the first one.
  @inlinable
  public var snapshot: [Source]? { sources }

  /// The presented element of each source of the last snapshot, by identity.
  @inlinable
  public var presented: [ID: Presented] { elements }
}

extension SetDiffer where Source == Presented {
  /// Creates a differ whose sources are presented themselves, without a snapshot.
  public init(identifiedBy id: @escaping @Sendable (Source) -> ID) {
    self.init(identifiedBy: id, presentedIdentifiedBy: id)
  }

  /// Creates a differ whose sources are presented themselves, and whose last snapshot is
  /// `elements`.
  ///
  /// - Throws: ``SetDifferError/identity(_:)`` if two elements have the same identity, or if an
  ///   identity does not equal itself, as NaN.
  public init(
    startingFrom elements: [Source], identifiedBy id: @escaping @Sendable (Source) -> ID
  ) throws(SetDifferError) {
    self.init(identifiedBy: id)
    _ = try difference(to: elements)
  }
}

extension SetDiffer
where
  Source: Identifiable & SendableMetatype, Presented: Identifiable & SendableMetatype,
  ID: SendableMetatype, Source.ID == ID, Presented.ID == ID
{
  /// Creates a differ by `id`, without a snapshot.
  public init() {
    self.init(identifiedBy: { $0.id }, presentedIdentifiedBy: { $0.id })
  }

  /// Creates a differ by `id` whose sources are presented themselves and whose last snapshot is
  /// `elements`. See ``init(startingFrom:identifiedBy:)``.
  public init(startingFrom elements: [Source]) throws(SetDifferError) where Source == Presented {
    try self.init(startingFrom: elements, identifiedBy: { $0.id })
  }
}

extension SetDiffer: Sendable where Source: Sendable, Presented: Sendable, ID: Sendable {}

/// The error of a ``SetDiffer`` that rejects a snapshot. The differ is then unchanged.
public enum SetDifferError: Error, Hashable, Sendable {
  /// Identities are not unique or, for the sorted form, not strictly ascending. The new version is
  /// the snapshot, the old version the last snapshot.
  case identity(IdentityViolation)

  /// `onInsert` or `onUpdate` returned an element of another identity for the source at `offset` of
  /// the snapshot, counted from 0.
  case changedIdentity(offset: Int)
}

extension SetDifferError: CustomStringConvertible {
  /// A sentence such as "element 3 of the snapshot is presented under another identity".
  public var description: String {
    switch self {
    case .identity(let violation): violation.description
    case .changedIdentity(let offset):
      "element \(offset) of the snapshot is presented under another identity"
    }
  }
}
