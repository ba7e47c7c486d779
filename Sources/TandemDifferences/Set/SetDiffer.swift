/// The differences between successive snapshots of a set, for whatever presents it: the pins on a
/// map, the models behind views.
///
/// Snapshots are made of *sources*, rows of a query for instance. What is *presented* for each of
/// them is made when it first appears and kept while it stays, so that a pin remains the same object
/// and keeps its selection. It may be of another type, or the source itself.
///
/// The two are kept apart: sources are compared with the last sources, never with anything presented.
/// An element is reported as updated once for each time its source changed, whatever `onUpdate` made
/// of it.
///
/// ```swift
/// var differ = SetDiffer<Place, Pin, Place.ID>()
/// let difference = try differ.difference(to: places, onInsert: Pin.init) { pin, place in
///   pin.move(to: place)
///   return pin
/// }
/// ```
///
/// **First snapshot.** ``snapshot`` is `nil` until there is one, which is not the same as empty. Who
/// leaves out empty differences looks at it beforehand and delivers the first difference all the
/// same, or "no data yet" and "nothing there" look alike.
///
/// **Errors.** A snapshot that is refused leaves the differ as it was, though not objects that
/// `onUpdate` has changed by then.
///
/// **Isolation.** The differ is a value. It calls the closures while it computes, on the caller's
/// actor. An object that `onUpdate` changes and returns is both the old and the new element of its
/// update, and also in differences delivered before.
public struct SetDiffer<Source: Equatable, Presented, ID: Hashable> {
  @usableFromInline var sources: [Source]?
  @usableFromInline var elements: [ID: Presented]
  @usableFromInline let sourceID: @Sendable (Source) -> ID
  @usableFromInline let presentedID: @Sendable (Presented) -> ID

  /// A differ that has not seen a snapshot.
  ///
  /// - Parameters:
  ///   - sourceID: The identity of a source: a key path or a closure.
  ///   - presentedID: The identity of what is presented: that of the source it stands for.
  public init(
    identifiedBy sourceID: @escaping @Sendable (Source) -> ID,
    presentedIdentifiedBy presentedID: @escaping @Sendable (Presented) -> ID
  ) {
    elements = [:]
    self.sourceID = sourceID
    self.presentedID = presentedID
  }

  /// The last snapshot; `nil` if there was none yet.
  @inlinable
  public var snapshot: [Source]? { sources }

  /// What is presented for each source of the last snapshot, by identity.
  @inlinable
  public var presented: [ID: Presented] { elements }
}

extension SetDiffer where Source == Presented {
  /// A differ of elements presented as they are, that has not seen a snapshot.
  public init(identifiedBy id: @escaping @Sendable (Source) -> ID) {
    self.init(identifiedBy: id, presentedIdentifiedBy: id)
  }

  /// A differ of elements presented as they are, whose last snapshot is `elements`.
  ///
  /// - Throws: ``SetDifferError/identity(_:)`` if two elements have the same identity, or one has an
  ///   identity that does not equal itself, as NaN.
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
  /// A differ that has not seen a snapshot, by `id`.
  public init() {
    self.init(identifiedBy: { $0.id }, presentedIdentifiedBy: { $0.id })
  }

  /// A differ of elements presented as they are, by `id`, whose last snapshot is `elements`.
  /// See ``init(startingFrom:identifiedBy:)``.
  public init(startingFrom elements: [Source]) throws(SetDifferError) where Source == Presented {
    try self.init(startingFrom: elements, identifiedBy: { $0.id })
  }
}

extension SetDiffer: Sendable where Source: Sendable, Presented: Sendable, ID: Sendable {}

/// Why a ``SetDiffer`` refuses a snapshot. It is then as it was before.
public enum SetDifferError: Error, Hashable, Sendable {
  /// The snapshot, which is the new version, breaks the rule that identities are unique and, for the
  /// sorted form, strictly ascending; or the last snapshot, which is the old version, does not ascend.
  case identity(IdentityViolation)

  /// `onInsert` or `onUpdate` returned something of another identity for the source at `offset` of
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
