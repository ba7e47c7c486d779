public import TandemDifferences

/// The state that a client keeps between synchronizations: the remote's contents at the last one,
/// open conflicts, and a push whose reply is unknown.
///
/// Save it together with the client's contents, in one transaction: the shadow is the version that
/// the contents were changed *from*. A client that was never synchronized has an empty
/// `RemoteShadow()`, whose merge base is unknown.
///
/// This is the shadow of a whole array. The shadows of a synchronized database are rows of a table.
public struct RemoteShadow<Element> {
  /// The remote's revision at the last synchronization; `nil` if there was none.
  public var revision: RemoteRevision?
  /// The remote's contents at that revision.
  public var elements: [Element]
  /// The conflicts that no policy resolved. Client and remote each keep their own version, and the
  /// next synchronization meets the conflict again.
  ///
  /// To resolve one by hand, put the result into the client's contents and remove the conflict here.
  /// The result then counts as an edit of the remote version, and is pushed.
  public var openConflicts: [MergeConflict<Element>]
  /// The conflicts that were resolved by calls which failed afterwards. The next call that succeeds
  /// reports and removes them.
  @usableFromInline
  package var unreportedConflicts: [ResolvedConflict<Element>]
  /// The push whose reply is unknown, if there is one. The next synchronization repeats it first.
  @usableFromInline
  package var pendingPush: PendingPush<Element>?
  /// The differences of repeated pushes that the remote rejected since the last synchronization. It may
  /// have applied them before others pushed. At most ``maxUnconfirmedCount``; `nil` for none.
  @usableFromInline
  package var unconfirmed: [SetDifference<Element>]?

  /// The number of rejected pushes after which the oldest is forgotten.
  @usableFromInline
  static var maxUnconfirmedCount: Int { 8 }

  /// Creates the shadow of a client that was never synchronized.
  @inlinable
  public init() {
    self.init(revision: nil)
  }

  @inlinable
  package init(
    revision: RemoteRevision?, elements: [Element] = [],
    openConflicts: [MergeConflict<Element>] = [],
    unreportedConflicts: [ResolvedConflict<Element>] = [],
    pendingPush: PendingPush<Element>? = nil
  ) {
    self.revision = revision
    self.elements = elements
    self.openConflicts = openConflicts
    self.unreportedConflicts = unreportedConflicts
    self.pendingPush = pendingPush
  }

  /// Returns the version that the client's contents were changed from: the remote's contents at the
  /// last synchronization. Records in open conflict still have their base from before the conflict, in
  /// the place of the remote version, so that the order is one that the remote had.
  /// A record that the remote has as it was pushed is its own base, because the client's version was
  /// changed from it.
  ///
  /// - Complexity: O(1) without open conflicts and unconfirmed pushes, otherwise O(*n*).
  @inlinable
  func mergeBase<ID: Hashable>(
    with remote: [Element], identifiedBy id: (Element) -> ID
  ) -> MergeBase<Element> where Element: Equatable {
    guard revision != nil || unconfirmed != nil else { return .unknown }
    let elements = confirmedElements(by: remote, identifiedBy: id)
    guard !openConflicts.isEmpty else { return .known(elements) }
    var bases = Dictionary(openConflicts.map { (id($0.anyVersion), $0.base) }) { first, _ in first }
    let placed = elements.compactMap { element -> Element? in
      bases.removeValue(forKey: id(element)) ?? element
    }
    return .known(placed + openConflicts.compactMap { bases[id($0.anyVersion)] ?? nil })
  }

  /// ``elements``, with each change of an unconfirmed push that the remote has.
  @inlinable
  func confirmedElements<ID: Hashable>(
    by remote: [Element], identifiedBy id: (Element) -> ID
  ) -> [Element] where Element: Equatable {
    guard let unconfirmed else { return elements }
    let deleted = Set(unconfirmed.flatMap(\.deleted).map(id))
    let pushed = Dictionary(
      grouping: unconfirmed.flatMap { $0.inserted + $0.updated.map(\.new) }, by: id)
    let found = Dictionary(remote.map { (id($0), $0) }, uniquingKeysWith: { first, _ in first })
    let known = Set(elements.map(id))
    let kept = elements.compactMap { element -> Element? in
      guard let version = found[id(element)] else {
        return deleted.contains(id(element)) ? nil : element
      }
      return pushed[id(element)]?.contains(version) == true ? version : element
    }
    let confirmed = remote.filter {
      known.contains(id($0)) || pushed[id($0)]?.contains($0) == true
    }
    return kept.union(confirmed, identifiedBy: id)
  }

  @inlinable
  mutating func addUnconfirmed(_ difference: SetDifference<Element>) {
    unconfirmed = ((unconfirmed ?? []) + [difference]).suffix(Self.maxUnconfirmedCount)
  }
}

/// A push whose reply is unknown, and the client's state if the remote accepts it.
@usableFromInline
package struct PendingPush<Element> {
  /// The push, which is repeated unchanged.
  @usableFromInline
  package var push: ConditionalPush<Element>
  /// The client's contents when the push was made.
  @usableFromInline
  package var clientBefore: [Element]
  /// The client's contents after the push is accepted. Edits made since ``clientBefore`` are merged
  /// into them.
  @usableFromInline
  package var clientAfter: [Element]
  /// The conflicts that are open after the push is accepted.
  @usableFromInline
  package var openConflicts: [MergeConflict<Element>]
  /// The conflicts whose resolution is part of the push.
  @usableFromInline
  package var resolvedConflicts: [ResolvedConflict<Element>]

  /// Creates a pending push from its parts.
  @inlinable
  package init(
    push: ConditionalPush<Element>, clientBefore: [Element], clientAfter: [Element],
    openConflicts: [MergeConflict<Element>], resolvedConflicts: [ResolvedConflict<Element>] = []
  ) {
    self.push = push
    self.clientBefore = clientBefore
    self.clientAfter = clientAfter
    self.openConflicts = openConflicts
    self.resolvedConflicts = resolvedConflicts
  }
}

/// A conflict and the resolution that a policy or resolver gave it.
@usableFromInline
package struct ResolvedConflict<Element> {
  /// The conflict, with every version.
  @usableFromInline
  package var conflict: MergeConflict<Element>
  /// The resolution.
  @usableFromInline
  package var resolution: MergeResolution<Element>

  /// Creates the pair.
  @inlinable
  package init(conflict: MergeConflict<Element>, resolution: MergeResolution<Element>) {
    self.conflict = conflict
    self.resolution = resolution
  }
}

extension RemoteShadow: Sendable where Element: Sendable {}
extension RemoteShadow: Equatable where Element: Equatable {}
extension RemoteShadow: Hashable where Element: Hashable {}
extension RemoteShadow: Encodable where Element: Encodable {}
extension RemoteShadow: Decodable where Element: Decodable {}

extension PendingPush: Sendable where Element: Sendable {}
extension PendingPush: Equatable where Element: Equatable {}
extension PendingPush: Hashable where Element: Hashable {}
extension PendingPush: Encodable where Element: Encodable {}
extension PendingPush: Decodable where Element: Decodable {}

extension ResolvedConflict: Sendable where Element: Sendable {}
extension ResolvedConflict: Equatable where Element: Equatable {}
extension ResolvedConflict: Hashable where Element: Hashable {}
extension ResolvedConflict: Encodable where Element: Encodable {}
extension ResolvedConflict: Decodable where Element: Decodable {}

extension RemoteShadow: CustomStringConvertible {
  /// As in `at 1.7: [a, b], 1 open conflict, a pending push`.
  public var description: String {
    var text = "at \(revision.map { "\($0)" } ?? "no revision"): \(DescriptionLimit.list(elements))"
    if !openConflicts.isEmpty {
      text += ", \(openConflicts.count) open conflict\(openConflicts.count == 1 ? "" : "s")"
    }
    return pendingPush == nil ? text : text + ", a pending push"
  }
}
